"""The delivery service: what its tools find and do, and what they refuse without raising."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from intentfold.domains.delivery import TOOLS, Delivery

SOUP = {"product_id": "p1", "name": "Noodle soup", "price": 12.5, "tags": ["Mild"], "attributes": ["Hot", "Cold"]}
BUN = {"product_id": "p2", "name": "Steamed bun", "price": 3, "tags": [], "attributes": []}
STORE = {"store_id": "s1", "name": "Corner", "score": 5, "tags": ["Dine-in"], "products": [SOUP, BUN]}
OLD = {"order_id": "o1", "status": "delivered"}


@pytest.fixture
def service() -> Delivery:
    place = {"address": "Home", "longitude": 1.0, "latitude": 2.0}
    return Delivery(
        {
            "time": "2025-06-21 11:20:00",
            "user_id": "u1",
            "stores": {"s1": STORE},
            "orders": {"o1": dict(OLD)},
            "location": [place],
        }
    )


def call(service: Delivery, name: str, **arguments: Any) -> Any:
    return json.loads(service.call(name, arguments))


def order(service: Delivery, **changes: Any) -> Any:
    products = json.dumps([{"product_id": "p1", "quantity": 2, "attributes": "Hot"}, {"product_id": "p2", "quantity": 1}])
    given = {"store_id": "s1", "products": products, "address": "Home", "delivery_time": "", "note": "no cutlery"}
    return call(service, "create_order", **{**given, **changes})


def test_searching_finds_names_and_tags(service: Delivery) -> None:
    assert [p["product_id"] for p in call(service, "search_products", keywords="a mild soup")] == ["p1"]
    assert [s["store_id"] for s in call(service, "search_stores", keywords="BUN")] == ["s1"]
    assert call(service, "search_products", keywords="pizza") == []


def test_an_order_is_priced_by_code_paid_and_cancelled(service: Delivery) -> None:
    made = order(service)
    assert made["total_price"] == 28.0 and made["status"] == "unpaid" and made["location"]["longitude"] == 1.0
    assert call(service, "pay_order", order_id=made["order_id"])["status"] == "paid"
    assert call(service, "pay_order", order_id=made["order_id"]) == {"error": "order NEW01 is paid, not unpaid"}
    assert call(service, "cancel_order", order_id=made["order_id"])["status"] == "cancelled"
    assert "order o1 is delivered" in call(service, "cancel_order", order_id="o1")["error"]


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"store_id": "s9"}, "there is no store 's9'"),
        ({"products": "two soups"}, "products must be a JSON list"),
        ({"products": "[]"}, "at least one"),
        ({"products": '[{"product_id": "p9", "quantity": 1}]'}, "store s1 has no product 'p9'"),
        ({"products": '[{"product_id": "p1", "quantity": 0}]'}, "quantity \\(1 to 99\\)"),
        ({"products": '[{"product_id": "p1", "quantity": true}]'}, "quantity \\(1 to 99\\)"),
        ({"address": " "}, "needs an address"),
        ({"delivery_time": "noon"}, "must be YYYY-MM-DD"),
        ({"delivery_time": "2025-06-21 11:00:00"}, "has passed"),
        ({"note": None}, "arguments are texts"),
    ],
)
def test_what_cannot_be_done_is_told_and_changes_nothing(changes: dict[str, Any], error: str, service: Delivery) -> None:
    assert re.search(error, order(service, **changes)["error"])
    assert list(service.orders) == ["o1"]


def test_unknown_tools_and_arguments_are_told(service: Delivery) -> None:
    assert "there is no tool 'drop'" in call(service, "drop")["error"]
    assert "pay_order takes ['order_id'], got ['id']" in call(service, "pay_order", id="o1")["error"]
    assert set(TOOLS) == set(service._tools)


def test_two_runs_of_one_task_share_nothing(service: Delivery) -> None:
    environment = {"time": "1", "user_id": "u", "stores": {}, "orders": {"o": {"status": "paid"}}, "location": []}
    first, second = Delivery(environment), Delivery(environment)
    call(first, "cancel_order", order_id="o")
    assert second.orders["o"]["status"] == "paid" and environment["orders"] == {"o": {"status": "paid"}}
