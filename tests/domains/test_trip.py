"""The trip's rules on two cities, by tables worked by hand, and the actor against every plan there is."""

from __future__ import annotations

import random
from itertools import chain, combinations, product
from math import ceil

import pytest

from intentfold.domains import trip
from tests.trajectories import PLAN, TRIP, need

S, V, U = "satisfied", "violated", "unknown"


def plan(**changes):
    return {**PLAN, **changes}


BUNK = {"city": "North", "name": "Bunk", "nights": 2, "rooms": 2}
NOOK = PLAN["stays"][1]
VERDICTS = [
    # flights 3·50, a car 30, flights 3·40, loft 2·100, nook 45, meals 3·20 and 3·30: 695
    (PLAN, need("budget", "at most $695"), S),
    (PLAN, need("budget", "under $695"), V),
    (plan(legs=["taxi", "self-driving", "F3"]), need("budget", "at most $745"), S),  # one taxi seats four
    (plan(stays=[BUNK, NOOK]), need("budget", "at most $575"), S),  # two rooms, two nights, 20 each
    (plan(meals=[{"city": "North", "name": "Nowhere"}]), need("budget", "at most $9999"), U),  # unpriced is not free
    (PLAN, need("room type", "entire home/apt", scope="North"), S),
    (PLAN, need("room type", "entire home/apt"), V),  # everywhere
    (PLAN, need("room type", "private room or entire home/apt"), S),
    (PLAN, need("room type", "private room", scope="East"), U),
    (PLAN, need("house rule", "pets allowed", scope="North"), V),
    (PLAN, need("house rule", "pets allowed", scope="South"), S),
    (PLAN, need("house rule", "smoking allowed and pets allowed", scope="South"), V),
    (plan(stays=[BUNK, NOOK]), need("house rule", "pets allowed", scope="North"), U),  # no rules on record
    (PLAN, need("stay rating", "at least 4", scope="North"), S),
    (PLAN, need("stay rating", "4"), V),  # a bare rating bounds from below; South has 3
    (plan(stays=[BUNK, NOOK]), need("stay rating", "at least 1", scope="North"), U),
    (PLAN, need("cuisine", "Italian", scope="North"), S),
    (PLAN, need("cuisine", "Italian", scope="South"), V),
    (PLAN, need("cuisine", "Italian and French"), S),
    (PLAN, need("cuisine", "Italian and Chinese", scope="North"), V),
    (PLAN, need("cuisine", "French", scope="Ana"), S),
    (PLAN, need("cuisine", "French", scope="Zoe"), U),
    (plan(meals=[{"city": "South", "name": "Roma"}]), need("cuisine", "Italian"), V),  # an absent entity satisfies nothing
    (PLAN, need("attraction", "Old Mill", scope="North"), S),
    (PLAN, need("attraction", "Clock Tower", scope="South"), V),
    (PLAN, need("transport", "no taxi"), S),
    (PLAN, need("transport", "no flight"), V),
    (PLAN, need("transport", "flight", scope="the way back"), S),
    (PLAN, need("transport", "flight"), V),
    (PLAN, need("transport", "teleport"), U),
    (PLAN, need("departure", "before 09:00", scope="the way out"), S),
    (PLAN, need("departure", "after 09:00", scope="the way out"), V),
    (plan(legs=["self-driving", "self-driving", "F3"]), need("departure", "after 07:00", scope="the way out"), U),
    (PLAN, need("accessibility", "lift", scope="Ana"), U),
    (PLAN, need("mood", "calm"), U),
]


@pytest.mark.parametrize(("action", "requirement", "expected"), VERDICTS)
def test_verdicts(action, requirement, expected) -> None:
    assert trip.verdict(TRIP, action, requirement) == expected


