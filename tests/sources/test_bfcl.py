from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from intentfold.construct.stale import as_items
from intentfold.graders import grade
from intentfold.runtime.executor import execute
from intentfold.sources.bfcl import CATEGORIES, load_bfcl
from intentfold.sources.loading import LoadReport, SourceError
from intentfold.sources.values import near_numbers, said
from intentfold.task import SourceTask
from tests.sources.verdicts import assert_own_goals_answer, decoys, sample, share_that_costs_credit, variants, verdict

TILES = {
    "name": "shop.count_tiles",
    "description": "Calculates how many tiles cover a floor. Rounds up.",
    "parameters": {
        "type": "dict",
        "properties": {
            "room_width": {"type": "integer", "description": "Width of the room, in cm."},
            "w": {"type": "integer", "description": "The tile width."},
            "spare": {"type": "boolean", "description": "Whether to add a spare one. Default is false."},
            "pattern": {"type": "string", "description": "Laying pattern.", "enum": ["brick", "grid", "fan"]},
            "price": {"type": "float", "description": "Price of a tile."},
        },
        "required": ["room_width", "w"],
    },
}


def write(folder: Path, category: str, functions: list[Any], possible: list[Any]) -> None:
    """One record in the category, none in the others."""
    for name in CATEGORIES:
        question = {"id": f"{name}_0", "question": [[{"role": "user", "content": "?"}]], "function": functions}
        answer = {"id": f"{name}_0", "ground_truth": possible}
        mine = name == category
        (folder / f"BFCL_v4_{name}.json").write_text(json.dumps(question) if mine else "")
        (folder / f"possible_answer_BFCL_v4_{name}.json").write_text(json.dumps(answer) if mine else "")


def one(folder: Path, category: str, functions: list[Any], possible: list[Any]) -> SourceTask:
    write(folder, category, functions, possible)
    (task,) = load_bfcl(folder).tasks
    return task


def test_an_argument_that_must_be_given_is_a_goal_and_the_others_are_decoys(tmp_path: Path) -> None:
    possible = [{"shop.count_tiles": {"room_width": [250], "w": [30], "pattern": ["", "grid"]}}]
    task = one(tmp_path, "simple_python", [TILES], possible)
    assert [goal.text for goal in task.goals] == ["room width: 250", "tile width: 30"]
    parameters = task.payload["parameters"]
    assert parameters["spare"]["values"] == ["yes"], "the default is no decoy"
    assert parameters["pattern"]["values"] == ["brick", "fan"], "what the gold accepts is no decoy"
    assert parameters["tile width"]["spoken"] == ["w"]
    assert "25" not in task.request and "tiles cover a floor" in task.request
    assert verdict(task, task.goals).full


def test_every_decoy_costs_the_credit_and_extra_calls_are_made(tmp_path: Path) -> None:
    functions = [TILES, {**TILES, "name": "other"}]
    task = one(tmp_path, "multiple", functions, [{"shop.count_tiles": {"room_width": [250], "w": [30]}}])
    assert len(decoys(task)) >= 6
    for decoy in decoys(task):
        assert not verdict(task, (*task.goals, decoy)).full, decoy.text
    extra = next(decoy for decoy in decoys(task) if decoy.slot == "additional room width")
    calls = json.loads(execute(task, as_items((*task.goals, extra))).answer)
    assert [call["arguments"] for call in calls] == [{"room_width": 250, "w": 30}, {"room_width": int(extra.value or 0), "w": 30}]


def test_parallel_calls_share_a_slot_only_where_they_agree(tmp_path: Path) -> None:
    possible = [{"shop.count_tiles": {"room_width": [width], "w": [30], "spare": [True]}} for width in (250, 300)]
    task = one(tmp_path, "parallel", [TILES], possible)
    assert [goal.text for goal in task.goals] == [
        "first room width: 250",
        "tile width: 30",
        "spare: yes",
        "second room width: 300",
    ]
    assert verdict(task, task.goals).full


def test_a_required_argument_is_stated_even_where_the_gold_lets_it_go(tmp_path: Path) -> None:
    task = one(tmp_path, "simple_python", [TILES], [{"shop.count_tiles": {"room_width": ["", 250], "w": [30]}}])
    assert "room width: 250" in [goal.text for goal in task.goals]
    assert verdict(task, task.goals).full


def test_lists_dicts_and_small_floats_survive_being_said(tmp_path: Path) -> None:
    properties = {
        "sides": {"type": "array", "items": {"type": "integer"}, "description": "All sides."},
        "box": {"type": "dict", "properties": {"top": {"type": "integer"}}, "description": "The box."},
        "charge": {"type": "float", "description": "The charge."},
    }
    function = {"name": "f", "description": "Does it.", "parameters": {"type": "dict", "properties": properties, "required": []}}
    possible = [{"f": {"sides": [[3, 4]], "box": [{"top": [1, 2]}], "charge": [1e-9]}}]
    task = one(tmp_path, "simple_python", [function], possible)
    assert [goal.value for goal in task.goals] == ["[3, 4]", '{"top": 1}', "0.000000001"]
    assert verdict(task, task.goals).full


