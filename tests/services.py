"""Small tasks of a delivery service in VitaBench's format, and the drifting episodes that they become."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from intentfold.construct.episode import build_episode
from intentfold.sources.vitabench import load_interactive
from intentfold.trace import Episode, Load

PRODUCTS = [
    {"product_id": "p1", "name": "Mild soup", "price": 12, "tags": ["Warm"], "attributes": []},
    {"product_id": "p2", "name": "Beef noodles", "price": 20, "tags": [], "attributes": []},
]
STORE = {"store_id": "s1", "name": "Corner", "score": 5, "tags": [], "products": PRODUCTS}
RUBRICS = ["The soup comes before 18:00", "It goes to the office"]


def record(id: str, **more: Any) -> dict[str, Any]:
    """A soup to the office by six, in one order and one sentence: dialogues of a few turns."""
    order = {
        "order_id": f"{id}T1",
        "store_id": "s1",
        "note": "",
        "location": {"address": "Office"},
        "status": "paid",
        "products": [{"product_id": "p1", "quantity": 1, "attributes": ""}],
    }
    return {
        "id": id,
        "domain": "delivery",
        "instructions": "You want a mild soup at your office by 6 PM.",
        "environment": {
            "time": "2025-01-01 17:00:00",
            "user_id": "u",
            "stores": {"s1": STORE},
            "orders": {},
            "location": [{"address": "Office"}],
        },
        "user_scenario": {"user_profile": {}},
        "evaluation_criteria": {
            "overall_rubrics": RUBRICS,
            "expected_states": [{"required_orders": [order], "state_rubrics": RUBRICS}],
        },
        **more,
    }


def written(folder: Path, *records: dict[str, Any]) -> Path:
    """A data folder that holds these tasks as `vitabench`."""
    (folder / "vitabench").mkdir(parents=True, exist_ok=True)
    (folder / "vitabench" / "tasks.json").write_text(json.dumps(records))
    return folder


def episodes(folder: Path, count: int = 2, load: Load = 1) -> list[Episode]:
    """So many episodes, each of a task of its own."""
    tasks = load_interactive(written(folder, *(record(str(n)) for n in range(count))) / "vitabench").unverified
    return [build_episode(task, load, "test", "test", 3) for task in tasks]
