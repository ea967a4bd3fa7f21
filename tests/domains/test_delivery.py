"""The delivery service: what its tools find and do, and what they refuse without raising."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from intentfold.dialogue import Observation
from intentfold.domains import delivery

SOUP = {"product_id": "p1", "name": "Noodle soup", "price": 12.5, "tags": ["Mild"], "attributes": ["Hot", "Cold"]}
BUN = {"product_id": "p2", "name": "Steamed bun", "price": 3, "tags": [], "attributes": []}
STORE = {"store_id": "s1", "name": "Corner", "score": 5, "tags": ["Dine-in"], "products": [SOUP, BUN]}
OLD = {"order_id": "o1", "status": "delivered"}


ENVIRONMENT: dict[str, Any] = {
    "time": "2025-06-21 11:20:00",
    "user_id": "u1",
    "stores": {"s1": STORE},
    "orders": {"o1": OLD},
    "location": [{"address": "Home", "longitude": 1.0, "latitude": 2.0}],
}


class Service:
    """Calls one after the other, as an agent makes them."""

    def __init__(self, environment: dict[str, Any] = ENVIRONMENT) -> None:
        self.environment = environment
        self.tools = {tool.name: tool for tool in delivery.tools(environment)}
        self.calls: list[Observation] = []

    @property
    def orders(self) -> dict[str, Any]:
        return {order["order_id"]: order for order in delivery.outcome(self.environment, self.calls)}


@pytest.fixture
def service() -> Service:
    return Service()


def call(service: Service, name: str, **arguments: Any) -> Any:
    service.calls.append(service.tools[name].call(arguments, tuple(service.calls)))
    result = service.calls[-1].result
    return result if result.startswith("error: ") else json.loads(result)


def order(service: Service, **changes: Any) -> Any:
    products = json.dumps([{"product_id": "p1", "quantity": 2, "attributes": "Hot"}, {"product_id": "p2", "quantity": 1}])
    given = {"store_id": "s1", "products": products, "address": "Home", "delivery_time": "", "note": "no cutlery"}
    return call(service, "create_order", **{**given, **changes})


def test_searching_finds_names_and_tags(service: Service) -> None:
    assert [p["product_id"] for p in call(service, "search_products", keywords="a mild soup")] == ["p1"]
    assert [s["store_id"] for s in call(service, "search_stores", keywords="BUN")] == ["s1"]
    assert call(service, "search_products", keywords="pizza") == []


def test_an_order_is_priced_by_code_paid_and_cancelled(service: Service) -> None:
    made = order(service)
    assert made["total_price"] == 28.0 and made["status"] == "unpaid" and made["location"]["longitude"] == 1.0
    assert call(service, "pay_order", order_id=made["order_id"])["status"] == "paid"
    assert call(service, "pay_order", order_id=made["order_id"]) == "error: order NEW01 is paid, not unpaid"
    assert call(service, "cancel_order", order_id=made["order_id"])["status"] == "cancelled"
    assert "order o1 is delivered" in call(service, "cancel_order", order_id="o1")


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
        ({"delivery_time": "2025-13-41 25:61:61"}, "must be YYYY-MM-DD"),
        ({"delivery_time": "２０２６-01-01 00:00:00"}, "must be YYYY-MM-DD"),
        # JSON within JSON: what spells half of a character could be written into no journal and no request.
        ({"products": '[{"product_id": "p1", "quantity": 1, "attributes": "\\ud800"}]'}, "products must be a JSON list"),
    ],
)
def test_what_cannot_be_done_is_told_and_changes_nothing(changes: dict[str, Any], error: str, service: Service) -> None:
    assert re.search(error, order(service, **changes))
    assert list(service.orders) == ["o1"]


def test_arguments_that_do_not_fit_are_told(service: Service) -> None:
    assert call(service, "pay_order", id="o1") == "error: missing ['order_id'], unknown ['id']"
    assert set(service.tools) == set(delivery.Delivery(ENVIRONMENT)._tools)


def test_the_state_is_what_the_calls_before_have_made(service: Service) -> None:
    order(service)
    order(service, store_id="s9")
    order(service)
    call(service, "pay_order", order_id="NEW02")
    assert {id: one["status"] for id, one in service.orders.items()} == {"o1": "delivered", "NEW01": "unpaid", "NEW02": "paid"}
    assert [one["order_id"] for one in call(service, "list_orders")] == ["o1", "NEW01", "NEW02"]
    assert list(Service().orders) == ["o1"] and ENVIRONMENT["orders"] == {"o1": {"order_id": "o1", "status": "delivered"}}


def test_the_benchmarks_own_orders_become_calls() -> None:
    environment = {**ENVIRONMENT, "orders": {"o1": {**OLD, "status": "paid"}, "o2": {"order_id": "o2", "status": "unpaid"}}}
    product = {"product_id": "p1", "quantity": 2, "attributes": "Hot", "price": 12.5}
    new = {"order_id": "T1", "store_id": "s1", "note": "", "location": {"address": "Home"}, "products": [product]}
    wanted = [
        {"order_id": "o1", "status": "cancelled"},
        {"order_id": "o2", "status": "paid"},
        {**new, "status": "processed", "delivery_time": "2025-06-21 10:00:00"},
        {**new, "order_id": "T2", "status": "unpaid", "delivery_time": "2025-06-21 12:00:00"},
    ]
    service = Service(environment)
    for name, arguments in delivery.reference_calls(environment, wanted):
        call(service, name, **arguments)
    left = [(one["status"], one.get("delivery_time")) for one in service.orders.values()]
    assert left == [("cancelled", None), ("paid", None), ("paid", ""), ("unpaid", "2025-06-21 12:00:00")]