FAULTS = [
    (PLAN, ""),
    ({}, "no list of legs"),
    (plan(meals=None), "no list of meals"),
    (plan(legs=["F1", "self-driving"]), "3 legs"),
    (plan(legs=["F3", "self-driving", "F3"]), "no leg 'F3'"),
    (plan(legs=["F1", "taxi", "F3"]), "no leg 'taxi'"),
    (plan(stays=[NOOK]), "stays in ['North', 'South']"),
    (plan(stays=[{**BUNK, "name": "Villa", "rooms": 1}, NOOK]), "Villa: 2 nights are under the minimum of 3"),
    (plan(stays=[{**BUNK, "nights": 3}, NOOK]), "2 nights are spent, 3 booked"),  # assumed extra nights do not count
    (plan(stays=[{**BUNK, "rooms": 1}, NOOK]), "1 rooms for 2 each do not hold 3"),
    (plan(stays=[{**BUNK, "name": "Tent"}, NOOK]), "no stay 'Tent'"),
    (plan(meals=[{"city": "South", "name": "Roma"}]), "no 'Roma' among the meals"),
    (plan(attractions=[{"city": "North", "name": "Clock Tower"}]), "no 'Clock Tower' among the attractions"),
]


@pytest.mark.parametrize(("action", "wrong"), FAULTS)
def test_what_cannot_be_booked(action, wrong) -> None:
    assert wrong in trip.fault(TRIP, action)
    assert bool(trip.fault(TRIP, action)) == bool(wrong)


def test_scope() -> None:
    out = [field for field in (*trip.OUT_OF_SCOPE, "budget", "cuisine") if not trip.in_scope(need(field, "x"))]
    assert out == ["accessibility", "local transport"]


def every_plan():
    """All plans that can be booked, by brute force: every leg, stay, set of meals and sights."""
    legs = product(*([*(f["number"] for f in leg["flights"]), "self-driving", "taxi"] for leg in TRIP["legs"]))
    stays = product(
        *(
            [
                {"city": c["name"], "name": s["name"], "nights": c["nights"], "rooms": ceil(TRIP["party"] / s["occupancy"])}
                for s in TRIP["stays"][c["name"]]
            ]
            for c in TRIP["cities"]
        )
    )
    meals = [{"city": city, "name": r["name"]} for city, found in TRIP["restaurants"].items() for r in found]
    sights = [{"city": city, "name": name} for city, names in TRIP["attractions"].items() for name in names]
    eaten = [list(s) for s in chain.from_iterable(combinations(meals, n) for n in (1, 2, 3))]
    eaten = [part for part in eaten if {meal["city"] for meal in part} == {"North", "South"}]
    for leg, stay, meal in product(legs, stays, eaten):
        found = {"legs": list(leg), "stays": list(stay), "meals": meal, "attractions": sights}
        if not trip.fault(TRIP, found):
            yield found


WISHES = [
    need("budget", "at most $500"), need("budget", "at most $620"), need("room type", "entire home/apt", scope="North"),
    need("room type", "shared room", scope="North"), need("cuisine", "Italian", scope="Ben"),
    need("cuisine", "Chinese and French"),
    need("cuisine", "Italian or Chinese", scope="North"), need("transport", "no self-driving", scope="the way out"),
    need("departure", "after 12:00", scope="the way out"), need("house rule", "smoking allowed"), need("transport", "no flight"),
    need("attraction", "Clock Tower", scope="South"), need("attraction", "Castle"),
    need("stay rating", "at least 4", scope="North"),
]  # fmt: skip


def test_the_actor_is_as_good_as_the_best_of_all_plans() -> None:
    rng, plans = random.Random(0), list(every_plan())
    assert len(plans) > 20

    def worth(action, intention):
        met = [r.priority for r in intention if trip.verdict(TRIP, action, r) == S]
        return met.count("must") + met.count(None), 2 * met.count("preferred") + met.count("optional"), -trip.cost(TRIP, action)

    for _ in range(40):
        chosen = rng.sample(WISHES, rng.randint(0, 5))
        intention = [need(r.field, r.value, rng.choice(("must", "preferred", "optional", None)), r.scope) for r in chosen]
        mine = trip.choose(TRIP, intention)
        assert trip.fault(TRIP, mine) == ""
        assert worth(mine, intention) == max(worth(action, intention) for action in plans), intention
