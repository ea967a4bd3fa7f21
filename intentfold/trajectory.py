"""Trajectories of evolving intentions (IntentDelta, sections 3 and 4): what the user says, what then holds, what to do.

A trajectory is replayed as it stands: the same ordered utterances whoever is tested (appendix B.1). Every turn holds the
whole cumulative intention, not the change alone. The requirements' values are plain text, `a and b` asks for both and
`a or b` for one of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from intentfold.intent import IntentItem, IntentState, diff, fold, slot_text
from intentfold.records import RECORD, RecordError, canonical_json, content_hash, read_jsonl, to_json
from intentfold.task import Goal, Priority, SourceTask
from intentfold.trace import Episode, EpisodeTurn, Split, Wording

Domain = Literal["shop", "trip"]
ChangeKind = Literal["add", "relax", "override", "reprioritise", "remove"]
Driver = Literal["request", "feasibility", "preference", "none"]
Operator = Literal["and", "or"]


@dataclass(frozen=True, slots=True)
class Requirement:
    """One active requirement (IntentDelta, B.2): a field and its value, for whom, where or when, and how much it matters.

    A prediction may lack its priority; a gold requirement never does (`Trajectory` checks).
    """

    __pydantic_config__ = RECORD

    field: str
    value: str
    scope: str | None = None
    priority: Priority | None = None

    def __post_init__(self) -> None:
        if not self.value.strip():
            raise ValueError(f"requirement {self.field!r}: the value is blank")

    def split(self) -> tuple[tuple[str, ...], Operator]:
        """The parts of the value and whether all of them or one of them is asked for."""
        alternatives = re.split(r"\s+or\s+", self.value.strip())
        if len(alternatives) > 1:
            return tuple(alternatives), "or"
        return tuple(re.split(r"\s+and\s+", self.value.strip())), "and"


@dataclass(frozen=True, slots=True)
class Change:
    """What one turn did to one requirement; a relaxation loosens its value, an override gives it another one."""

    __pydantic_config__ = RECORD

    kind: ChangeKind
    field: str
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class TrajectoryTurn:
    """One turn: the utterance, the cumulative intention after it, and a reference action with what it is worth.

    `intention` is None where the annotation is missing: a data error, never an empty intention. `feasible` says whether
    all must-haves in scope can be had together. `reply` is what the reference trajectory's agent answers.
    """

    __pydantic_config__ = RECORD

    utterance: str
    intention: tuple[Requirement, ...] | None
    changes: tuple[Change, ...]
    driver: Driver
    feasible: bool | None
    reference: Mapping[str, Any] | None = field(hash=False)
    reply: str


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One replayable dialogue over one environment (`intentfold.domains` says what an environment and an action hold)."""

    __pydantic_config__ = RECORD

    version: Literal[1]
    id: str
    domain: Domain
    origin: str
    license: str
    split: Split
    wording: Wording
    environment: Mapping[str, Any] = field(hash=False)
    turns: tuple[TrajectoryTurn, ...]

    def __post_init__(self) -> None:
        if not self.turns:
            raise ValueError(f"trajectory {self.id}: has no turns")
        for number, turn in enumerate(self.turns):
            for requirement in turn.intention or ():
                where = f"trajectory {self.id}, turn {number}, {requirement.field!r}"
                if requirement.priority is None:
                    raise ValueError(f"{where}: a gold requirement needs a priority")
                if requirement.split()[1] == "or" and re.search(r"\sand\s", requirement.value):
                    raise ValueError(f"{where}: a value is either `a and b` or `a or b`, got {requirement.value!r}")

    def hash(self) -> str:
        """Identity of the canonical content."""
        return content_hash(canonical_json(to_json(self)))


def read_trajectories(path: Path) -> list[Trajectory]:
    """Every trajectory of a JSON-lines file; the first bad line raises `RecordError` with file, line and field."""
    if not path.is_file():
        raise RecordError(f"{path}: no such file; expected trajectories as JSON lines (data_gen/build_trajectories.py)")
    return read_jsonl(path, Trajectory)


def as_episode(trajectory: Trajectory, *, carry: bool = False) -> Episode:
    """The trajectory as an episode, whose oracle edits are the differences of its intentions: what trackers train on.

    It serves tracking alone: there is no grader behind it, no turn-matched dialogue and no verified stale item, and its
    load of 1 stands for none. Where an intention is
    missing, `carry` leaves the state as it was (for replay: nobody learns from that), else `ValueError` is raised.
    """
    turns, state = [], IntentState()
    for number, turn in enumerate(trajectory.turns):
        if turn.intention is None and not carry:
            raise ValueError(f"trajectory {trajectory.id}, turn {number}: has no intention")
        edits = () if turn.intention is None else diff(state, as_state(turn.intention))
        state = fold(state, edits)
        kinds = dict.fromkeys(change.kind for change in turn.changes)
        phenomena = (*kinds, turn.driver, *(("compound",) if len(turn.changes) > 1 and number else ()))
        reply = turn.reply if number < len(trajectory.turns) - 1 else ""
        turns.append(EpisodeTurn(turn.utterance, edits, state, phenomena, reply))
    final = trajectory.turns[-1].intention or ()
    goals = tuple(
        Goal(str(number), slot_text(r.field, r.value), r.field, r.value, scope=r.scope, priority=r.priority)
        for number, r in enumerate(final, start=1)
    )
    task = SourceTask(trajectory.id, trajectory.domain, trajectory.origin, trajectory.license, "", goals, "text", {})
    clean = "; ".join(goal.text for goal in goals)
    return Episode(1, trajectory.id, task, 1, trajectory.split, trajectory.wording, 0, (), tuple(turns), clean, ())


def as_state(intention: Iterable[Requirement]) -> IntentState:
    """The state that holds exactly these requirements."""
    items = tuple(
        IntentItem(number, slot_text(r.field, r.value), "goal", (), r.field, r.value, r.scope, r.priority)
        for number, r in enumerate(intention, start=1)
    )
    return IntentState(items, len(items) + 1)


def as_intention(state: IntentState) -> tuple[Requirement, ...]:
    """The goals of a state as predicted requirements, by id; a goal without a slot has an empty field."""
    goals = sorted(state.of_kind("goal"), key=lambda item: item.id)
    return tuple(
        Requirement(item.slot or "", item.text if item.value is None else item.value, item.scope, item.priority)
        for item in goals
        if (item.text if item.value is None else item.value).strip()
    )
