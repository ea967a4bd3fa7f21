"""Decompositions, variants and decoys that models propose: each is executed by the grader before it is taken (design D6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from intentfold.construct.stale import (
    Grader,
    StaleGoals,
    Unbuildable,
    as_items,
    costs_credit,
    parameter_of,
    round_robin,
    same_value,
    verify_reference,
    with_value,
)
from intentfold.construct.talk import Ask, Talk
from intentfold.intent import normalise
from intentfold.prompts.construction import Decomposition, Proposal, Proposals, decomposition_prompt, proposal_prompt
from intentfold.records import RECORD
from intentfold.runtime.executor import resolve
from intentfold.runtime.roles import Prompt
from intentfold.runtime.structured import read_structured
from intentfold.task import Goal, SourceTask

OFFERED = 2  # how many proposals are asked for each one that is needed
SHOWN_REFUSED = 12


@dataclass(frozen=True, slots=True)
class Rejected:
    """A proposal that was not taken, and why."""

    __pydantic_config__ = RECORD

    task: str
    load: int
    role: str
    what: str
    reason: str


@dataclass(slots=True)
class Notes:
    """What became of the proposals for one episode. `counts` are by `role: what`."""

    task: str
    load: int
    rejected: list[Rejected] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def reject(self, role: str, what: str, reason: str) -> str:
        """Keep a proposal with its reason; both as one line, for the model that is asked again."""
        self.rejected.append(Rejected(self.task, self.load, role, what, reason))
        self.counts[f"{role}: rejected"] += 1
        return f"{what}: {reason}"

    def accept(self, role: str, count: int = 1) -> None:
        """Count proposals that were taken."""
        self.counts[f"{role}: accepted"] += count


def decomposed(task: SourceTask, request: str, attempts: int, scripted: bool, notes: Notes, grader: Grader) -> Talk[SourceTask]:
    """The task with the goals that a decomposer finds in `request`, its whole wording.

    Taken only where every goal is quoted from the request and the executor's answer to them gets full credit. Otherwise
    it is asked again, `attempts` times in all; then the task keeps its own goals if `scripted`, and is given up if not.
    """
    refused: list[str] = []
    names = [_described(task, name) for name in task.payload["parameters"]]
    for _ in range(attempts):
        answer = yield Ask("decomposer", decomposition_prompt(request, names, refused[-SHOWN_REFUSED:]))
        try:
            found = _taken_apart(task, request, read_structured(Decomposition, answer))
            verify_reference(found, grader)
        except ValueError as reason:  # Unbuildable among them
            refused.append(notes.reject("decomposer", answer.text, str(reason)))
        else:
            notes.accept("decomposer")
            return found
    if not scripted:
        raise Unbuildable(f"decomposition: none of {attempts} was accepted")
    notes.counts["decomposer: scripted instead"] += 1
    return task


def _taken_apart(task: SourceTask, request: str, found: Decomposition) -> SourceTask:
    own = {normalise(name): goal for goal in task.goals if (name := parameter_of(task, goal)[0]) is not None}
    goals: dict[str, Goal] = {}
    for part in found.requirements:
        name, parameter = _parameter(task, part.name)
        if not part.quote.strip() or part.quote not in request:
            raise ValueError(f"{part.name}: the quote is not in the request: {part.quote[:80]!r}")
        if name in goals:
            raise ValueError(f"{part.name}: stands twice")
        # A goal that the task has keeps its scope, its priority and what it rests on.
        blank = own.get(normalise(name), Goal(f"found {len(goals) + 1}", "", None if "text" in parameter else name))
        goals[name] = with_value(blank, part.value, parameter)
    ids = {goal.id for goal in goals.values()}
    place = {goal.id: number for number, goal in enumerate(task.goals)}
    ordered = sorted(goals.values(), key=lambda goal: place.get(goal.id, len(place)))
    kept = tuple(replace(goal, depends_on=tuple(need for need in goal.depends_on if need in ids)) for goal in ordered)
    if not kept:
        raise ValueError("no requirement")
    return replace(task, goals=(*kept, *(goal for goal in task.goals if goal.kind != "goal")))


def proposed(
    task: SourceTask,
    request: str,
    load: int,
    attempts: int,
    scripted: Callable[[], StaleGoals] | None,
    notes: Notes,
    grader: Grader,
) -> Talk[StaleGoals]:
    """`load` variants, spread over the goals, and `load` decoys that a proposer found and the grader bore out.

    What is short after `attempts` rounds is taken from `scripted`, and counted; without, the task is given up.
    """
    sieve = _Sieve(task, notes, grader)
    variants: list[tuple[str, Goal]] = []
    decoys: list[Goal] = []
    for _ in range(attempts):
        short = max(0, load - len(variants)), max(0, load - len(decoys))
        if not any(short):
            break
        answer = yield Ask("proposer", sieve.question(request, short, decoys))
        try:
            offer = read_structured(Proposals, answer)
        except ValueError as reason:
            sieve.refuse(answer.text, str(reason))
            continue
        for one in _spread(offer.variants):
            if len(variants) < load and (variant := sieve.variant(one, variants)) is not None:
                variants.append(variant)
        for one in _spread(offer.decoys):
            if len(decoys) < load and (decoy := sieve.decoy(one, decoys)) is not None:
                decoys.append(decoy)
    if scripted is not None and (len(variants) < load or len(decoys) < load):
        _fill(load, variants, decoys, scripted(), notes)
    if len(variants) < load or len(decoys) < load:
        raise Unbuildable(f"proposals: {load} of each needed, {len(variants)} variants and {len(decoys)} decoys accepted")
    by_goal: dict[str, tuple[Goal, ...]] = {}
    for id, goal in variants:
        by_goal[id] = (*by_goal.get(id, ()), goal)
    return StaleGoals(by_goal, tuple(replace(goal, id=f"decoy{n}") for n, goal in enumerate(decoys, start=1)))


class _Sieve:
    """Lets through what may stand in an episode of the task, and keeps the rest with its reason."""

    def __init__(self, task: SourceTask, notes: Notes, grader: Grader) -> None:
        self.task, self.notes, self.grader = task, notes, grader
        self.goals = [goal for goal in task.goals if goal.kind == "goal"]
        found = {goal.id: parameter_of(task, goal)[0] for goal in self.goals}
        self.names = {id: name for id, name in found.items() if name is not None}
        self.refused: list[str] = []

    def question(self, request: str, short: tuple[int, int], decoys: Sequence[Goal]) -> Prompt:
        """What the proposer is asked where `short` variants and decoys are still needed."""
        told = [f"{self.names[g.id]}: {g.text if g.slot is None else g.value}" for g in self.goals if g.id in self.names]
        known, extra = ([_described(self.task, name) for name in some] for some in (self.names.values(), self._extra(decoys)))
        wanted = OFFERED * short[0], OFFERED * short[1]
        return proposal_prompt(request, told, known, extra, wanted, self.refused[-SHOWN_REFUSED:])

    def refuse(self, what: str, reason: str) -> None:
        """Keep a proposal that is not taken; the proposer is shown it when it is asked again."""
        self.refused.append(self.notes.reject("proposer", what, reason))

    def variant(self, one: Proposal, kept: Sequence[tuple[str, Goal]]) -> tuple[str, Goal] | None:
        """The goal with the proposed value, and its id; None where it is refused."""
        what = f"variant {one.name}: {one.value}"
        goal = next((g for g in self.goals if normalise(self.names.get(g.id, "")) == normalise(one.name)), None)
        if goal is None:
            self.refuse(what, "is no requirement that the user has")
            return None
        parameter = parameter_of(self.task, goal)[1]
        others = [goal, *(changed for id, changed in kept if id == goal.id)]
        if any(same_value(one.value, other, parameter) for other in others):
            self.refuse(what, "is the value that stands, or one proposed before")
            return None
        found = with_value(goal, one.value, parameter)
        changed = tuple(found if other.id == goal.id else other for other in self.task.goals)
        return (goal.id, found) if self._borne_out(what, found, changed) else None

    def decoy(self, one: Proposal, kept: Sequence[Goal]) -> Goal | None:
        """The proposed goal, which the task does not have; None where it is refused."""
        what = f"decoy {one.name}: {one.value}"
        name = next((name for name in self._extra(kept) if normalise(name) == normalise(one.name)), None)
        if name is None:
            self.refuse(what, "is none of the extra names, or has a decoy")
            return None
        parameter = self.task.payload["parameters"][name]
        found = with_value(Goal(name, "", None if "text" in parameter else name), one.value, parameter)
        return found if self._borne_out(what, found, (*self.task.goals, found)) else None

    def _borne_out(self, what: str, found: Goal, goals: Sequence[Goal]) -> bool:
        """Whether the executor can obey the proposal, and the grader takes credit for it."""
        if not resolve(self.task, as_items([replace(found, depends_on=())])[0]):
            self.refuse(what, "is no value of that type")
        elif not costs_credit(self.task, goals, self.grader):
            self.refuse(what, "costs no credit: the answer is right all the same, or cannot be graded")
        else:
            self.notes.accept("proposer")
            return True
        return False

    def _extra(self, kept: Sequence[Goal]) -> list[str]:
        """Optional parameters that no goal and no decoy sets."""
        taken = {normalise(goal.slot or goal.text) for goal in self.goals} | {normalise(goal.id) for goal in kept}
        known = self.task.payload["parameters"]
        return [name for name, one in known.items() if one.get("optional") and normalise(name) not in taken]


def _fill(load: int, variants: list[tuple[str, Goal]], decoys: list[Goal], scripted: StaleGoals, notes: Notes) -> None:
    before = len(variants) + len(decoys)
    said = {normalise(goal.text) for _, goal in variants}
    for id, goals in scripted.variants.items():
        variants += [(id, goal) for goal in goals if normalise(goal.text) not in said][: max(0, load - len(variants))]
    said = {normalise(goal.slot or goal.text) for goal in decoys}
    decoys += [goal for goal in scripted.decoys if normalise(goal.slot or goal.text) not in said][: max(0, load - len(decoys))]
    if filled := len(variants) + len(decoys) - before:
        notes.counts["proposer: scripted instead"] += filled


def _spread(offered: Sequence[Proposal]) -> list[Proposal]:
    columns: dict[str, list[Proposal]] = {}
    for one in offered:
        columns.setdefault(normalise(one.name), []).append(one)
    return list(round_robin(list(columns.values())))


def _parameter(task: SourceTask, name: str) -> tuple[str, dict]:
    for known, parameter in task.payload["parameters"].items():
        if normalise(known) == normalise(name):
            return known, parameter
    raise ValueError(f"expected names of the list, got {name[:80]!r}")


def _described(task: SourceTask, name: str) -> str:
    """A name with the type of its values, and the values where only some are possible."""
    parameter = task.payload["parameters"][name]
    choices = task.payload["program"].get("choices", {}).get(name)
    words = f'; reads "{parameter["text"]}"' if "text" in parameter else ""
    return f"{name} ({parameter['type'] if choices is None else 'one of ' + ', '.join(choices)}{words})"
