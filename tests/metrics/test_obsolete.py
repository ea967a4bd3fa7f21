"""Obsolete retention: one table, for states of trackers and for recovered intentions alike."""

from __future__ import annotations

from dataclasses import replace

import pytest

from intentfold.intent import IntentItem, IntentState
from intentfold.metrics.recovery.intention import score_intentions
from intentfold.metrics.recovery.matching import RuleMatcher
from intentfold.metrics.state import measure
from intentfold.runtime.tracker import Fold
from intentfold.trajectory import Requirement
from tests.episodes import small_house
from tests.trajectories import mug

BLUE, RED, SOFT_BLUE = ("color", "blue", None, "must"), ("color", "red", None, "must"), ("color", "blue", None, "optional")
POOL = ("pool", "yes", None, "preferred")
UPSTAIRS = ("color", "blue", "upstairs", "must")

# What is meant before and after, what is predicted before and after, and (retained, opportunities).
TABLE = [
    ((BLUE,), (RED,), (BLUE,), (BLUE,), (1, 1)),  # overridden, and kept
    ((BLUE,), (RED,), (BLUE,), (RED,), (0, 1)),
    ((BLUE,), (RED,), (BLUE,), (RED, BLUE), (1, 1)),  # kept beside its replacement
    ((BLUE,), (RED,), (BLUE,), (SOFT_BLUE,), (1, 1)),  # with another priority it is the same obsolete wish
    ((BLUE, POOL), (BLUE,), (BLUE, POOL), (BLUE, POOL), (1, 1)),  # removed, and kept
    ((BLUE, POOL), (BLUE,), (BLUE, POOL), (BLUE,), (0, 1)),
    ((BLUE,), (SOFT_BLUE,), (BLUE,), (BLUE,), (0, 0)),  # a mere change of priority makes nothing obsolete
    ((BLUE,), (SOFT_BLUE,), (BLUE,), (SOFT_BLUE,), (0, 0)),
    ((BLUE,), (RED,), (SOFT_BLUE,), (SOFT_BLUE,), (0, 0)),  # it was not predicted right
    ((BLUE,), (RED,), (), (BLUE,), (0, 0)),
    ((BLUE,), (UPSTAIRS,), (BLUE,), (BLUE,), (1, 1)),  # moved to another scope
    ((BLUE,), (BLUE,), (BLUE,), (BLUE,), (0, 0)),
]


def state(wishes) -> IntentState:
    items = [IntentItem(n, f"{f}: {v}", "goal", (), f, v, scope, p) for n, (f, v, scope, p) in enumerate(wishes, 1)]
    return IntentState(tuple(items), len(items) + 1)


@pytest.mark.parametrize(("meant_before", "meant", "before", "now", "expected"), TABLE)
def test_the_state_of_a_tracker(meant_before, meant, before, now, expected) -> None:
    episode = small_house()
    turns = tuple(replace(turn, edits=(), state=state(w)) for turn, w in zip(episode.turns, (meant_before, meant), strict=False))
    folds = [Fold(state(wishes), (), (), "", 0) for wishes in (before, now)]
    assert measure(replace(episode, turns=turns), folds)["obsolete_retention"] == expected


@pytest.mark.parametrize(("meant_before", "meant", "before", "now", "expected"), TABLE)
def test_a_recovered_intention(meant_before, meant, before, now, expected) -> None:
    gold, mine = ([tuple(Requirement(*w) for w in part) for part in pair] for pair in ((meant_before, meant), (before, now)))
    turns = tuple(replace(turn, intention=part) for turn, part in zip(mug().turns, gold, strict=False))
    assert score_intentions([replace(mug(), turns=turns)], [mine], RuleMatcher())[0][1].obsolete == expected
