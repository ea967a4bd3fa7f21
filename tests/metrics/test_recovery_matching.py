"""Matching by tables worked by hand, against every assignment there is, and by a judge."""

from __future__ import annotations

import random
from itertools import permutations

import pytest

from intentfold.metrics.recovery.judge import JudgeMatcher, read_pairs
from intentfold.metrics.recovery.matching import Atom, Failed, RuleMatcher, assign, atoms, changes, closeness
from intentfold.runtime.roles import BackendError, Completion
from tests.trajectories import need


def a(field: str, value: str, scope: str | None = None, priority: str | None = "must") -> Atom:
    return Atom(field, value, scope, priority)  # type: ignore[arg-type]


def test_a_conjunction_is_as_many_atoms_and_alternatives_are_one() -> None:
    assert atoms([need("diet", "gluten free and nut free", "optional", "Ana"), need("color", "red or blue")]) == (
        a("diet", "gluten free", "Ana", "optional"),
        a("diet", "nut free", "Ana", "optional"),
        a("color", "red or blue"),
    )


# predicted, gold, pairs
MATCHES = [
    ([], [], ()),
    ([a("color", "blue")], [], ()),
    ([a("color", "blue")], [a("color", "blue")], ((0, 0),)),
    ([a("color", "Blue. ")], [a("Color", "blue")], ((0, 0),)),
    ([a("color", "blue")], [a("color", "red")], ()),
    ([a("shade", "blue")], [a("color", "blue")], ((0, 0),)),  # value and scope decide
    ([a("", "blue")], [a("color", "blue")], ((0, 0),)),
    ([a("nights", "2")], [a("guests", "2")], ()),  # a number says nothing without its field
    ([a("number of guests", "2")], [a("guests", "2")], ((0, 0),)),
    ([a("price", "under $1,200")], [a("price", "under 1200")], ((0, 0),)),
    ([a("price", "under $40")], [a("price", "at most $40")], ()),
    ([a("price", "under $40")], [a("budget", "under $40")], ()),
    ([a("color", "red or blue")], [a("color", "blue or red")], ((0, 0),)),
    ([a("color", "blue", "Ana")], [a("color", "blue", "Ben")], ()),  # another scope
    ([a("color", "blue", "Ana")], [a("color", "blue")], ()),
    ([a("color", "blue", " ana")], [a("color", "blue", "Ana")], ((0, 0),)),
    # One to one: said twice, it counts once.
    ([a("color", "blue"), a("color", "blue")], [a("color", "blue")], ((0, 0),)),
    # The closer field where there is a choice, whatever the priorities say.
    (
        [a("trim", "blue", priority="must"), a("color", "blue", priority="optional")],
        [a("color", "blue", priority="must"), a("trim", "blue", priority="optional")],
        ((0, 1), (1, 0)),
    ),
    # Most pairs first: taking the equal field for the second would leave the first alone.
    ([a("seats", "blue"), a("color", "blue")], [a("color", "blue"), a("frame", "blue")], ((0, 1), (1, 0))),
    # Two equal fields would be two pairs, one after the other three.
    ([a("a b", "2"), a("a b c", "2"), a("a b x", "2")], [a("a b", "2"), a("a b c", "2"), a("c", "2")], ((0, 1), (1, 2), (2, 0))),
    ([a("color", "blue", priority=None)], [a("color", "blue")], ((0, 0),)),  # a missing priority matches all the same
]


@pytest.mark.parametrize(("predicted", "gold", "pairs"), MATCHES)
def test_matches(predicted, gold, pairs) -> None:
    assert RuleMatcher().match([(predicted, gold)]) == [pairs]


def test_priorities_never_guide_a_match() -> None:
    rng = random.Random(3)
    tiers = ("must", "preferred", "optional", None)
    for _ in range(100):
        sides = [[a(rng.choice("fgh"), rng.choice(("red", "blue", "2"))) for _ in range(rng.randint(0, 5))] for _ in range(2)]
        shuffled = [[a(x.field, x.value, x.scope, rng.choice(tiers)) for x in side] for side in sides]
        assert assign(*sides) == assign(*shuffled)