def test_a_task_without_an_argument_to_state_is_counted(tmp_path: Path) -> None:
    write(tmp_path, "simple_python", [TILES], [{"shop.count_tiles": {"pattern": ["", "grid"]}}])
    report = load_bfcl(tmp_path)
    assert (report.tasks, dict(report.skipped)) == ((), {"no argument that must be given": 1})


@pytest.mark.parametrize("possible", [[], [{"now": {}}]])
def test_a_call_without_arguments_is_counted(tmp_path: Path, possible: list[Any]) -> None:
    write(tmp_path, "parallel", [{"name": "now", "description": "Tells the time.", "parameters": {"properties": {}}}], possible)
    assert dict(load_bfcl(tmp_path).skipped) == {"a call without arguments": 1}


@pytest.mark.parametrize(
    ("possible", "message"),
    [
        ([{"gone": {}}], r"possible_answer_BFCL_v4_multiple\.json:1: field ground_truth: 'gone' is none of the functions"),
        ([{"shop.count_tiles": {"depth": [1]}}], r":1: field ground_truth: shop\.count_tiles has no argument 'depth'"),
        ([{"shop.count_tiles": {"w": 30}}], r":1: field ground_truth: shop\.count_tiles\.w must list values, got 30"),
        ([{"shop.count_tiles": []}], r":1: field ground_truth: shop\.count_tiles must map arguments to values"),
        ([{}], r":1: field ground_truth: expected one function per entry"),
    ],
)
def test_a_malformed_gold_names_file_line_and_field(tmp_path: Path, possible: list[Any], message: str) -> None:
    write(tmp_path, "multiple", [TILES], possible)
    with pytest.raises(SourceError, match=message):
        load_bfcl(tmp_path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"BFCL_v4_parallel\.json:1: not JSON"),
        ("[]", r"BFCL_v4_parallel\.json:1: expected an object"),
        ('{"id": "p", "question": []}', r"BFCL_v4_parallel\.json:1: field function is missing"),
        ('{"id": 3, "question": [], "function": []}', r":1: field id must be str, got '3'"),
        ('{"id": "p", "question": [], "function": [{"name": "f"}]}', r":1: field id: 'p' has no possible answer"),
    ],
)
def test_a_malformed_line_names_file_line_and_field(tmp_path: Path, line: str, message: str) -> None:
    write(tmp_path, "multiple", [TILES], [{"shop.count_tiles": {"w": [30]}}])
    (tmp_path / "BFCL_v4_parallel.json").write_text(line)
    with pytest.raises(SourceError, match=message):
        load_bfcl(tmp_path)


def test_a_malformed_function_names_the_argument(tmp_path: Path) -> None:
    function = {**TILES, "parameters": {"properties": {"w": {"description": "no type"}}}}
    write(tmp_path, "multiple", [function], [{"shop.count_tiles": {"w": [30]}}])
    with pytest.raises(SourceError, match=r":1: function 0: argument w: field type is missing"):
        load_bfcl(tmp_path)


def test_a_missing_file_says_what_was_expected(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"BFCL_v4_simple_python\.json: no such file; expected the possible answers of BFCL v4"):
        load_bfcl(tmp_path)


@pytest.mark.parametrize(
    ("value", "text"), [(True, "yes"), (6.0, "6"), (8.99e9, "8990000000"), (1.6e-19, "1.6e-19"), ([1], "[1]")]
)
def test_said(value: Any, text: str) -> None:
    assert said(value) == text


@pytest.mark.parametrize("value", [0, 7, -12, 150, 0.05, 12.5, -0.3])
def test_near_numbers_keep_sign_and_decimals(value: float) -> None:
    near = near_numbers(value)
    assert len(near) >= 3 and value not in near
    assert all(type(n) is type(value) and (n > 0) == (value >= 0) for n in near)
    assert all(len(said(n).partition(".")[2]) <= len(said(value).partition(".")[2]) for n in near)


def test_real_tasks(real: Callable[[str], LoadReport]) -> None:
    tasks = real("bfcl").tasks
    assert len(tasks) >= 0.95 * 800
    assert {task.payload["category"] for task in tasks} == set(CATEGORIES)
    assert_own_goals_answer(tasks)
    enough = [task for task in tasks if len(decoys(task)) >= 3 and len(variants(task)) >= 3]
    assert len(enough) >= 0.95 * len(tasks)
    for task in sample(tasks):
        assert share_that_costs_credit(task, variants(task)) == 1.0
        assert share_that_costs_credit(task, [(*task.goals, decoy) for decoy in decoys(task)]) == 1.0


def test_real_requests_state_no_value(real: Callable[[str], LoadReport]) -> None:
    for task in real("bfcl").tasks:
        for goal in task.goals:
            assert len(goal.value or "") < 4 or f" {goal.value} " not in task.request, task.id


def test_an_answer_of_another_call_gets_no_credit(tmp_path: Path) -> None:
    task = one(tmp_path, "simple_python", [TILES], [{"shop.count_tiles": {"room_width": [250], "w": [30]}}])
    assert not grade(task, execute(task, as_items(task.goals[:1])).answer).full
