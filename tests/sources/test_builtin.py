"""The built-in families: every task is solved by its own goals, and stale goals cost it credit."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice

import pytest

from intentfold.graders import grade, reference_answer
from intentfold.intent import IntentItem, normalise
from intentfold.records import from_json, to_json
from intentfold.runtime.executor import evaluate, execute, parse_value
from intentfold.sources.builtin.sql import database
from intentfold.sources.registry import FAMILIES, builtin_task, builtin_tasks
from intentfold.task import Goal, SourceTask

families = pytest.mark.parametrize("family", FAMILIES)


def items(goals: tuple[Goal, ...]) -> list[IntentItem]:
    return [
        IntentItem(number, goal.text, goal.kind, slot=goal.slot, value=goal.value) for number, goal in enumerate(goals, start=1)
    ]


def sample(family: str, count: int, seed: int = 3) -> list[SourceTask]:
    return [builtin_task(family, seed, index) for index in range(count)]


def costs_credit(task: SourceTask, goals: tuple[Goal, ...]) -> bool:
    return not grade(task, execute(task, items(goals)).answer).full


def stated(task: SourceTask) -> list[Goal]:
    return [goal for goal in task.goals if goal.kind == "goal"]


def decoys(task: SourceTask) -> list[Goal]:
    return [
        Goal("d", f"{slot}: {parameter['values'][0]}", slot, parameter["values"][0])
        for slot, parameter in task.payload["parameters"].items()
        if parameter["optional"]
    ]


@families
def test_the_goals_earn_full_credit(family: str) -> None:
    for task in sample(family, 150):
        execution = execute(task, items(task.goals))
        assert execution.unresolved == ()
        result = grade(task, execution.answer)
        assert result.full, f"{task.id}: {result.reason}: {execution.answer}"


@families
def test_the_reference_earns_full_credit(family: str) -> None:
    for task in sample(family, 40):
        assert grade(task, reference_answer(task)).full, task.id


@families
def test_obeying_a_decoy_costs_credit(family: str) -> None:
    """At the highest load five decoys must cost credit: that many do, and three do almost everywhere."""
    biting = [sum(costs_credit(task, (*task.goals, decoy)) for decoy in decoys(task)) for task in sample(family, 30)]
    assert sum(count >= 3 for count in biting) >= 27
    assert sum(count >= 5 for count in biting) >= 25


@families
def test_obeying_a_superseded_value_costs_credit(family: str) -> None:
    verdicts = []
    for task in sample(family, 15):
        for goal in stated(task):
            for value in task.payload["parameters"][goal.slot]["values"]:
                stale = replace(goal, value=value, text=f"{goal.slot}: {value}")
                verdicts.append(costs_credit(task, tuple(stale if other is goal else other for other in task.goals)))
    assert sum(verdicts) >= 0.9 * len(verdicts)
    assert len(verdicts) >= 15 * 7


@families
def test_every_goal_matters(family: str) -> None:
    for task in sample(family, 15):
        for goal in stated(task):
            kept = tuple(other for other in task.goals if other is not goal)
            assert costs_credit(task, kept) or goal.slot == "sort order", f"{task.id}: {goal.text}"


@families
def test_tasks_depend_on_seed_and_index_alone(family: str) -> None:
    first = sample(family, 60)
    database.cache_clear()
    assert [builtin_task(family, 3, index) for index in reversed(range(60))][::-1] == first
    assert all(one.payload != other.payload for one, other in zip(first, sample(family, 60, seed=4), strict=True))


@families
def test_origins_hardly_repeat(family: str) -> None:
    assert len({task.origin for task in sample(family, 500)}) >= 475


@families
def test_tasks_are_well_formed(family: str) -> None:
    for task in sample(family, 120):
        assert from_json(SourceTask, to_json(task)) == task
        assert task.id == f"{family}-3-{task.id.rsplit('-', 1)[1]}" and task.family == family
        goals, parameters = stated(task), task.payload["parameters"]
        assert 2 <= len(goals) <= 8
        names = [normalise(name) for name, entry in parameters.items() for name in (name, *entry["spoken"])]
        assert len(set(names)) == len(names)
        assert {goal.slot for goal in goals} == {slot for slot, entry in parameters.items() if not entry["optional"]}
        for slot, entry in parameters.items():
            mine = [goal.value for goal in goals if goal.slot == slot]
            values = [*mine, *entry["values"]]
            assert len({normalise(str(value)) for value in values}) == len(values) >= 2, f"{task.id}: {slot}"
            for value in values:
                assert "\n" not in value and len(value.split()) <= 4, value
                parse_value(entry["type"], value)
        for goal in goals:
            assert goal.text == f"{goal.slot}: {goal.value}"
            said = re.search(rf"(?<!\w){re.escape(goal.value or '')}(?!\w)", task.request, re.IGNORECASE)
            assert not said or len(said[0]) < 3, f"{task.request} states {goal.text}"


@families
def test_conclusions_follow_from_the_goals(family: str) -> None:
    found = 0
    for task in sample(family, 60):
        values = {goal.slot: goal.value for goal in stated(task)}
        for conclusion in task.payload["conclusions"]:
            assert conclusion["slot"] not in task.payload["parameters"]
            assert set(conclusion["depends_on"]) <= values.keys()
            text = conclusion.get("template") or conclusion["expression"]
            for slot in conclusion["depends_on"]:
                assert f"{{{slot}}}" in text
                text = text.replace(f"{{{slot}}}", values[slot])
            assert text if "template" in conclusion else evaluate(text)
            found += 1
    assert found >= 55


def test_a_few_goals_carry_scope_priority_and_dependencies() -> None:
    tasks = list(builtin_tasks(list(FAMILIES), 1000, 0))
    goals = [goal for task in tasks for goal in stated(task)]
    assert 0.04 < sum(goal.priority is not None for goal in goals) / len(goals) < 0.12
    assert any(goal.scope for goal in goals) and any(goal.depends_on for goal in goals)
    assert 0.2 < sum(len(stated(task)) < len(task.goals) for task in tasks) / len(tasks) < 0.5


def test_families_take_turns_and_unknown_ones_are_named() -> None:
    tasks = list(islice(builtin_tasks(["text", "tools"], 4, 7), 4))
    assert [task.id for task in tasks] == ["text-7-0", "tools-7-0", "text-7-1", "tools-7-1"]
    with pytest.raises(ValueError, match="'poetry'"):
        builtin_task("poetry", 0, 0)
