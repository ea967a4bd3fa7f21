"""VitaBench's tasks: what is read, and what bad files are told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from intentfold.sources.loading import SourceError
from intentfold.sources.vitabench import load_tasks
from tests.sources.conftest import DATA


def record(**other: Any) -> dict[str, Any]:
    states = [{"required_orders": [], "state_rubrics": ["Ordered soup", "Ordered tea"]}, {"state_rubrics": ["Ordered soup"]}]
    return {
        "id": "7",
        "domain": "delivery",
        "message_history": [],
        "environment": {"time": "2030-01-02 10:00:00", "stores": {}},
        "user_scenario": {"user_profile": {"occupation": "pilot", "age": 40}},
        "instructions": "You want soup.",
        "evaluation_criteria": {"expected_states": states, "overall_rubrics": ["Ordered tea", "Was polite"]},
    } | other


def written(folder: Path, records: Any) -> Path:
    path = folder / "tasks.json"
    path.write_text(json.dumps(records), encoding="utf-8")
    return path


def test_a_task_is_read_and_its_rubrics_count_once(tmp_path: Path) -> None:
    [task] = load_tasks(written(tmp_path, [record()]))
    assert (task.id, task.domain, task.request) == ("7", "delivery", "You want soup.")
    assert task.rubrics == ("Ordered soup", "Ordered tea", "Was polite")
    assert task.profile == {"occupation": "pilot", "age": "40"}
    assert task.environment["time"] == "2030-01-02 10:00:00"
    [intent] = task.intents()
    assert [part.text for part in intent.parts] == list(task.rubrics)


BAD = [
    ({}, "expected a list of tasks"),
    (["x"], "task 0: expected an object"),
    ([record(id=7)], "task 0: field id must be str"),
    ([record(), record()], "task 1: the id 7 stands there already"),
    ([record(user_scenario={})], "user_scenario: field user_profile is missing"),
    ([record(evaluation_criteria={"expected_states": []})], "evaluation_criteria: field overall_rubrics is missing"),
    ([record(evaluation_criteria={"expected_states": [], "overall_rubrics": []})], "no rubrics"),
    ([record(evaluation_criteria={"expected_states": [], "overall_rubrics": [1]})], "a rubric must be a text, got '1'"),
    ([record(evaluation_criteria={"expected_states": [{}], "overall_rubrics": []})], "field state_rubrics is missing"),
]


@pytest.mark.parametrize(("records", "said"), BAD)
def test_bad_files_are_told_where(tmp_path: Path, records: Any, said: str) -> None:
    with pytest.raises(SourceError, match=said):
        load_tasks(written(tmp_path, records))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="expected VitaBench's tasks"):
        load_tasks(tmp_path / "none.json")


def test_the_delivery_tasks() -> None:
    path = DATA / "vitabench" / "delivery_tasks_en.json"
    if not path.is_file():
        pytest.skip(f"no {path}")
    tasks = load_tasks(path)
    assert len(tasks) == 100
    raw = json.loads(path.read_text(encoding="utf-8"))
    for task, found in zip(tasks, raw, strict=True):
        assert task.request == found["instructions"]
        assert set(found["evaluation_criteria"]["overall_rubrics"]) <= set(task.rubrics)
        assert task.profile
    assert {task.domain for task in tasks} == {"delivery"}
