"""The shop: a catalogue, the variant that was chosen, and what its record evidences (IntentDelta, C.6).

An environment is `{"products": [{"asin", "title", "attributes": {field: [values]}, "variants": [{"options": {field:
value}, "price"}]}]}`; an action is `{"asin", "options"}`. The selected variant counts, never what else is to be had: its
options are evidence and its price is the price. What a record does not mention is unknown; a `… free` is satisfied only
where the record says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from intentfold.domains.verdicts import Verdict, combined, limited
from intentfold.intent import normalise
from intentfold.trajectory import Requirement

PRICE = "price"


def in_scope(requirement: Requirement) -> bool:
    """Whether an action can be held to the requirement: in the shop, always."""
    return True


def fault(environment: Mapping[str, Any], action: Mapping[str, Any]) -> str:
    """Why an action is no valid purchase, empty where it is one: a product of the catalogue in options that it comes in."""
    product = _product(environment, action)
    if product is None:
        return f"no product {action.get('asin')!r} in the catalogue"
    return "" if _variant(product, action) is not None else f"no variant with options {action.get('options')!r}"


def verdict(environment: Mapping[str, Any], action: Mapping[str, Any], requirement: Requirement) -> Verdict:
    """What the records say about the selected variant and one requirement."""
    product = _product(environment, action)
    variant = None if product is None else _variant(product, action)
    if product is None or variant is None or requirement.scope is not None:
        return "unknown"
    parts, operator = requirement.split()
    return combined([_part(product, variant, requirement.field, part) for part in parts], operator)


def _part(product: Mapping[str, Any], variant: Mapping[str, Any], field: str, part: str) -> Verdict:
    if normalise(field) == PRICE:
        return limited(part, variant["price"])
    evidence = [
        *(value for name, values in product["attributes"].items() if normalise(name) == normalise(field) for value in values),
        *(value for name, value in variant["options"].items() if normalise(name) == normalise(field)),
    ]
    if not evidence:
        return "unknown"
    return "satisfied" if normalise(part) in map(normalise, evidence) else "violated"


def choose(environment: Mapping[str, Any], intention: Sequence[Requirement]) -> dict[str, Any]:
    """The scripted actor: most must-haves, then most soft ones at 2:1, then the lowest price, then the catalogue's order.

    A requirement without a priority is taken for a must-have.
    """

    def worth(action: Mapping[str, Any]) -> tuple[float, float, float]:
        met = [r for r in intention if verdict(environment, action, r) == "satisfied"]
        musts = sum(r.priority in ("must", None) for r in met)
        soft = sum({"preferred": 2, "optional": 1}.get(r.priority or "must", 0) for r in met)
        return musts, soft, -price(environment, action)

    return max(_actions(environment), key=worth)


def price(environment: Mapping[str, Any], action: Mapping[str, Any]) -> float:
    """The price of the selected variant; raises `ValueError` where there is none."""
    product = _product(environment, action)
    variant = None if product is None else _variant(product, action)
    if variant is None:
        raise ValueError(f"not a purchase: {fault(environment, action)}")
    return float(variant["price"])


def is_budget(requirement: Requirement) -> bool:
    """Whether the requirement bounds what is spent."""
    return normalise(requirement.field) == PRICE


def _actions(environment: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for product in environment["products"]:
        for variant in product["variants"]:
            yield {"asin": product["asin"], "options": dict(variant["options"])}


def _product(environment: Mapping[str, Any], action: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return next((p for p in environment["products"] if p["asin"] == action.get("asin")), None)


def _variant(product: Mapping[str, Any], action: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return next((v for v in product["variants"] if v["options"] == action.get("options")), None)
