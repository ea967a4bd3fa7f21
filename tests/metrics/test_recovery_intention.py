"""Recovery of a hand-written dialogue, where every number can be worked on paper, and against a naive implementation."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from intentfold.metrics.recovery.intention import score_intentions
from intentfold.metrics.recovery.matching import Failed, RuleMatcher
from intentfold.trajectory import Requirement
from tests.trajectories import BLUE, CHEAP, GLASS, RED, SOFT_BLUE, mug, need

GOLD = [turn.intention for turn in mug().turns]


def scores(*predicted, trajectory=None, matcher=None):
    return score_intentions([trajectory or mug()], [list(predicted)], matcher or RuleMatcher())[0]


def but(**changes):
    return [changes.get(f"t{n}", gold) for n, gold in enumerate(GOLD)]


def test_a_perfect_run() -> None:
    found = scores(*GOLD)
    assert [(s.recovery, s.precision, s.priority_accuracy, s.full) for s in found] == [(1, 1, 1, True)] * 5
    assert [s.gold for s in found] == [1, 3, 3, 2, 4]  # two diets are two atoms
    assert [s.events for s in found] == [None, 2, 1, 2, 1]
    # Turn 1: blue is 1 old. Turn 2: blue changed its tier, the others are 1 old. Turn 3: red is new, the price 2 old.
    assert [s.age for s in found] == [{}, {1: (1, 1)}, {1: (2, 2)}, {2: (1, 1)}, {1: (1, 1), 3: (1, 1)}]
    assert [s.obsolete for s in found] == [(0, 0), (0, 0), (0, 0), (0, 2), (0, 0)]  # blue and glass went
    assert found[1].tiers == Counter({("must", "must"): 2, ("preferred", "preferred"): 1})
    assert found[0].changes == Counter({("new", "new"): 1})
    assert found[3].changes == Counter({("changed", "unchanged"): 1, ("unchanged", "unchanged"): 1})


# Predictions that differ from the gold at turn 1 or 3, and what is then (recovered, matched, predicted, obsolete).
TABLE = [
    (1, (), (0, 0, 0, (0, 0))),
    (1, (BLUE, CHEAP), (2, 2, 2, (0, 0))),
    (1, (BLUE, CHEAP, need("material", "glass")), (2, 3, 3, (0, 0))),  # glass as a must-have
    (1, (BLUE, CHEAP, need("material", "glass", None)), (2, 3, 3, (0, 0))),  # a missing priority stays missing
    (1, (BLUE, CHEAP, GLASS, need("care", "hand wash")), (3, 3, 4, (0, 0))),
    (1, (BLUE, BLUE, CHEAP, GLASS), (3, 3, 4, (0, 0))),
    (3, (RED, CHEAP, SOFT_BLUE), (2, 2, 3, (1, 2))),  # blue kept beside red
    (3, (SOFT_BLUE, CHEAP, GLASS), (1, 1, 3, (2, 2))),
    (3, (RED, CHEAP, need("material", "Glass", "must")), (2, 2, 3, (1, 2))),  # another tier is the same obsolete wish
    (3, (RED, CHEAP, need("material", "glassware")), (2, 2, 3, (0, 2))),  # a paraphrase is not caught (appendix F)
]


@pytest.mark.parametrize(("place", "predicted", "expected"), TABLE)
def test_one_turn(place, predicted, expected) -> None:
    score = scores(*but(**{f"t{place}": predicted}))[place]
    assert (score.recovered, score.matched, score.predicted, score.obsolete) == expected


def test_what_was_not_predicted_right_is_no_opportunity() -> None:
    wrong_tier = (need("color", "blue", "must"), CHEAP)
    found = scores(*but(t2=wrong_tier, t3=(SOFT_BLUE, CHEAP)))
    assert found[3].obsolete == (0, 0)


def test_shares_with_nothing_to_divide_by_are_none() -> None:
    score = scores(*but(t1=()))[1]
    assert (score.recovery, score.precision, score.priority_accuracy) == (0.0, None, None)


def test_a_missing_gold_intention_is_a_data_error_and_in_no_mean() -> None:
    turns = list(mug().turns)
    turns[2] = replace(turns[2], intention=None)
    found = scores(*GOLD, trajectory=replace(mug(), turns=tuple(turns)))
    assert [s.fault for s in found] == [None, None, "data", None, None]
    assert (found[2].recovery, found[2].precision, found[2].full) == (None, None, False)
    assert found[3].obsolete == (0, 0)


class Failing:
    name = "failing"

    def match(self, questions):
        found = RuleMatcher().match(questions)
        return [*found[:1], Failed("api", "down"), Failed("evaluator", "said nonsense"), *found[3:]]


def test_a_failed_judge_leaves_its_turns_unscored_and_the_rest_unchanged() -> None:
    found, whole = scores(*GOLD, matcher=Failing()), scores(*GOLD)
    assert [s.fault for s in found] == [None, "api", "evaluator", None, None]
    assert [(s.recovered, s.gold, s.tiers, s.age) for s in found if not s.fault] == [
        (s.recovered, s.gold, s.tiers, s.age) for n, s in enumerate(whole) if n not in (1, 2)
    ]


def test_turns_and_predictions_must_pair() -> None:
    with pytest.raises(ValueError, match="5 turns, but 1 predictions"):
        scores(())


def naive(golds, states):
    """(recovered, matched, gold, predicted, obsolete) a turn, in plain loops; values here have neither spelling nor doubles."""

    def split(intention):
        return [(r.field, part, r.scope, r.priority) for r in intention for part in r.value.split(" and ")]

    found, before = [], []
    for intention, state in zip(golds, states, strict=True):
        gold, mine = split(intention), split(state)
        matched = right = 0
        kept = []
        for g in gold:
            twin = next((m for m in mine if m[:3] == g[:3]), None)
            if twin is not None:
                matched += 1
                if twin[3] == g[3]:
                    right += 1
                    kept.append(g[:3])
        gone = [g for g in before if g not in [x[:3] for x in gold]]
        retained = [g for g in gone if g in [m[:3] for m in mine]]
        found.append((right, matched, len(gold), len(mine), (len(retained), len(gone))))
        before = kept
    return found


def test_against_a_naive_implementation() -> None:
    rng = random.Random(11)

    def state():
        fields = rng.sample(("color", "material", "diet", "price"), rng.randint(0, 4))
        values = {"color": ["blue", "red"], "material": ["glass", "steel"], "price": ["under $20", "under $9"]}
        values["diet"] = ["gluten free", "nut free", "gluten free and nut free"]
        tiers = ("must", "preferred", "optional")
        return tuple(Requirement(f, rng.choice(values[f]), rng.choice((None, "Ana")), rng.choice(tiers)) for f in fields)

    for _ in range(120):
        golds, states = [state() for _ in range(5)], [state() for _ in range(5)]
        turns = tuple(replace(turn, intention=gold) for turn, gold in zip(mug().turns, golds, strict=True))
        found = scores(*states, trajectory=replace(mug(), turns=turns))
        assert [(s.recovered, s.matched, s.gold, s.predicted, s.obsolete) for s in found] == naive(golds, states)
