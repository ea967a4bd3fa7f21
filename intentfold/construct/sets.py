"""What built sets look like, and which of them share source tasks (IntentFlux, section 3.2 and table 2)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

from intentfold.records import RECORD
from intentfold.trace import Episode

# IntentFlux's own sets, from easy to hard: context beside ours, never compared as if measured on the same cases.
SEED_TURNS = {1: 13.2, 5: 37.1}


@dataclass(frozen=True, slots=True)
class Shape:
    """Means over the dialogues of one part of a set; `operations` are edits a dialogue by operation."""

    __pydantic_config__ = RECORD

    set: str
    load: int
    family: str
    dialogues: int
    origins: int
    turns: float
    edits: float
    stale: float
    verified: float
    operations: Mapping[str, float]


MACRO = "equal-family mean"


def shapes(name: str, episodes: Sequence[Episode]) -> list[Shape]:
    """A shape for every load and family, and behind a load's families their mean, each family weighing the same."""
    found = []
    for load in sorted({episode.load for episode in episodes}):
        at_load = [episode for episode in episodes if episode.load == load]
        families = sorted({episode.task.family for episode in at_load})
        parts = [_shape(name, load, family, [e for e in at_load if e.task.family == family]) for family in families]
        found += parts
        if len(parts) > 1:
            found.append(_macro(name, load, parts))
    return found


def _shape(name: str, load: int, family: str, episodes: Sequence[Episode]) -> Shape:
    edits = [edit for episode in episodes for turn in episode.turns for edit in turn.edits]
    operations = sorted({edit.op for edit in edits})
    stale = [item for episode in episodes for item in episode.stale]
    return Shape(
        name,
        load,
        family,
        len(episodes),
        len({episode.task.origin for episode in episodes}),
        fmean(len(episode.turns) for episode in episodes),
        len(edits) / len(episodes),
        len(stale) / len(episodes),
        sum(item.verified for item in stale) / len(stale) if stale else 0.0,
        {op: sum(e.op == op for e in edits) / len(episodes) for op in operations},
    )


def _macro(name: str, load: int, parts: Sequence[Shape]) -> Shape:
    operations = sorted({op for part in parts for op in part.operations})
    return Shape(
        name,
        load,
        MACRO,
        sum(part.dialogues for part in parts),
        sum(part.origins for part in parts),
        fmean(part.turns for part in parts),
        fmean(part.edits for part in parts),
        fmean(part.stale for part in parts),
        fmean(part.verified for part in parts),
        {op: fmean(part.operations.get(op, 0.0) for part in parts) for op in operations},
    )


Origin = tuple[str, str]


def origins(episodes: Collection[Episode]) -> set[Origin]:
    """The source tasks behind episodes, as splits know them."""
    return {(episode.task.family, episode.task.origin) for episode in episodes}


def overlaps(sets: Mapping[str, set[Origin]]) -> dict[tuple[str, str], set[Origin]]:
    """For every two sets that share source tasks, those that they share."""
    pairs = {(a, b): sets[a] & sets[b] for a, b in combinations(sorted(sets), 2)}
    return {pair: shared for pair, shared in pairs.items() if shared}
