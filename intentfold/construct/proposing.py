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
    goals = [goal for goal in task.goals if goal.kind == "goal"]
    names = {id: name for goal in goals for id, name in [(goal.id, parameter_of(task, goal)[0])] if name is not None}
    variants: list[tuple[str, Goal]] = []
    decoys: list[Goal] = []
    refused: list[str] = []
    for _ in range(attempts):
        short = load - len(variants), load - len(decoys)
        if max(short) <= 0:
            break
        extra = [name for name in _extra(task, goals) if name not in {goal.slot or goal.id for goal in decoys}]
        prompt = proposal_prompt(
            request,
            [f"{names[goal.id]}: {goal.text if goal.slot is None else goal.value}" for goal in goals if goal.id in names],
            [_described(task, name) for name in names.values()],
            [_described(task, name) for name in extra],
            (OFFERED * max(0, short[0]), OFFERED * max(0, short[1])),
            refused[-SHOWN_REFUSED:],
        )
        answer = yield Ask("proposer", prompt)
        try:
            offer = read_structured(Proposals, answer)
        except ValueError as reason:
            refused.append(notes.reject("proposer", answer.text, str(reason)))
            continue
        for one in _spread(offer.variants):
            if len(variants) < load:
                _try_variant(task, one, names, variants, refused, notes, grader)
        for one in _spread(offer.decoys):
            if len(decoys) < load:
                _try_decoy(task, one, extra, decoys, refused, notes, grader)
    if scripted is not None and (len(variants) < load or len(decoys) < load):
        _fill(load, variants, decoys, scripted(), notes)
    if len(variants) < load or len(decoys) < load:
        raise Unbuildable(f"proposals: {load} of each needed, {len(variants)} variants and {len(decoys)} decoys accepted")
    by_goal: dict[str, tuple[Goal, ...]] = {}
    for id, goal in variants:
        by_goal[id] = (*by_goal.get(id, ()), goal)
    return StaleGoals(by_goal, tuple(replace(goal, id=f"decoy{n}") for n, goal in enumerate(decoys, start=1)))


def _try_variant(
    task: SourceTask,
    one: Proposal,
    names: dict[str, str],
    kept: list[tuple[str, Goal]],
    refused: list[str],
    notes: Notes,
    grader: Grader,
) -> None:
    what = f"variant {one.name}: {one.value}"
    id = next((id for id, name in names.items() if normalise(name) == normalise(one.name)), None)
    goal = next((goal for goal in task.goals if goal.id == id), None)
    if goal is None:
        refused.append(notes.reject("proposer", what, "is no requirement that the user has"))
        return
    parameter = parameter_of(task, goal)[1]
    found = with_value(goal, one.value, parameter)
    taken = [other for other, changed in kept if other == goal.id and same_value(one.value, changed, parameter)]
    if same_value(one.value, goal, parameter) or taken:
        refused.append(notes.reject("proposer", what, "is the value that stands, or one proposed before"))
        return
    changed = tuple(found if other.id == goal.id else other for other in task.goals)
    if _borne_out(task, found, changed, what, refused, notes, grader):
        kept.append((goal.id, found))


def _try_decoy(
    task: SourceTask, one: Proposal, extra: Sequence[str], kept: list[Goal], refused: list[str], notes: Notes, grader: Grader
) -> None:
    what = f"decoy {one.name}: {one.value}"
    name = next((name for name in extra if normalise(name) == normalise(one.name)), None)
    if name is None or any(goal.id == name for goal in kept):
        refused.append(notes.reject("proposer", what, "is none of the extra names, or has a decoy"))
        return
    parameter = task.payload["parameters"][name]
    found = with_value(Goal(name, "", None if "text" in parameter else name), one.value, parameter)
    if _borne_out(task, found, (*task.goals, found), what, refused, notes, grader):
        kept.append(found)


def _borne_out(
    task: SourceTask, found: Goal, goals: Sequence[Goal], what: str, refused: list[str], notes: Notes, grader: Grader
) -> bool:
    """Whether the executor can obey the proposal, and the grader takes credit for it."""
    if not resolve(task, as_items([replace(found, depends_on=())])[0]):
        refused.append(notes.reject("proposer", what, "is no value of that type"))
    elif not costs_credit(task, goals, grader):
        refused.append(notes.reject("proposer", what, "costs no credit: the answer is right all the same"))
    else:
        notes.accept("proposer")
        return True
    return False


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


def _extra(task: SourceTask, goals: Sequence[Goal]) -> list[str]:
    """Optional parameters that no goal sets."""
    taken = {normalise(goal.slot or goal.text) for goal in goals}
    return [name for name, p in task.payload["parameters"].items() if p.get("optional") and normalise(name) not in taken]


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
