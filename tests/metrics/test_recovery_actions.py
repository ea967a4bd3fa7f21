"""Hard Success, Action Score and the weightings, by tables worked by hand and against a naive implementation."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest

from intentfold.domains import shop
from intentfold.metrics.recovery.actions import WEIGHTINGS, ActionScore, Tiers, rank_agreement, score_actions
from intentfold.trajectory import Trajectory
from tests.trajectories import BLUE, CHEAP, GLASS, PLAN, SHOP, journey, mug, need, turn

A1_BLUE, A1_RED = ({"asin": "A1", "options": {"color": color}} for color in ("blue", "red"))
A2_BLUE, A2_GREEN = ({"asin": "A2", "options": {"color": color}} for color in ("blue", "green"))
NONSENSE = {"asin": "A9", "options": {}}


def one(intention, action, *, feasible=True, reference=None):
    trajectory = Trajectory(
        1, "t", "shop", "o", "Apache-2.0", "test", "test", SHOP,
        (turn("…", intention, driver="request", feasible=feasible, reference=reference),),
    )  # fmt: skip
    return score_actions(trajectory, [action])[0]


GREEN_GLASS = (need("color", "green"), need("material", "glass"), need("price", "under $10"))
# intention, action, feasible, reference -> hard, score
TABLE = [
    ((BLUE,), A1_BLUE, True, A2_BLUE, True, 1.0),  # no soft requirement: 1
    ((BLUE,), A1_RED, True, A2_BLUE, False, 0.0),
    ((), A1_RED, True, A2_BLUE, True, 1.0),
    ((BLUE, GLASS), A1_BLUE, True, A1_BLUE, True, 1.0),
    ((BLUE, GLASS), A2_BLUE, True, A1_BLUE, True, 0.0),
    # 2 of 2 + 1
    ((BLUE, GLASS, need("color", "red", "optional")), A1_BLUE, True, A1_BLUE, True, 2 / 3),
    ((BLUE, GLASS, need("price", "under $10", "optional")), A2_BLUE, True, A1_BLUE, True, 1 / 3),
    ((need("color", "red"), GLASS), A1_BLUE, True, A1_RED, False, 0.0),  # the gate
    ((need("diet", "nut free"),), A2_BLUE, True, A1_BLUE, False, 0.0),  # unknown earns nothing
    ((BLUE,), NONSENSE, True, A2_BLUE, False, 0.0),
    ((), NONSENSE, True, A2_BLUE, False, 0.0),
    # A conjunction is one unit and needs both.
    ((need("diet", "gluten free and soy free", "preferred"), GLASS), A1_BLUE, True, A1_BLUE, True, 0.5),
    # Infeasible: the reference compromise meets one must-have of three.
    (GREEN_GLASS, A1_RED, False, A1_RED, True, 1.0),
    (GREEN_GLASS, A2_GREEN, False, A1_RED, True, 1.0),  # another one, as many
    (GREEN_GLASS, A1_RED, False, A2_BLUE, True, 1.0),
    ((need("color", "green"), need("price", "under $10")), A1_RED, False, A2_BLUE, False, 0.0),
]


@pytest.mark.parametrize(("intention", "action", "feasible", "reference", "hard", "score"), TABLE)
def test_hard_success_and_action_score(intention, action, feasible, reference, hard, score) -> None:
    found = one(intention, action, feasible=feasible, reference=reference)
    assert found.fault is None
    assert (found.hard, found.flagged) == (hard, False)
    assert found.score() == pytest.approx(score)


def test_without_a_reference_all_jointly_feasible_must_haves_are_asked_for_and_flagged() -> None:
    intention = (need("color", "green"), need("material", "stainless steel"), need("price", "under $10"))  # two can be had
    assert [one(intention, action, feasible=False).hard for action in (A2_GREEN, A2_BLUE, A1_BLUE)] == [True, True, False]
    assert one(intention, A2_BLUE, feasible=False).flagged
    assert not one((BLUE,), A2_BLUE, feasible=True).flagged


@pytest.mark.parametrize(("intention", "feasible"), [((BLUE, CHEAP), True), ((need("color", "green"), CHEAP), False)])
def test_a_missing_feasibility_label_is_worked_out(intention, feasible) -> None:
    assert one(intention, A2_BLUE, feasible=None).feasible is feasible


def test_data_errors_are_no_failures() -> None:
    missing = one(None, A1_BLUE, reference=A1_BLUE)
    broken = one((BLUE,), A1_BLUE, reference=NONSENSE)
    assert (missing.fault, broken.fault) == ("data", "data")
    assert "no product 'A9'" in broken.reason
    assert (missing.score(), broken.score()) == (None, None)


FAILED = [
    ((BLUE,), A1_RED, ("other requirement",)),
    ((need("price", "under $10"),), A1_RED, ("budget",)),
    ((BLUE, need("price", "under $10")), A1_RED, ("budget", "other requirement")),
    ((BLUE,), NONSENSE, ("invalid booking",)),
    ((BLUE, GLASS), A2_BLUE, ()),
]


@pytest.mark.parametrize(("intention", "action", "failures"), FAILED)
def test_what_failed(intention, action, failures) -> None:
    assert one(intention, action, reference=A2_BLUE).failures == failures


def test_a_trip_that_cannot_be_booked_has_no_hard_success() -> None:
    short = {**PLAN, "stays": [{**PLAN["stays"][0], "rooms": 0}, PLAN["stays"][1]]}
    scored = score_actions(journey(), [short, PLAN])
    assert [(s.hard, s.failures) for s in scored] == [(False, ("invalid booking",)), (True, ())]
    assert scored[1].score() == 0.0  # Chinese for Ana is preferred, and the plan eats elsewhere


def test_out_of_scope_requirements_are_no_units() -> None:
    turns = (replace(journey().turns[0], intention=(need("accessibility", "lift", scope="Ana"),)), journey().turns[1])
    assert score_actions(replace(journey(), turns=turns), [PLAN, PLAN])[0].hard


def tiers(p, pm, o, om):
    return Tiers(p, pm, o, om)


# (preferred, met, optional, met), the reference's -> 2:1, 1:1, 3:2, 3:1, lexicographic, minimum ratio, squared
WEIGHED = [
    (tiers(0, 0, 0, 0), tiers(0, 0, 0, 0), (1, 1, 1, 1, 1, 1, 1)),
    (tiers(1, 1, 1, 0), tiers(1, 1, 1, 1), ("2/3", "1/2", "3/5", "3/4", "2/3", 0, "4/9")),
    (tiers(1, 0, 1, 1), tiers(1, 1, 1, 0), ("1/3", "1/2", "2/5", "1/4", "1/3", 0, "1/9")),
    (tiers(2, 1, 3, 3), tiers(2, 2, 3, 1), ("5/7", "4/5", "3/4", "2/3", "7/11", "1/2", "25/49")),
    (tiers(0, 0, 2, 1), tiers(0, 0, 2, 1), ("1/2", "1/2", "1/2", "1/2", "1/2", 1, "1/4")),
]


@pytest.mark.parametrize(("mine", "reference", "expected"), WEIGHED)
def test_weightings(mine, reference, expected) -> None:
    score = ActionScore(None, hard=True, tiers=mine, reference=reference)
    assert list(WEIGHTINGS) == ["2:1", "1:1", "3:2", "3:1", "lexicographic", "minimum ratio", "squared"]
    for weighting, share in zip(WEIGHTINGS, expected, strict=True):
        assert score.score(weighting) == pytest.approx(float(Fraction(share))), weighting
        assert replace(score, hard=False).score(weighting) == 0.0


def test_lexicographic_puts_one_preferred_above_all_optional() -> None:
    one_preferred, all_optional = tiers(3, 1, 4, 0), tiers(3, 0, 4, 4)
    better, worse = (ActionScore(None, hard=True, tiers=t).score("lexicographic") for t in (one_preferred, all_optional))
    assert better > worse


def test_kendalls_tau() -> None:
    agreement = rank_agreement(
        {"2:1": [0.9, 0.5, 0.1], "same": [3, 2, 1], "reverse": [1, 2, 3], "swap": [2, 3, 1], "tied": [1, 1, 1]}
    )
    assert agreement["same"] == pytest.approx(1)
    assert agreement["reverse"] == pytest.approx(-1)
    assert agreement["swap"] == pytest.approx(1 / 3)
    assert agreement["tied"] is None
    assert rank_agreement({"2:1": [1.0], "1:1": [1.0]}) == {"1:1": None}


def naive(intention, action, reference):
    """Hard Success and the 2:1 score with the reference's compromise as the bar, in plain loops."""

    def met(act, tier):
        return sum(1 for r in intention if r.priority == tier and shop.verdict(SHOP, act, r) == "satisfied")

    if met(action, "must") < met(reference, "must"):
        return False, 0.0
    whole = sum({"must": 0, "preferred": 2, "optional": 1}[r.priority] for r in intention)
    got = 2 * met(action, "preferred") + met(action, "optional")
    return True, got / whole if whole else 1.0


def test_against_a_naive_implementation() -> None:
    rng = random.Random(5)
    wishes = [("color", c) for c in ("blue", "red", "green")] + [
        ("material", "glass"),
        ("diet", "nut free"),
        ("price", "under $10"),
    ]
    for _ in range(200):
        intention = tuple(
            need(f, v, rng.choice(("must", "preferred", "optional"))) for f, v in rng.sample(wishes, rng.randint(0, 5))
        )
        reference = shop.choose(SHOP, intention)
        action = rng.choice((A1_BLUE, A1_RED, A2_BLUE, A2_GREEN))
        musts = [r for r in intention if r.priority == "must"]
        feasible = all(shop.verdict(SHOP, reference, r) == "satisfied" for r in musts)
        found = one(intention, action, feasible=feasible, reference=reference)
        hard, score = naive(intention, action, reference)
        assert (found.hard, found.score()) == (hard, pytest.approx(score))


def test_mug_is_what_it_says() -> None:
    """The hand-written trajectory's reference actions meet its must-haves."""
    assert all(score.hard for score in score_actions(mug(), [t.reference for t in mug().turns]))
