"""The shop's rules on two mugs, by tables worked by hand."""

from __future__ import annotations

import pytest

from intentfold.domains import shop
from tests.trajectories import SHOP, need

S, V, U = "satisfied", "violated", "unknown"
A1_BLUE, A1_RED = ({"asin": "A1", "options": {"color": color}} for color in ("blue", "red"))
A2_BLUE, A2_GREEN = ({"asin": "A2", "options": {"color": color}} for color in ("blue", "green"))
VERDICTS = [
    (A1_BLUE, need("color", "blue"), S),
    (A1_RED, need("color", "blue"), V),  # blue is to be had, but was not selected
    (A1_BLUE, need("color", "BLUE."), S),
    (A1_BLUE, need("color", "red or blue"), S),
    (A1_BLUE, need("color", "red or green"), V),
    (A1_BLUE, need("price", "under $12"), V),  # the selected variant's price, with the exact comparator
    (A1_BLUE, need("price", "up to $12"), S),
    (A1_RED, need("price", "under $18.50"), S),
    (A2_GREEN, need("price", "under $20"), V),
    (A1_BLUE, need("diet", "gluten free"), S),
    (A1_BLUE, need("diet", "gluten free and nut free"), S),
    (A1_BLUE, need("diet", "gluten free and soy free"), V),
    (A2_BLUE, need("diet", "nut free"), U),  # absence must be evidenced
    (A2_BLUE, need("material", "glass"), V),
    (A2_BLUE, need("finish", "matt"), U),
    (A2_BLUE, need("material", "stainless steel", scope="Ana"), U),
    ({"asin": "A9", "options": {}}, need("color", "blue"), U),
    ({"asin": "A1", "options": {"color": "green"}}, need("material", "glass"), U),  # no such variant
]


@pytest.mark.parametrize(("action", "requirement", "expected"), VERDICTS)
def test_verdicts(action, requirement, expected) -> None:
    assert shop.verdict(SHOP, action, requirement) == expected


@pytest.mark.parametrize(
    ("action", "wrong"),
    [
        (A1_BLUE, ""),
        ({"asin": "A9", "options": {}}, "no product 'A9'"),
        ({"asin": "A1", "options": {}}, "no variant"),
        ({"asin": "A1", "options": {"color": "green"}}, "no variant"),
    ],
)
def test_a_purchase_needs_a_product_and_a_variant_of_the_catalogue(action, wrong) -> None:
    assert shop.fault(SHOP, action).startswith(wrong)
    assert bool(shop.fault(SHOP, action)) == bool(wrong)


CHOICES = [
    ((), A2_BLUE),  # the cheapest
    ((need("material", "glass"),), A1_BLUE),
    ((need("color", "red"), need("price", "under $15")), A2_BLUE),  # one of two must-haves: the cheapest that meets one
    ((need("color", "green"), need("material", "glass", "preferred")), A2_GREEN),  # a must-have before any wish
    ((need("color", "green", "optional"), need("material", "glass", "preferred")), A1_BLUE),  # 2 against 1
    ((need("color", "red", None),), A1_RED),  # without a priority: a must-have
]


@pytest.mark.parametrize(("intention", "expected"), CHOICES)
def test_the_actor(intention, expected) -> None:
    assert shop.choose(SHOP, intention) == expected
