"""VitaBench's tasks: one loader for every domain, kept apart from what code can grade."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from intentfold.domains.delivery import Delivery
from intentfold.graders import NoGrader, grade
from intentfold.sources.loading import SourceError
from intentfold.sources.vitabench import as_source_task, load_vitabench
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


def test_the_real_tasks_can_be_done_with_the_tools() -> None:
    if not (DATA / "vitabench").is_dir():
        pytest.skip(f"no vitabench under {DATA}")
    tasks = load_vitabench(DATA / "vitabench")
    assert len(tasks) == 100 and {task.domain for task in tasks} == {"delivery"}
    placed = refused = 0
    for task in tasks:
        service = Delivery(task.environment)
        for order in task.expected:
            if order["order_id"] in service.orders:
                continue
            products = [{key: p.get(key, "") for key in ("product_id", "quantity", "attributes")} for p in order["products"]]
            arguments = {
                "store_id": order["store_id"],
                "products": json.dumps(products),
                "delivery_time": "",
                "note": order["note"],
            }
            result = json.loads(service.call("create_order", {**arguments, "address": order["location"]["address"]}))
            placed, refused = placed + ("error" not in result), refused + ("error" in result)
    assert placed >= 0.97 * (placed + refused), f"{refused} of the benchmark's own orders are refused"
