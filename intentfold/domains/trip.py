"""The trip: legs, stays, meals and sights of named records, priced by code (IntentDelta, C.2 and C.5).

An environment is `{"party", "travellers": [names], "origin", "cities": [{"name", "nights"}], "legs": [{"flights":
[{"number", "price", "departs"}], "self-driving": cost | null, "taxi": cost | null}], "stays": {city: [{"name", "price",
"room type", "rules": [...] | null, "minimum nights", "occupancy", "rating"}]}, "restaurants": {city: [{"name", "cost",
"cuisines"}]}, "attractions": {city: [names]}}`. An action is `{"legs": [flight number | "self-driving" | "taxi"],
"stays": [{"city", "name", "nights", "rooms"}], "meals": [{"city", "name"}], "attractions": [{"city", "name"}]}`.

Flights and meals are paid a person, a car drives five and a taxi four (TravelPlanner's own rule), stays a room and
night. Accessibility and travel within a city are out of scope: no record can audit them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import ceil
from typing import Any

from intentfold.domains.verdicts import Verdict, combined, limited
from intentfold.intent import normalise
from intentfold.trajectory import Requirement

BUDGET = "budget"
STAY_FIELDS = ("room type", "house rule", "stay rating")
LEG_FIELDS = ("transport", "departure")
OUT_OF_SCOPE = ("accessibility", "local transport")
OUT, BACK = "the way out", "the way back"
_SEATS = {"self-driving": 5, "taxi": 4}
Record = Mapping[str, Any]


def in_scope(requirement: Requirement) -> bool:
    """Whether an action can be held to the requirement (IntentDelta, C.2)."""
    return normalise(requirement.field) not in OUT_OF_SCOPE


def is_budget(requirement: Requirement) -> bool:
    """Whether the requirement bounds what is spent."""
    return normalise(requirement.field) == BUDGET


def fault(environment: Record, action: Record) -> str:
    """Why a plan cannot be booked, empty where it can.

    Every leg and city needs its own; every name stands in the records; the booked nights are those of the trip and no
    fewer than the minimum stay; the rooms hold the party.
    """
    if absent := [part for part in ("legs", "stays", "meals", "attractions") if not isinstance(action.get(part), list)]:
        return f"no list of {absent[0]}"
    if len(action["legs"]) != len(environment["legs"]):
        return f"{len(environment['legs'])} legs, but {len(action['legs'])} are planned"
    for leg, chosen in zip(environment["legs"], action["legs"], strict=True):
        if _fare(environment, leg, chosen) is None:
            return f"no leg {chosen!r} in the records"
    nights = {city["name"]: city["nights"] for city in environment["cities"]}
    if [stay["city"] for stay in action["stays"]] != list(nights):
        return f"stays in {list(nights)} are needed, got {[stay['city'] for stay in action['stays']]}"
    for booked in action["stays"]:
        stay = _stay(environment, booked)
        if stay is None:
            return f"no stay {booked['name']!r} in {booked['city']}"
        if booked["nights"] != nights[booked["city"]]:
            return f"{booked['city']}: {nights[booked['city']]} nights are spent, {booked['nights']} booked"
        if booked["nights"] < stay["minimum nights"]:
            return f"{booked['name']}: {booked['nights']} nights are under the minimum of {stay['minimum nights']:g}"
        if booked["rooms"] * stay["occupancy"] < environment["party"]:
            return f"{booked['name']}: {booked['rooms']} rooms for {stay['occupancy']} each do not hold {environment['party']}"
    for kind in ("meals", "attractions"):
        for entry in action[kind]:
            if _named(environment, kind, entry) is None:
                return f"no {entry['name']!r} among the {kind} of {entry['city']}"
    return ""


def cost(environment: Record, action: Record) -> float | None:
    """What the plan costs; None where a part of it has no price in the records: unpriced is not free."""
    total = 0.0
    for leg, chosen in zip(environment["legs"], action["legs"], strict=False):
        fare = _fare(environment, leg, chosen)
        if fare is None:
            return None
        total += fare
    for booked in action["stays"]:
        stay = _stay(environment, booked)
        if stay is None:
            return None
        total += stay["price"] * booked["rooms"] * booked["nights"]
    for meal in action["meals"]:
        restaurant = _named(environment, "meals", meal)
        if restaurant is None:
            return None
        total += restaurant["cost"] * environment["party"]
    return total


def verdict(environment: Record, action: Record, requirement: Requirement) -> Verdict:
    """What the records say about the plan and one requirement; without a scope it holds for the whole trip.

    A stay or leg requirement must then hold everywhere, a meal or sight anywhere.
    """
    field = normalise(requirement.field)
    if field == BUDGET:
        return "unknown" if requirement.scope else limited(requirement.value, cost(environment, action))
    if field in STAY_FIELDS:
        places = _cities(environment, requirement.scope)
        booked = [stay for stay in action["stays"] if stay["city"] in places]
        if not places or len(booked) != len(places):
            return "unknown"
        return combined([_stay_verdict(_stay(environment, stay), requirement) for stay in booked], "and")
    if field in LEG_FIELDS:
        chosen = [(environment["legs"][n], action["legs"][n]) for n in _legs(environment, requirement.scope)]
        return combined([_leg_verdict(leg, mode, requirement) for leg, mode in chosen], "and")
    if field in ("cuisine", "attraction"):
        kind = "meals" if field == "cuisine" else "attractions"
        places = _places(environment, requirement.scope)
        offered = [_named(environment, kind, entry) for entry in action[kind] if entry["city"] in places]
        if not places:
            return "unknown"
        parts, operator = requirement.split()
        return combined([_offered(part, offered, kind) for part in parts], operator)
    return "unknown"


def choose(environment: Record, intention: Sequence[Requirement]) -> dict[str, Any]:
    """The scripted actor: most must-haves, then most soft ones at 2:1, then the lowest cost, then the records' order.

    A requirement without a priority is taken for a must-have. Of each component of a plan only the cheapest choice that
    meets a given set of requirements is kept; the budget is settled last, over what is left.
    """
    legs = _leg_choices(environment, intention)
    stays = _stay_choices(environment, intention)
    meals = _meal_choices(environment, intention)
    sights = _sights(environment, intention)
    budgets = [n for n, r in enumerate(intention) if is_budget(r) and r.scope is None]
    best: tuple[tuple[float, float, float], dict[str, Any]] | None = None
    for (leg_met, leg), (stay_met, stay), (meal_met, meal) in product(legs.items(), stays.items(), meals.items()):
        price = leg[0] + stay[0] + meal[0]
        met = leg_met | stay_met | meal_met | {n for n in budgets if limited(intention[n].value, price) == "satisfied"}
        priorities = [intention[n].priority for n in met]
        soft = 2 * priorities.count("preferred") + priorities.count("optional")
        worth = (float(priorities.count("must") + priorities.count(None)), float(soft), -price)
        if best is None or worth > best[0]:
            best = (worth, {"legs": leg[1], "stays": stay[1], "meals": meal[1], "attractions": sights})
    assert best is not None
    return best[1]


# The requirements that a choice meets (by position) -> its price and itself.
Choices = dict[frozenset[int], tuple[float, list[Any]]]


def _keep(choices: dict[frozenset[Any], tuple[float, list[Any]]], met: frozenset[Any], price: float, choice: list[Any]) -> None:
    if met not in choices or price < choices[met][0]:
        choices[met] = (price, choice)


def _leg_choices(environment: Record, intention: Sequence[Requirement]) -> Choices:
    wanted = [n for n, r in enumerate(intention) if normalise(r.field) in LEG_FIELDS]
    apart = []
    for number, leg in enumerate(environment["legs"]):
        here = [n for n in wanted if number in _legs(environment, intention[n].scope)]
        options: Choices = {}
        for mode in (*(flight["number"] for flight in leg["flights"]), *_SEATS):
            fare = _fare(environment, leg, mode)
            if fare is not None:
                met = frozenset(n for n in here if _leg_verdict(leg, mode, intention[n]) == "satisfied")
                _keep(options, met, fare, [mode])
        apart.append((number, options))
    joint: Choices = {}
    for combination in product(*(options.items() for _, options in apart)):
        met = frozenset(
            n
            for n in wanted
            if (places := _legs(environment, intention[n].scope)) and all(n in combination[place][0] for place in places)
        )
        _keep(joint, met, sum(price for _, (price, _) in combination), [mode for _, (_, modes) in combination for mode in modes])
    return joint


def _stay_choices(environment: Record, intention: Sequence[Requirement]) -> Choices:
    wanted = [n for n, r in enumerate(intention) if normalise(r.field) in STAY_FIELDS]
    apart: list[Choices] = []
    for city in environment["cities"]:
        options: Choices = {}
        for stay in environment["stays"][city["name"]]:
            if stay["minimum nights"] <= city["nights"]:
                rooms = ceil(environment["party"] / stay["occupancy"])
                met = frozenset(n for n in wanted if _stay_verdict(stay, intention[n]) == "satisfied")
                booked = {"city": city["name"], "name": stay["name"], "nights": city["nights"], "rooms": rooms}
                _keep(options, met, stay["price"] * rooms * city["nights"], [booked])
        apart.append(options or {frozenset(): (0.0, [])})
    joint: Choices = {}
    for combination in product(*(options.items() for options in apart)):
        in_city = {city["name"]: met for city, (met, _) in zip(environment["cities"], combination, strict=True)}
        met = frozenset(
            n
            for n in wanted
            if (places := _cities(environment, intention[n].scope)) and all(n in in_city[place] for place in places)
        )
        _keep(joint, met, sum(price for _, (price, _) in combination), [stay for _, (_, stays) in combination for stay in stays])
    return joint


def _meal_choices(environment: Record, intention: Sequence[Requirement]) -> Choices:
    """The cheapest meals for every set of cuisine requirements, each city with one at least: exact, over what a set covers.

    A meal covers its city and those parts of the requirements that it serves; of meals that cover the same only the
    cheapest one is looked at.
    """
    wanted = [n for n, r in enumerate(intention) if normalise(r.field) == "cuisine"]
    parts = [(n, normalise(part)) for n in wanted for part in intention[n].split()[0]]
    serving = {n: _places(environment, intention[n].scope) for n in wanted}
    cheapest: dict[frozenset[Any], tuple[float, dict[str, str]]] = {}
    cities = [city["name"] for city in environment["cities"]]
    for city in cities:
        for restaurant in environment["restaurants"][city]:
            kitchens = set(map(normalise, restaurant["cuisines"]))
            covers = frozenset((city, *(pair for pair in parts if pair[1] in kitchens and city in serving[pair[0]])))
            if covers not in cheapest or restaurant["cost"] < cheapest[covers][0]:
                cheapest[covers] = (restaurant["cost"], {"city": city, "name": restaurant["name"]})
    covered: dict[frozenset[Any], tuple[float, list[Any]]] = {frozenset(): (0.0, [])}
    for covers, (price, meal) in cheapest.items():
        for before, (spent, meals) in list(covered.items()):
            _keep(covered, before | covers, spent + price, [*meals, meal])
    possible = {city for city in cities if environment["restaurants"][city]}
    joint: Choices = {}
    for covers, (price, meals) in covered.items():
        if possible <= covers:
            met = frozenset(n for n in wanted if _served(n, intention[n], covers))
            _keep(joint, met, price * environment["party"], meals)
    return joint


def _served(number: int, requirement: Requirement, covers: frozenset[Any]) -> bool:
    parts, operator = requirement.split()
    served = [(number, normalise(part)) in covers for part in parts]
    return all(served) if operator == "and" else any(served)


def _sights(environment: Record, intention: Sequence[Requirement]) -> list[dict[str, str]]:
    """Every attraction that is asked for and stands in the records: they cost nothing."""
    found = []
    for requirement in intention:
        if normalise(requirement.field) == "attraction":
            for part in requirement.split()[0]:
                for city in _places(environment, requirement.scope):
                    names = [name for name in environment["attractions"][city] if normalise(name) == normalise(part)]
                    found += [{"city": city, "name": name} for name in names]
    return [entry for n, entry in enumerate(found) if entry not in found[:n]]


def _cities(environment: Record, scope: str | None) -> list[str]:
    names = [city["name"] for city in environment["cities"]]
    return names if scope is None else [name for name in names if normalise(name) == normalise(scope)]


def _places(environment: Record, scope: str | None) -> list[str]:
    """Where a meal or sight may be: in the scope's city, anywhere for a traveller of the party or without a scope."""
    traveller = scope is not None and normalise(scope) in map(normalise, environment["travellers"])
    return _cities(environment, None if traveller else scope)


