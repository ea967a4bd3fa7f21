"""What every loaded task must stand up to: its own goals answer it, its decoys and other values change the verdict."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from intentfold.construct.stale import as_items
from intentfold.graders import Grade, grade
from intentfold.runtime.executor import execute
from intentfold.task import Goal, SourceTask


def verdict(task: SourceTask, goals: Iterable[Goal]) -> Grade:
    execution = execute(task, as_items(tuple(goals)))
    assert execution.unresolved == (), f"{task.id}: not resolved: {execution.unresolved}"
    return grade(task, execution.answer)


def sample(tasks: Sequence[SourceTask], count: int = 60) -> list[SourceTask]:
    return random.Random(0).sample(tasks, count)


def assert_own_goals_answer(tasks: Iterable[SourceTask]) -> None:
    for task in tasks:
        result = verdict(task, task.goals)
        assert result.full, f"{task.id}: {result.reason}"


def decoys(task: SourceTask) -> list[Goal]:
    """One goal for each optional parameter."""
    return [
        with_value(Goal(f"decoy {name}", "", None if "text" in parameter else name), parameter, parameter["values"][-1])
        for name, parameter in task.payload["parameters"].items()
        if parameter["optional"]
    ]


def with_value(goal: Goal, parameter: dict, value: str) -> Goal:
    if goal.slot is None:
        return Goal(goal.id, parameter["text"].replace("{value}", value))
    return Goal(goal.id, f"{goal.slot}: {value}", goal.slot, value)


def variants(task: SourceTask) -> list[tuple[Goal, ...]]:
    """The task's goals with one value exchanged, for every value of every goal."""
    parameters = task.payload["parameters"]
    found = []
    for position, goal in enumerate(task.goals):
        spelled = (p for p in parameters.values() if _spells(p.get("text"), goal.text))
        parameter = parameters[goal.slot] if goal.slot else next(spelled)
        for value in parameter["values"]:
            found.append((*task.goals[:position], with_value(goal, parameter, value), *task.goals[position + 1 :]))
    return found


def _spells(template: str | None, text: str) -> bool:
    before, _, after = (template or "\0").partition("{value}")
    return text.startswith(before) and text.endswith(after)


def share_that_costs_credit(task: SourceTask, candidates: Sequence[tuple[Goal, ...]]) -> float:
    return sum(not verdict(task, goals).full for goals in candidates) / len(candidates)
