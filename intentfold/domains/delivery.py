"""A delivery service as an environment of tools: stores and products to look through, orders to make, pay and cancel.

Tools take plain text and give JSON; what cannot be done is told in the result (`error: …`), never raised: an agent's call is
an observation, right or wrong. Prices are computed here. The state is the environment's own orders by id.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from intentfold.dialogue import Observation
from intentfold.tool import ERROR, Tool

# Name, arguments, what it does.
TOOLS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("search_stores", ("keywords",), "stores by words of their names, tags and products"),
    ("search_products", ("keywords",), "products by words of their names and tags"),
    ("show_store", ("store_id",), "a store with all that it sells"),
    (
        "create_order",
        ("store_id", "products", "address", "delivery_time", "note"),
        "orders of one store; products is a text that holds a JSON list of {product_id, quantity, attributes}; delivery_time is "
        "YYYY-MM-DD HH:MM:SS, or empty for as soon as possible; note may be empty",
    ),
    ("pay_order", ("order_id",), "pays an order that is not paid yet"),
    ("cancel_order", ("order_id",), "cancels an order that is not delivered yet"),
    ("list_orders", (), "the user's orders"),
    ("show_user", (), "the user's addresses and habits, and the time"),
    ("show_weather", (), "the weather"),
)
BRIEF = "You serve the user of a delivery service. Orders that you make are to be paid too, unless the user says otherwise."
FOUND = 20
# The tools that change anything: the state is what these calls have made of it.
_ACTS = ("create_order", "pay_order", "cancel_order")


class Refused(ValueError):
    """Why a call does nothing; told to the agent."""


def tools(environment: Mapping[str, Any]) -> tuple[Tool, ...]:
    """The service's tools over one task's environment, which stays as it is: the orders made are in the calls before."""

    def run(name: str, arguments: Mapping[str, str], before: Sequence[Observation]) -> str:
        return after(environment, before).call(name, arguments)

    return tuple(Tool(name, does, arguments, partial(run, name)) for name, arguments, does in TOOLS)


def outcome(environment: Mapping[str, Any], calls: Sequence[Observation]) -> list[dict[str, Any]]:
    """All orders after the calls."""
    return list(after(environment, calls).orders.values())


def after(environment: Mapping[str, Any], calls: Iterable[Observation]) -> Delivery:
    """The service as the calls have left it."""
    service = Delivery(environment)
    for call in calls:
        if call.name in _ACTS and not call.result.startswith(ERROR):
            service.call(call.name, call.arguments)
    return service


def reference_calls(environment: Mapping[str, Any], wanted: Iterable[Mapping[str, Any]]) -> list[tuple[str, dict[str, str]]]:
    """The calls that lead to the benchmark's own orders: those at hand are paid or cancelled, the others made and paid.

    A time of delivery that has passed is left to the service.
    """
    at_hand = environment["orders"]
    calls: list[tuple[str, dict[str, str]]] = []
    made = 0
    for order in wanted:
        id, status = order["order_id"], order["status"]
        if id not in at_hand:
            keys = ("product_id", "quantity", "attributes")
            products = [{"quantity": 1} | {key: line[key] for key in keys if key in line} for line in order["products"]]
            time = order.get("delivery_time") or ""
            arguments = {"store_id": order["store_id"], "products": json.dumps(products, ensure_ascii=False)}
            arguments |= {"address": order["location"]["address"], "note": order.get("note") or ""}
            calls.append(("create_order", {**arguments, "delivery_time": time if time > environment["time"] else ""}))
            made += 1
            id = _new_id(made)
        before = at_hand[id]["status"] if id in at_hand else "unpaid"
        if status == "cancelled" and before != "cancelled":
            calls.append(("cancel_order", {"order_id": id}))
        elif status != "unpaid" and before == "unpaid":
            calls.append(("pay_order", {"order_id": id}))
    return calls


class Delivery:
    """One task's service, from its state at the beginning."""

    def __init__(self, environment: Mapping[str, Any]) -> None:
        self.time: str = environment["time"]
        self.user: str = environment["user_id"]
        self.stores: Mapping[str, Any] = environment["stores"]
        self.orders: dict[str, dict[str, Any]] = copy.deepcopy(dict(environment["orders"]))
        self.places = {place["address"]: place for place in environment["location"]}
        self.weather, self.habits = environment.get("weather", []), environment.get("user_historical_behaviors", {})
        self._made = 0
        self._tools: Mapping[str, Callable[..., Any]] = {
            "search_stores": self._search_stores,
            "search_products": self._search_products,
            "show_store": self._show_store,
            "create_order": self._create,
            "pay_order": lambda order_id: self._move(order_id, ("unpaid",), "paid"),
            "cancel_order": lambda order_id: self._move(order_id, ("unpaid", "paid", "processed"), "cancelled"),
            "list_orders": lambda: list(self.orders.values()),
            "show_user": lambda: {"user_id": self.user, "time": self.time, "addresses": list(self.places), "habits": self.habits},
            "show_weather": lambda: self.weather,
        }

    def call(self, name: str, arguments: Mapping[str, str]) -> str:
        """The result as JSON text, `error: …` where it does nothing; the arguments are those that the tool takes."""
        try:
            return json.dumps(self._tools[name](**arguments), ensure_ascii=False)
        except Refused as refused:
            return f"{ERROR}{refused}"

    def _search_stores(self, keywords: str) -> list[dict[str, Any]]:
        found = [(_hits(keywords, s["name"], *s["tags"], *(p["name"] for p in s["products"])), s) for s in self.stores.values()]
        kept = sorted((pair for pair in found if pair[0]), key=lambda pair: (-pair[0], pair[1]["store_id"]))
        return [{key: store[key] for key in ("store_id", "name", "score", "tags")} for _, store in kept[:FOUND]]

    def _search_products(self, keywords: str) -> list[dict[str, Any]]:
        products = [product for store in self.stores.values() for product in store["products"]]
        found = [(_hits(keywords, product["name"], *product["tags"]), product) for product in products]
        kept = sorted((pair for pair in found if pair[0]), key=lambda pair: (-pair[0], pair[1]["product_id"]))
        return [product for _, product in kept[:FOUND]]

    def _show_store(self, store_id: str) -> Any:
        if store_id not in self.stores:
            raise Refused(f"there is no store {store_id!r}")
        return self.stores[store_id]

    def _create(self, store_id: str, products: str, address: str, delivery_time: str, note: str) -> dict[str, Any]:
        known = {product["product_id"]: product for product in self._show_store(store_id)["products"]}
        if not address.strip():
            raise Refused("an order needs an address")
        if delivery_time and not _is_time(delivery_time):
            raise Refused(f"delivery_time must be YYYY-MM-DD HH:MM:SS or empty, got {delivery_time!r}")
        if delivery_time and delivery_time < self.time:
            raise Refused(f"delivery_time {delivery_time} has passed, it is {self.time}")
        lines = [_line(known, store_id, item) for item in _listed(products)]
        self._made += 1
        order = {
            "order_id": _new_id(self._made),
            "order_type": "delivery",
            "user_id": self.user,
            "store_id": store_id,
            "note": note,
            "location": self.places.get(address, {"address": address}),
            "delivery_time": delivery_time,
            "total_price": round(sum(line["price"] * line["quantity"] for line in lines), 2),
            "create_time": self.time,
            "status": "unpaid",
            "products": lines,
        }
        self.orders[str(order["order_id"])] = order
        return order

    def _move(self, order_id: str, before: tuple[str, ...], to: str) -> dict[str, Any]:
        if order_id not in self.orders:
            raise Refused(f"there is no order {order_id!r}, only {sorted(self.orders)}")
        order = self.orders[order_id]
        if order["status"] not in before:
            raise Refused(f"order {order_id} is {order['status']}, not {' or '.join(before)}")
        order["status"] = to
        return order