def test_the_assignment_is_the_best_of_all() -> None:
    """Against every one-to-one pairing: most pairs, then the closest fields."""
    rng = random.Random(7)
    for _ in range(150):
        names = ("f", "g", "f g", "h")
        predicted, gold = (
            [a(rng.choice(names), rng.choice(("red", "blue", "2"))) for _ in range(rng.randint(0, 4))] for _ in "ab"
        )

        def worth(pairs, predicted=predicted, gold=gold):
            close = [closeness(predicted[p], gold[g]) for p, g in pairs]
            return (len(close), sum(close)) if None not in close else (-1, 0)

        padded = [*range(len(gold)), *([None] * len(predicted))]
        every = ([(p, g) for p, g in enumerate(order) if g is not None] for order in permutations(padded, len(predicted)))
        assert worth(assign(predicted, gold)) == max(map(worth, every), default=(0, 0))


CHANGES = [
    ([], [a("color", "blue")], [("new", "new")]),  # at the first turn all is new
    ([a("color", "blue")], [a("color", "blue")], [("unchanged", "unchanged")]),
    ([a("color", "blue")], [a("shade", "Blue.")], [("unchanged", "unchanged")]),  # rephrasing
    ([a("color", "blue")], [a("color", "red")], [("changed", "unchanged")]),  # the value alone
    ([a("color", "blue")], [a("color", "blue", None, "optional")], [("unchanged", "changed")]),
    ([a("color", "blue")], [a("color", "red", None, None)], [("changed", "changed")]),
    ([a("color", "blue")], [a("color", "blue", "Ana")], [("new", "new")]),  # another scope
    (
        [a("color", "blue"), a("size", "small")],
        [a("size", "large"), a("fit", "loose fit")],
        [("changed", "unchanged"), ("new", "new")],
    ),
    ([a("diet", "nut free")], [a("diet", "nut free"), a("diet", "soy free")], [("unchanged", "unchanged"), ("new", "new")]),
]


@pytest.mark.parametrize(("previous", "now", "expected"), CHANGES)
def test_changes_against_the_previous_prediction(previous, now, expected) -> None:
    assert list(changes(previous, now)) == expected


def answer(text: str, stopped: bool = True) -> Completion:
    return Completion(text, 1, len(text.split()), stopped)


READ = [
    ("2-1\n1-3", ((0, 2), (1, 0))),
    (" 1-1 \n\n", ((0, 0),)),
    ("NONE", ()),
    ("", "the judge wrote nothing"),
    ("1-1 because it fits", "expected lines such as"),
    ("1-4", "names none of 2 predicted and 3 gold"),
    ("0-1", "names none of"),
    ("1-1\n1-2", "one to one"),
    ("1-1\n2-1", "one to one"),
    ("1-1\nNONE", "expected lines such as"),
]


@pytest.mark.parametrize(("text", "expected"), READ)
def test_a_malformed_verdict_is_an_evaluator_error(text, expected) -> None:
    found = read_pairs(answer(text), 2, 3)
    if isinstance(expected, str):
        assert isinstance(found, Failed)
        assert found.kind == "evaluator"
        assert expected in found.reason
    else:
        assert found == expected


def test_a_verdict_cut_off_is_an_evaluator_error() -> None:
    assert isinstance(read_pairs(answer("1-1", stopped=False), 2, 3), Failed)


class Judge:
    """Pairs the first with the first; fails as a whole where told, having answered every other question."""

    name = "judge"

    def __init__(self, fails: bool) -> None:
        self.fails = fails
        self.asked: list[str] = []

    def complete(self, prompts, max_tokens):
        self.asked += [prompt[-1].content for prompt in prompts]
        if self.fails:
            raise BackendError("down", {n: answer("1-1") for n in range(0, len(prompts), 2)})
        return [answer("1-1") for _ in prompts]


QUESTIONS = [
    ((a("color", "blue", "Ana", "optional"),), (a("shade", "azure", "Ana"),)),
    ((), (a("color", "red"),)),
    ((a("color", "red"),), (a("color", "red"),)),
    ((a("color", "pink"),), (a("color", "red"),)),
]


def test_a_judge_is_shown_no_priority_and_no_empty_question() -> None:
    judge = Judge(fails=False)
    assert JudgeMatcher(judge).match(QUESTIONS) == [((0, 0),), (), ((0, 0),), ((0, 0),)]
    assert judge.asked[0] == "Predicted:\n1 color: blue (for Ana)\nGold:\n1 shade: azure (for Ana)"
    assert len(judge.asked) == 3
    assert not any(tier in " ".join(judge.asked) for tier in ("must", "preferred", "optional"))


def test_a_judge_that_fails_leaves_the_rest_answered() -> None:
    found = JudgeMatcher(Judge(fails=True)).match(QUESTIONS)
    assert found == [((0, 0),), (), Failed("api", "down"), ((0, 0),)]
