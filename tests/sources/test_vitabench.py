"""VitaBench's tasks: one loader for every domain, kept apart from what code can grade."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from intentfold.dialogue import Observation
from intentfold.domains import delivery
from intentfold.graders import NoGrader, grade
from intentfold.sources.loading import SourceError
from intentfold.sources.vitabench import as_source_task, load_interactive, load_vitabench
from intentfold.sources.vitabench_words import variable
from tests.sources.conftest import DATA

ORDER = {"order_id": "T1"}
TASK: dict[str, Any] = {
    "id": "7",
    "domain": "instore",
    "instructions": "You want a table for four. Your sister comes with you, and you hope for a quiet place.",
    "environment": {"time": "2025-01-01 10:00:00", "user_id": "u", "shops": {}},
    "user_scenario": {"user_profile": {"occupation": "Doctor"}},
    "evaluation_criteria": {
        "overall_rubrics": ["The table is for four"],
        "expected_states": [
            {"required_orders": [ORDER], "state_rubrics": ["It is quiet", "The table is for four"]},
            {"required_orders": [ORDER]},
        ],
    },
}


def written(folder: Path, *records: dict[str, Any]) -> Path:
    path = folder / "tasks.json"
    path.write_text(json.dumps(records))
    return path


def test_a_task_of_any_domain_is_read(tmp_path: Path) -> None:
    [task] = load_vitabench(written(tmp_path, TASK))
    assert (task.id, task.domain, task.rubrics) == ("7", "instore", ("It is quiet", "The table is for four"))
    assert task.expected == (ORDER,), "every expected state repeats the whole task's orders"
    source = as_source_task(task)
    assert [goal.text for goal in source.goals] == [
        "I want a table for four.",
        "My sister comes with me, and I hope for a quiet place.",
    ]
    with pytest.raises(NoGrader):
        grade(source, "done")


def test_faults_are_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"tasks.json: record 1: field id: '7' stood before"):
        load_vitabench(written(tmp_path, TASK, TASK))
    with pytest.raises(SourceError, match=r"record 0: .*overall_rubrics must list texts, got '\[\]'"):
        load_vitabench(written(tmp_path, {**TASK, "evaluation_criteria": {"overall_rubrics": [], "expected_states": []}}))


def test_what_is_varied_stands_in_the_wishes_and_nothing_is_executable(tmp_path: Path) -> None:
    [task] = load_interactive(written(tmp_path, TASK)).unverified
    assert load_interactive(written(tmp_path, TASK)).tasks == ()
    wishes = {n: p for n, p in task.payload["parameters"].items() if not p["optional"]}
    assert wishes["sentence 1"]["text"] == "I want a table for {value}."
    assert wishes["sentence 1"]["values"] == ["two", "three", "five", "six", "seven", "eight"]
    assert wishes["sentence 2"] == {**wishes["sentence 2"], "values": [], "text": task.goals[1].text}
    assert task.payload["domain"] == "instore" and task.payload["reference"] == {"orders": [ORDER]}


@pytest.mark.parametrize(
    ("sentence", "text", "first"),
    [
        ("Bring it by 6:30 PM.", "Bring it by {value}.", "7:30 PM"),
        ("I get up at 12 o'clock.", "I get up at {value}.", "1 o'clock"),
        ("A budget of 50 yuan.", "A budget of {value}.", "100 yuan"),
        ("Something extremely spicy.", "Something {value}.", "mildly spicy"),
        ("A pot of Green tea please.", "A pot of {value} please.", "Milk tea"),
        ("We want a hot pot.", None, None),
        ("Some {braces} for two.", None, None),
    ],
)
def test_one_place_of_a_sentence_can_say_something_else(sentence: str, text: str | None, first: str | None) -> None:
    found = variable(sentence, [["Milk tea", "green tea", "Coffee"]])
    assert (found and found[0], found and found[2][0]) == (text, first)


def test_the_real_tasks_can_be_done_with_the_tools() -> None:
    if not (DATA / "vitabench").is_dir():
        pytest.skip(f"no vitabench under {DATA}")
    tasks = load_vitabench(DATA / "vitabench")
    assert len(tasks) == 100 and {task.domain for task in tasks} == {"delivery"}
    done = 0
    for task in tasks:
        calls: list[Observation] = []
        tools = {tool.name: tool for tool in delivery.tools(task.environment)}
        for name, arguments in delivery.reference_calls(task.environment, task.expected):
            calls.append(tools[name].call(arguments, tuple(calls)))
        done += not any(call.result.startswith("error: ") for call in calls)
    assert done >= 95, f"the benchmark's own orders can be made in {done} of 100 tasks"