def _new_id(number: int) -> str:
    return f"NEW{number:02}"


def _is_time(text: str) -> bool:
    try:
        return bool(re.fullmatch(r"[0-9-]{10} [0-9:]{8}", text)) and bool(datetime.fromisoformat(text))
    except ValueError:
        return False


def _listed(products: str) -> list[Any]:
    try:
        found = json.loads(products)
        json.dumps(found, ensure_ascii=False).encode("utf-8")  # an escaped lone surrogate is no text
    except (ValueError, RecursionError):
        raise Refused("products must be a JSON list") from None
    if not isinstance(found, list) or not found:
        raise Refused("products must be a JSON list of at least one")
    return found


def _line(known: Mapping[str, Any], store_id: str, item: Any) -> dict[str, Any]:
    match item:
        case {"product_id": str(id), "quantity": int(quantity), **rest} if not isinstance(quantity, bool) and 0 < quantity <= 99:
            if id not in known:
                raise Refused(f"store {store_id} has no product {id!r}")
            # The benchmark's own orders word what they choose freely: whether it is right is for the judge.
            wanted = str(rest.get("attributes", ""))
            return {"product_id": id, "price": known[id]["price"], "quantity": quantity, "attributes": wanted}
    raise Refused(f"a product must look like {{product_id, quantity (1 to 99), attributes}}, got {str(item)[:80]!r}")


def _hits(keywords: str, *texts: str) -> int:
    words = set(re.findall(r"\w+", keywords.casefold()))
    return len(words & set(re.findall(r"\w+", " ".join(texts).casefold())))
