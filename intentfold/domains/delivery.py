"""A delivery service as a tool environment: stores and products to look through, orders to make, pay and cancel.

Every tool takes and gives plain text and JSON, and what cannot be done is told in its result, never raised: an agent's call
is an observation, right or wrong. Prices are computed here. The state is the environment's own orders by id.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

TOOLS: Mapping[str, Mapping[str, str]] = {
    "search_stores": {"keywords": "words to look for in names and tags"},
    "search_products": {"keywords": "words to look for in names and tags"},
    "show_store": {"store_id": "a store"},
    "create_order": {
        "store_id": "a store",
        "products": "JSON list of {product_id, quantity, attributes}",
        "address": "where to deliver to",
        "delivery_time": "when to deliver, YYYY-MM-DD HH:MM:SS, empty for as soon as possible",
        "note": "a note to the store, may be empty",
    },
    "pay_order": {"order_id": "an order that is not paid yet"},
    "cancel_order": {"order_id": "an order that is not delivered yet"},
    "list_orders": {},
    "show_user": {},
    "show_weather": {},
}
FOUND = 20


class Refused(ValueError):
    """Why a call does nothing; told to the agent."""


class Delivery:
    """One task's environment, from its state at the beginning; `call` is all that an agent can do to it."""

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

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """The result of a tool call as JSON text; `{"error": …}` where it does nothing."""
        try:
            if name not in TOOLS:
                raise Refused(f"there is no tool {name!r}, only {sorted(TOOLS)}")
            if set(arguments) != set(TOOLS[name]):
                raise Refused(f"{name} takes {sorted(TOOLS[name])}, got {sorted(arguments)}")
            if wrong := [key for key, value in arguments.items() if not isinstance(value, str)]:
                raise Refused(f"{name}: arguments are texts, got others for {wrong}")
            return json.dumps(self._tools[name](**arguments), ensure_ascii=False)
        except Refused as refused:
            return json.dumps({"error": str(refused)}, ensure_ascii=False)

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
        if delivery_time and not re.fullmatch(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}", delivery_time):
            raise Refused(f"delivery_time must be YYYY-MM-DD HH:MM:SS or empty, got {delivery_time!r}")
        if delivery_time and delivery_time < self.time:
            raise Refused(f"delivery_time {delivery_time} has passed, it is {self.time}")
        lines = [_line(known, store_id, item) for item in _listed(products)]
        self._made += 1
        order = {
            "order_id": f"NEW{self._made:02}",
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

    def _move(self, order_id: str, before: tuple[str, ...], after: str) -> dict[str, Any]:
        if order_id not in self.orders:
            raise Refused(f"there is no order {order_id!r}, only {sorted(self.orders)}")
        order = self.orders[order_id]
        if order["status"] not in before:
            raise Refused(f"order {order_id} is {order['status']}, not {' or '.join(before)}")
        order["status"] = after
        return order


def _listed(products: str) -> list[Any]:
    try:
        found = json.loads(products)
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
