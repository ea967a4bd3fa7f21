"""Variants and decoys: proposed from a task's own parameters, kept only if obeying them costs full credit (design D6).

Of a task that only a judge can grade nothing is executed: its proposals stand, marked as unverified.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from intentfold.graders import Grade, grade
from intentfold.intent import IntentItem, normalise
from intentfold.runtime.executor import execute
from intentfold.task import Goal, SourceTask
from intentfold.trace import Stale

Grader = Callable[[SourceTask, str], Grade]
ATTEMPTS_PER_KEPT = 4
T = TypeVar("T")


class Unbuildable(ValueError):
    """A task that cannot become an episode, with the reason (counted by the build)."""


@dataclass(frozen=True, slots=True)
class StaleGoals:
    """Stale wordings of a task: `variants[goal id]` are goals with another value, `decoys` are extra goals."""

    variants: dict[str, tuple[Goal, ...]]
    decoys: tuple[Goal, ...]
    verified: bool = True


def is_executable(task: SourceTask) -> bool:
    """Whether code can tell what a stale item costs."""
    return task.answer_form != "interactive"


def as_items(goals: Sequence[Goal]) -> tuple[IntentItem, ...]:
    """Goals as the items of a state, numbered from 1; dependencies between goals are kept."""
    number = {goal.id: position for position, goal in enumerate(goals, start=1)}
    return tuple(
        IntentItem(
            number[goal.id],
            goal.text,
            goal.kind,
            tuple(number[needed] for needed in goal.depends_on),
            goal.slot,
            goal.value,
            goal.scope,
            goal.priority,
        )
        for goal in goals
    )


def verify_reference(task: SourceTask, grader: Grader = grade) -> None:
    """Raise `Unbuildable` unless the grader gives full credit to the executor's answer to the task's own goals."""
    if not is_executable(task):
        return
    execution = execute(task, as_items(task.goals))
    if execution.unresolved:
        raise Unbuildable(f"goal not resolved: {execution.unresolved[0].text!r}")
    result = grader(task, execution.answer)
    if not result.full:
        raise Unbuildable(f"reference answer not credited: {result.reason[:120]}")


def find_stale(task: SourceTask, load: int, rng: random.Random, grader: Grader = grade) -> StaleGoals:
    """`load` variants (spread over the goals) and `load` decoys, verified where that is possible; `Unbuildable` if too few."""
    goals = [goal for goal in task.goals if goal.kind == "goal"]
    variants: dict[str, tuple[Goal, ...]] = {}
    kept = 0
    for attempt, goal in enumerate(round_robin(_variants_of(task, goals, rng))):
        if kept == load or attempt == ATTEMPTS_PER_KEPT * load:
            break
        changed = tuple(goal if other.id == goal.id else other for other in task.goals)
        if costs_credit(task, changed, grader):
            variants[goal.id] = (*variants.get(goal.id, ()), goal)
            kept += 1
    if kept < load:
        raise Unbuildable(f"variants: {load} needed, {kept} verified")
    decoys: list[Goal] = []
    for attempt, decoy in enumerate(round_robin(_decoys_of(task, goals, rng))):
        if len(decoys) == load or attempt == ATTEMPTS_PER_KEPT * load:
            break
        if costs_credit(task, (*task.goals, decoy), grader):
            decoys.append(replace(decoy, id=f"decoy{len(decoys) + 1}"))
    if len(decoys) < load:
        raise Unbuildable(f"decoys: {load} needed, {len(decoys)} verified")
    return StaleGoals(variants, tuple(decoys), is_executable(task))


def stale_records(stale: StaleGoals) -> tuple[Stale, ...]:
    """The trace's record of the stale items, and of whether they were verified."""
    variants = [goal for goals in stale.variants.values() for goal in goals]
    return tuple(Stale("variant", goal.text, goal.slot, goal.value, stale.verified) for goal in variants) + tuple(
        Stale("decoy", goal.text, goal.slot, goal.value, stale.verified) for goal in stale.decoys
    )


def costs_credit(task: SourceTask, goals: Sequence[Goal], grader: Grader) -> bool:
    """Whether the executor's answer to these goals was graded, and misses full credit (of what a judge grades: taken to)."""
    if not is_executable(task):
        return True
    result = grader(task, execute(task, as_items(goals)).answer)
    return result.value is not None and not result.full


def _variants_of(task: SourceTask, goals: Sequence[Goal], rng: random.Random) -> list[list[Goal]]:
    columns = []
    for goal in rng.sample(goals, len(goals)):
        name, parameter = parameter_of(task, goal)
        if name is None:
            continue
        values = [v for v in dict.fromkeys(parameter["values"]) if not same_value(v, goal, parameter)]
        rng.shuffle(values)
        columns.append([with_value(goal, value, parameter) for value in values])
    return columns


def _decoys_of(task: SourceTask, goals: Sequence[Goal], rng: random.Random) -> list[list[Goal]]:
    taken = {normalise(goal.slot or goal.text) for goal in goals}
    columns = []
    optional = [(name, p) for name, p in task.payload["parameters"].items() if p.get("optional")]
    for name, parameter in rng.sample(optional, len(optional)):
        if normalise(name) in taken:
            continue
        blank = Goal(id=f"decoy {name}", text="", slot=None if "text" in parameter else name)
        values = list(dict.fromkeys(parameter["values"]))
        rng.shuffle(values)
        # One decoy a parameter: two values of one parameter would be a variant of a decoy.
        columns.append([with_value(blank, value, parameter) for value in values[:1]])
    return columns


def parameter_of(task: SourceTask, goal: Goal) -> tuple[str | None, dict]:
    """The name and record of the parameter that a goal sets, by its slot or its words; None and nothing where there is none."""
    parameters = task.payload["parameters"]
    if goal.slot is not None:
        found = parameters.get(goal.slot)
        return (None, {}) if found is None else (goal.slot, found)
    for name, parameter in parameters.items():
        text = parameter.get("text")
        if text is None:
            continue
        before, _, after = text.partition("{value}")
        if goal.text.startswith(before) and goal.text.endswith(after) and len(goal.text) > len(before) + len(after):
            return name, parameter
    return None, {}


def with_value(goal: Goal, value: str, parameter: dict) -> Goal:
    """The goal with another value of its parameter."""
    if goal.slot is None:
        return replace(goal, text=parameter["text"].replace("{value}", value))
    return replace(goal, value=value, text=f"{goal.slot}: {value}")


def same_value(value: str, goal: Goal, parameter: dict) -> bool:
    """Whether the goal reads alike with this value."""
    return normalise(with_value(goal, value, parameter).text) == normalise(goal.text)


def round_robin(columns: Sequence[Sequence[T]]) -> Iterator[T]:
    """The first of every column, then the second of every column that has one, and so on."""
    depth = max((len(column) for column in columns), default=0)
    for row in range(depth):
        for column in columns:
            if row < len(column):
                yield column[row]
