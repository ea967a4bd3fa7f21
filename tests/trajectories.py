"""A small shop and a small trip, written by hand so that every number can be worked on paper."""

from __future__ import annotations

from typing import Any

from intentfold.trajectory import Change, Driver, Requirement, Trajectory, TrajectoryTurn

SHOP: dict[str, Any] = {
    "products": [
        {
            "asin": "A1",
            "title": "Plain mug",
            "attributes": {"product": ["mug"], "material": ["glass"], "diet": ["gluten free", "nut free"]},
            "variants": [
                {"options": {"color": "blue"}, "price": 12.0},
                {"options": {"color": "red"}, "price": 18.0},
            ],
        },
        {
            "asin": "A2",
            "title": "Steel mug",
            "attributes": {"product": ["mug"], "material": ["stainless steel"]},
            "variants": [
                {"options": {"color": "blue"}, "price": 9.0},
                {"options": {"color": "green"}, "price": 30.0},
            ],
        },
    ]
}
TRIP: dict[str, Any] = {
    "party": 3,
    "travellers": ["Ana", "Ben", "Mei"],
    "origin": "Home",
    "cities": [{"name": "North", "nights": 2}, {"name": "South", "nights": 1}],
    "legs": [
        {
            "flights": [
                {"number": "F1", "price": 50, "departs": "08:00"},
                {"number": "F2", "price": 80, "departs": "13:00"},
            ],
            "self-driving": 60,
            "taxi": 200,
        },
        {"flights": [], "self-driving": 30, "taxi": None},
        {"flights": [{"number": "F3", "price": 40, "departs": "18:30"}], "self-driving": None, "taxi": None},
    ],
    "stays": {
        "North": [
            {
                "name": "Loft",
                "price": 100.0,
                "room type": "Entire home/apt",
                "rules": ["No pets"],
                "minimum nights": 2.0,
                "occupancy": 4,
                "rating": 4.0,
            },
            {
                "name": "Bunk",
                "price": 20.0,
                "room type": "Shared room",
                "rules": None,
                "minimum nights": 1.0,
                "occupancy": 2,
                "rating": None,
            },
            {
                "name": "Villa",
                "price": 10.0,
                "room type": "Entire home/apt",
                "rules": [],
                "minimum nights": 3.0,
                "occupancy": 6,
                "rating": 5.0,
            },
        ],
        "South": [
            {
                "name": "Nook",
                "price": 45.0,
                "room type": "Private room",
                "rules": ["No smoking", "No parties"],
                "minimum nights": 1.0,
                "occupancy": 3,
                "rating": 3.0,
            },
        ],
    },
    "restaurants": {
        "North": [
            {"name": "Roma", "cost": 20, "cuisines": ["Italian", "Pizza"]},
            {"name": "Wok", "cost": 10, "cuisines": ["Chinese"]},
        ],
        "South": [{"name": "Paris", "cost": 30, "cuisines": ["French"]}],
    },
    "attractions": {"North": ["Old Mill"], "South": ["Clock Tower"]},
}
PLAN: dict[str, Any] = {
    "legs": ["F1", "self-driving", "F3"],
    "stays": [
        {"city": "North", "name": "Loft", "nights": 2, "rooms": 1},
        {"city": "South", "name": "Nook", "nights": 1, "rooms": 1},
    ],
    "meals": [{"city": "North", "name": "Roma"}, {"city": "South", "name": "Paris"}],
    "attractions": [{"city": "North", "name": "Old Mill"}],
}


def need(field: str, value: str, priority: str | None = "must", scope: str | None = None) -> Requirement:
    return Requirement(field, value, scope, priority)  # type: ignore[arg-type]


def turn(
    utterance: str,
    intention: tuple[Requirement, ...] | None,
    *changes: Change,
    driver: Driver = "preference",
    feasible: bool | None = True,
    reference: dict[str, Any] | None = None,
) -> TrajectoryTurn:
    return TrajectoryTurn(utterance, intention, changes, driver, feasible, reference, "Noted.")


BLUE, GLASS, CHEAP = need("color", "blue"), need("material", "glass", "preferred"), need("price", "under $20")
SOFT_BLUE, RED = need("color", "blue", "optional"), need("color", "red", "optional")
DIET = need("diet", "gluten free and nut free", "optional")


def mug(id: str = "shop-1", split: Any = "test") -> Trajectory:
    """A blue mug; cheap and perhaps glass; blue no longer matters; red instead, glass gone; two diets."""
    a1_blue, a1_red = ({"asin": "A1", "options": {"color": color}} for color in ("blue", "red"))
    turns = (
        turn("A blue mug must it be.", (BLUE,), driver="request", reference={"asin": "A2", "options": {"color": "blue"}}),
        turn(
            "Under $20, preferably glass.",
            (BLUE, CHEAP, GLASS),
            Change("add", "price"),
            Change("add", "material"),
            reference=a1_blue,
        ),
        turn("Blue is optional.", (SOFT_BLUE, CHEAP, GLASS), Change("reprioritise", "color"), reference=a1_blue),
        turn(
            "Red rather, and forget the material.",
            (RED, CHEAP),
            Change("override", "color"),
            Change("remove", "material"),
            reference=a1_red,
        ),
        turn("Gluten free and nut free as an extra.", (RED, CHEAP, DIET), Change("add", "diet"), reference=a1_red),
    )
    return Trajectory(1, id, "shop", f"origin of {id}", "Apache-2.0", split, "test", SHOP, turns)


def journey(id: str = "trip-1") -> Trajectory:
    """An entire home in North, then a meal for Ana."""
    home, meal = need("room type", "Entire home/apt", "must", "North"), need("cuisine", "Chinese", "preferred", "Ana")
    wok = {**PLAN, "meals": [{"city": "North", "name": "Wok"}, {"city": "South", "name": "Paris"}]}
    turns = (
        turn("The room type in North must be Entire home/apt.", (home,), driver="request", reference=PLAN),
        turn("Preferably Chinese as the cuisine for Ana.", (home, meal), Change("add", "cuisine", "Ana"), reference=wok),
    )
    return Trajectory(1, id, "trip", f"origin of {id}", "Apache-2.0", "test", "test", TRIP, turns)
