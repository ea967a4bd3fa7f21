"""Schedules: what changes in which order, before any wording (IntentFlux, sections 3.2 and 4).

Every goal and every decoy is a thread of steps. Threads are interleaved; within a thread the order stands, and a
goal is stated only after the goals that it depends on.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from intentfold.construct.stale import StaleGoals
from intentfold.task import Goal, Priority

StepKind = Literal["state", "change", "back", "withdraw", "restore", "reprioritise"]


@dataclass(frozen=True, slots=True)
class Step:
    """One edit to come. `back` and `restore` return to a former value; `at_once` follows the step before in the next turn."""

    kind: StepKind
    goal: Goal
    at_once: bool = False


@dataclass(slots=True)
class Thread:
    """The steps still to come about one goal or decoy."""

    name: str
    steps: list[Step]
    needs: frozenset[str] = field(default_factory=frozenset)


def plan(goals: Sequence[Goal], stale: StaleGoals, load: int, rng: random.Random) -> list[Thread]:
    """A thread a goal and a decoy, ending in exactly `goals` (whose priorities are final)."""
    needed_by_others = {needed for goal in goals for needed in goal.depends_on}
    threads = []
    for goal in goals:
        steps = _goal_steps(goal, stale.variants.get(goal.id, ()), goal.id in needed_by_others, rng)
        threads.append(Thread(goal.id, steps, frozenset(goal.depends_on)))
    for decoy in stale.decoys:
        at_once = rng.random() < 0.2
        steps = [Step("state", decoy), Step("withdraw", decoy, at_once)]
        if rng.random() < 0.1 and not at_once:
            steps += [Step("restore", decoy), Step("withdraw", decoy)]
        threads.append(Thread(decoy.id, steps))
    rng.shuffle(threads)
    return threads


def _goal_steps(goal: Goal, variants: Sequence[Goal], needed: bool, rng: random.Random) -> list[Step]:
    late_priority = goal.priority is not None and rng.random() < 0.6
    first_priority: Priority | None = goal.priority
    if late_priority:
        others: list[Priority | None] = [p for p in (None, "must", "preferred", "optional") if p != goal.priority]
        first_priority = rng.choice(others)
    values = [replace(variant, priority=first_priority) for variant in variants]
    final = replace(goal, priority=first_priority)
    # Now and then a change of mind back to an old value: the final one stands, goes, and comes back.
    detour = values.pop() if values and rng.random() < 0.3 else None
    first, *later = [*values, final]
    steps = [Step("state", first), *(Step("change", value) for value in later)]
    if detour is not None:
        steps += [Step("change", detour), Step("back", final, at_once=rng.random() < 0.4)]
    if not needed and rng.random() < 0.12:
        # A deleted item added again.
        steps += [Step("withdraw", final), Step("restore", final, at_once=rng.random() < 0.3)]
    if late_priority:
        steps.append(Step("reprioritise", goal))
    return steps


def with_priorities(goals: Sequence[Goal], rng: random.Random, share: float) -> tuple[Goal, ...]:
    """Goals without a priority get one now and then: REPRIORITIZE is an edit like the others.

    A goal with a scope keeps to that: no wording states both.
    """
    choices: tuple[Priority, ...] = ("must", "preferred", "optional")
    return tuple(
        replace(goal, priority=rng.choice(choices))
        if goal.priority is None and goal.scope is None and rng.random() < share
        else goal
        for goal in goals
    )