def _legs(environment: Record, scope: str | None) -> list[int]:
    count = len(environment["legs"])
    if scope is None:
        return list(range(count))
    return {OUT: [0], BACK: [count - 1]}.get(normalise(scope), [])


def _leg_verdict(leg: Record, chosen: str, requirement: Requirement) -> Verdict:
    flight = next((flight for flight in leg["flights"] if flight["number"] == chosen), None)
    if flight is None and (chosen not in _SEATS or leg[chosen] is None):
        return "unknown"
    mode = "flight" if flight is not None else chosen
    parts, operator = requirement.split()
    if normalise(requirement.field) == "departure":
        return combined([_time_verdict(part, flight) for part in parts], operator)
    verdicts: list[Verdict] = []
    for part in map(normalise, parts):
        unwanted = part.removeprefix("no ")
        if unwanted not in ("flight", *_SEATS):
            verdicts.append("unknown")
        else:
            verdicts.append("satisfied" if (unwanted == mode) != (unwanted != part) else "violated")
    return combined(verdicts, operator)


def _time_verdict(part: str, flight: Record | None) -> Verdict:
    words, _, time = normalise(part).partition(" ")
    if flight is None or words not in ("after", "before") or not time:
        return "unknown"
    return "satisfied" if (flight["departs"] >= time if words == "after" else flight["departs"] <= time) else "violated"


