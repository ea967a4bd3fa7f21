"""Trip requests over reference records: TravelPlanner's, or records of our own invention in the same form."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from intentfold.construct.wording import Bank, say
from intentfold.construct.world import Place, either
from intentfold.domains import trip
from intentfold.domains.verdicts import limit
from intentfold.sources.travelplanner import TripRecord
from intentfold.trajectory import Domain, Requirement

NAMES = ("Ana", "Ben", "Chloe", "Dev", "Elif", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Kira", "Luis", "Mei", "Noor")
RULES = ("pets", "smoking", "parties", "visitors", "children under 10")
_ACCESS = ("step-free room", "wheelchair access", "ground floor room", "lift in the building")
_AROUND = ("public transport", "walking distance", "rental bikes")


class TripWorld:
    """One journey, its party and its records."""

    domain: Domain = "trip"

    def __init__(self, record: TripRecord, rng: random.Random) -> None:
        self.origin, self.license, self._start = record.origin, record.license, record.start
        party = rng.randint(1, 4)
        travellers = rng.sample(NAMES, party)
        self.environment: Mapping[str, Any] = {**record.environment, "party": party, "travellers": travellers}
        self.wishes: tuple[Requirement, ...] = ()
        self._cities = [city["name"] for city in record.environment["cities"]]

    def request(self, bank: Bank, rng: random.Random) -> str:
        """Where, when and who: parameters of the task, none of them a requirement."""
        party = len(self.environment["travellers"])
        who = f"{party} {'person' if party == 1 else 'people'} ({', '.join(self.environment['travellers'])})"
        days = sum(city["nights"] for city in self.environment["cities"]) + 1
        when = f"{self._start.day} {self._start:%B}"
        fields = {"days": str(days), "party": who, "origin": self.environment["origin"], "cities": " and ".join(self._cities)}
        return say(bank, "trip_request", rng, date=when, **fields)

    def opening_places(self) -> Sequence[Place]:
        """A budget, and two more."""
        return ((trip.BUDGET, None), ("room type", self._cities[0]), ("cuisine", self._cities[-1]))

    def places(self) -> Sequence[Place]:
        """By city, by traveller, by leg, and for the whole trip."""
        cities, people = self._cities, self.environment["travellers"]
        of_city = [
            (field, city) for field in ("room type", "house rule", "stay rating", "cuisine", "attraction") for city in cities
        ]
        flying = [
            ("departure", leg) for leg, place in ((trip.OUT, 0), (trip.BACK, -1)) if self.environment["legs"][place]["flights"]
        ]
        of_person = [(field, person) for field in ("cuisine", "accessibility") for person in people[:2]]
        whole = [(trip.BUDGET, None), ("transport", None), ("local transport", None)]
        return (*whole, *of_city, *of_person, *flying)

    def value(self, place: Place, intention: Sequence[Requirement], rng: random.Random) -> str | None:
        """A budget near what the rest costs, or a value that the records know of."""
        now = next((r.value for r in intention if (r.field, r.scope) == place), None)
        if place[0] == trip.BUDGET:
            least = self._least(intention)
            found = f"at most ${max(1, round(least * rng.choice((0.8, 0.95, 1.1, 1.3)) / 50)) * 50}"
            return None if found == now else found
        values = [value for value in self._values(place) if value != now]
        if not values:
            return None
        value = rng.choice(values)
        if place[0] == "cuisine" and place[1] in self._cities and rng.random() < 0.15 and len(values) > 1:
            return " and ".join(rng.sample(values, 2))
        return value

    def _values(self, place: Place) -> list[str]:
        field, scope = place
        cities = [scope] if scope in self._cities else self._cities
        stays = [stay for city in cities for stay in self.environment["stays"][city]]
        kitchens = [restaurant for city in cities for restaurant in self.environment["restaurants"][city]]
        found = {
            "room type": sorted({stay["room type"].lower() for stay in stays}),
            "house rule": [f"{rule} allowed" for rule in RULES],
            "stay rating": ["at least 3", "at least 4", "at least 5"],
            "cuisine": sorted({cuisine for restaurant in kitchens for cuisine in restaurant["cuisines"]}),
            "attraction": [name for city in cities for name in self.environment["attractions"][city] if _plain(name)],
            "transport": ["flight", "self-driving", "no flight", "no self-driving"],
            "departure": ["after 07:00", "after 09:00", "after 12:00", "before 11:00", "before 15:00", "before 20:00"],
            "accessibility": list(_ACCESS),
            "local transport": list(_AROUND),
        }
        return found[field]

    def looser(self, requirement: Requirement, intention: Sequence[Requirement], rng: random.Random) -> str | None:
        """More money, a lower rating, another value beside the one asked for, or one of two fewer."""
        if requirement.field == trip.BUDGET:
            bound = limit(requirement.value)
            assert bound is not None
            return f"at most ${(int(max(self._least(intention), bound.amount * 1.1)) // 50 + 1) * 50}"
        if requirement.field == "stay rating":
            bound = limit(requirement.value, lower=True)
            return f"at least {bound.amount - 1:g}" if bound is not None and bound.amount > 2 else None
        if " and " in requirement.value:
            return rng.choice(requirement.value.split(" and "))
        if requirement.field in ("room type", "cuisine", "attraction", "accessibility"):
            return either(requirement.value, self._values((requirement.field, requirement.scope)), rng)
        return None

    def _least(self, intention: Sequence[Requirement]) -> float:
        """What the best plan costs where money is no matter."""
        rest = [r for r in intention if r.field != trip.BUDGET]
        cost = trip.cost(self.environment, trip.choose(self.environment, rest))
        assert cost is not None
        return cost

    def spoken(self, place: Place) -> str:
        """The field, and for whom, where or when."""
        field, scope = place
        if scope is None:
            return field
        joined = "in" if scope in self._cities else "on" if scope in (trip.OUT, trip.BACK) else "for"
        return f"{field} {joined} {scope}"

    def offer(self, action: Mapping[str, Any]) -> str:
        """What the plan costs and where it stays."""
        return (
            f"a plan at ${trip.cost(self.environment, action):.0f} with {' and '.join(stay['name'] for stay in action['stays'])}"
        )


def _plain(name: str) -> bool:
    """Whether a name can be a value: no conjunction or alternative in it, and not too long to be said."""
    return " and " not in name and " or " not in name and len(name) <= 40


_PLACES = ("Avelin", "Brackmoor", "Castrell", "Dunhollow", "Eastmere", "Ferrowby", "Glimmock", "Harvold", "Islanne", "Jorvane",
           "Kestwick", "Lorimar", "Millden", "Northay", "Ollerton Bay", "Pinecrest", "Quarrow", "Redvale", "Stonewick",
           "Tarnmouth", "Umberley", "Valdore", "Westerholm", "Yarrowfield")  # fmt: skip
_SIGHTS = (
    "Harbour Museum",
    "Old Mill",
    "Glass Gardens",
    "Clock Tower",
    "River Walk",
    "Science Hall",
    "Castle Ruins",
    "Night Market",
)
_KITCHENS = ("Italian", "French", "Mexican", "Indian", "Chinese", "Seafood", "Bakery", "Barbecue", "Vegan", "Thai")
_HOUSES = (
    "Lantern House",
    "Birch Loft",
    "Quay Rooms",
    "Garden Flat",
    "Tower Suite",
    "Canal Cabin",
    "Hilltop Inn",
    "Market Attic",
)


def builtin_records(count: int, rng: random.Random) -> list[TripRecord]:
    """Journeys of our own invention; the same rng gives the same ones."""
    found: dict[str, TripRecord] = {}
    while len(found) < count:
        start, *cities = rng.sample(_PLACES, rng.randint(2, 4))
        day = date(2030, rng.randint(1, 12), rng.randint(1, 25))
        spent = [{"name": city, "nights": rng.choice((1, 2, 2, 3))} for city in cities]
        environment = {
            "origin": start,
            "cities": spent,
            "legs": [_leg(rng) for _ in range(len(cities) + 1)],
            "stays": {city: _stays(rng) for city in cities},
            "restaurants": {city: _restaurants(city, rng) for city in cities},
            "attractions": {city: rng.sample([f"{city} {sight}" for sight in _SIGHTS], 4) for city in cities},
        }
        journey = f"{' – '.join([start, *cities])}, {day}"
        found.setdefault(journey, TripRecord(journey, "Apache-2.0", day, environment))
    return list(found.values())


def _leg(rng: random.Random) -> dict[str, Any]:
    road = rng.randint(20, 110)
    flights = [
        {
            "number": f"F{rng.randrange(10**6):06d}",
            "price": rng.randint(60, 400),
            "departs": f"{rng.randint(5, 22):02d}:{rng.choice((5, 20, 45)):02d}",
        }
        for _ in range(rng.choice((0, 2, 4)))
    ]
    driving = None if flights and rng.random() < 0.2 else road
    return {"flights": flights, "self-driving": driving, "taxi": None if driving is None else road * 12}


def _stays(rng: random.Random) -> list[dict[str, Any]]:
    stays = []
    for number, name in enumerate(rng.sample(_HOUSES, 7)):
        rules = rng.sample([f"No {rule}" for rule in RULES], rng.randint(1, 3))
        stays.append(
            {
                "name": name,
                "price": float(rng.randint(60, 900)),
                "room type": rng.choice(("Entire home/apt", "Private room", "Private room", "Shared room")),
                "rules": rules if rng.random() < 0.92 else None,
                "minimum nights": 1.0 if number == 0 else float(rng.choice((1, 1, 2, 2, 3, 5))),
                "occupancy": rng.randint(1, 5),
                "rating": float(rng.randint(2, 5)),
            }
        )
    return stays


def _restaurants(city: str, rng: random.Random) -> list[dict[str, Any]]:
    return [
        {"name": f"{kind} {number} of {city}", "cost": rng.randint(10, 90), "cuisines": rng.sample(_KITCHENS, rng.randint(1, 3))}
        for number, kind in enumerate(("Table", "Corner", "Kitchen", "Terrace", "Cellar", "Counter"), start=1)
    ]