def _stay_verdict(stay: Record | None, requirement: Requirement) -> Verdict:
    if stay is None:
        return "unknown"
    parts, operator = requirement.split()
    return combined([_stay_part(stay, normalise(requirement.field), part) for part in parts], operator)


def _stay_part(stay: Record, field: str, part: str) -> Verdict:
    if field == "stay rating":
        return limited(part, stay["rating"], lower=True)
    if field == "room type":
        return "satisfied" if normalise(stay["room type"]) == normalise(part) else "violated"
    # A record that lists no rules at all is no evidence that something is allowed.
    subject = normalise(part).removesuffix(" allowed")
    if stay["rules"] is None or subject == normalise(part):
        return "unknown"
    return "violated" if f"no {subject}" in map(normalise, stay["rules"]) else "satisfied"


def _offered(part: str, offered: Sequence[Any], kind: str) -> Verdict:
    """Absent entities satisfy nothing; what no chosen record offers is not there."""
    found = False
    for entry in offered:
        if entry is not None:
            names = entry["cuisines"] if kind == "meals" else [entry]
            found = found or normalise(part) in map(normalise, names)
    return "satisfied" if found else "violated"


def _fare(environment: Record, leg: Record, chosen: str) -> float | None:
    """What a leg costs the party; None for a leg that the records do not hold."""
    party = environment["party"]
    for flight in leg["flights"]:
        if flight["number"] == chosen:
            return float(flight["price"] * party)
    if chosen not in _SEATS or leg[chosen] is None:
        return None
    return float(leg[chosen] * ceil(party / _SEATS[chosen]))


def _stay(environment: Record, booked: Record) -> Any:
    return next((s for s in environment["stays"].get(booked["city"], ()) if s["name"] == booked["name"]), None)


def _named(environment: Record, kind: str, entry: Record) -> Any:
    """The restaurant's record or the attraction's name; None where the records hold none."""
    if kind == "attractions":
        return next((name for name in environment["attractions"].get(entry["city"], ()) if name == entry["name"]), None)
    return next((r for r in environment["restaurants"].get(entry["city"], ()) if r["name"] == entry["name"]), None)
