"""TravelPlanner's reference records as trip environments (Xie et al. 2024, "TravelPlanner").

One record holds everything that a plan of one journey can be made of: flights and roads of its legs, and stays,
restaurants and attractions of its cities. `intentfold.domains.trip` says what an environment looks like.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

from intentfold.sources.loading import Skip, SourceError, checked, read_lines

_LEG = re.compile(r"Flight from (?P<start>.+) to (?P<end>.+) on (?P<date>\d{4}-\d{2}-\d{2})")
_COST = re.compile(r"cost: (\d+)")
MAX_STAY = 14


@dataclass(frozen=True, slots=True)
class TripRecord:
    """One journey's records: an environment without its party (`party` and `travellers` are the builder's)."""

    origin: str
    license: str
    start: date
    environment: Mapping[str, Any]


def load_records(folder: Path) -> tuple[tuple[TripRecord, ...], Mapping[str, int]]:
    """The records of `train_ref_info.jsonl`, in its order, and how many made no journey, by reason.

    Raises `SourceError` with file, line and field where a record is malformed.
    """
    found: list[TripRecord] = []
    skipped: Counter[str] = Counter()
    for where, data in read_lines(folder / "train_ref_info.jsonl", "TravelPlanner's reference records", {}):
        try:
            found.append(_record(where, data))
        except Skip as reason:
            skipped[str(reason)] += 1
    return tuple(found), dict(skipped)


def _record(where: str, data: dict[str, Any]) -> TripRecord:
    legs = []
    for name, flights in data.items():
        match = _LEG.fullmatch(name)
        if match:
            legs.append((date.fromisoformat(match["date"]), match["start"], match["end"], flights))
    if len(legs) < 2:
        raise SourceError(f"{where}: expected flights of two legs or more, got {[name for name in data if name[:6] == 'Flight']}")
    cities: list[dict[str, Any]] = []
    for (day, _, end, _), (leaves, start, _, _) in pairwise(legs):
        if end != start or leaves <= day:
            raise SourceError(f"{where}: the leg that reaches {end} on {day} is followed by one from {start} on {leaves}")
        cities.append({"name": end, "nights": (leaves - day).days})
    environment: dict[str, Any] = {
        "origin": legs[0][1],
        "cities": cities,
        "legs": [_leg(where, data, start, end, flights) for _, start, end, flights in legs],
        "stays": {city["name"]: _stays(where, data, city["name"]) for city in cities},
        "restaurants": {city["name"]: _restaurants(where, data, city["name"]) for city in cities},
        "attractions": {
            city["name"]: [entry["Name"] for entry in _entries(where, data, "Attractions", city["name"], {"Name": str})]
            for city in cities
        },
    }
    if any(not leg["flights"] and leg["self-driving"] is None and leg["taxi"] is None for leg in environment["legs"]):
        raise Skip("a leg that nothing travels")
    journey = " – ".join([legs[0][1], *(city["name"] for city in cities)])
    return TripRecord(f"{journey}, {legs[0][0]}", "MIT", legs[0][0], environment)


def _leg(where: str, data: dict[str, Any], start: str, end: str, flights: Any) -> dict[str, Any]:
    found = []
    for flight in flights if isinstance(flights, list) else []:
        entry = checked(f"{where}: flight from {start} to {end}", flight, {"Flight Number": str, "Price": int, "DepTime": str})
        found.append({"number": entry["Flight Number"], "price": entry["Price"], "departs": entry["DepTime"]})
    return {"flights": found, "self-driving": _road(data, "Self-driving", start, end), "taxi": _road(data, "Taxi", start, end)}


def _road(data: dict[str, Any], kind: str, start: str, end: str) -> int | None:
    match = _COST.search(str(data.get(f"{kind} from {start} to {end}", "")))
    return int(match[1]) if match else None


def _stays(where: str, data: dict[str, Any], city: str) -> list[dict[str, Any]]:
    fields: dict[str, type] = {"NAME": str, "price": float, "room type": str, "house_rules": str, "minimum nights": float}
    found = []
    for entry in _entries(where, data, "Accommodations", city, {**fields, "maximum occupancy": int}):
        if entry["minimum nights"] <= MAX_STAY:
            rating = entry.get("review rate number")
            found.append(
                {
                    "name": entry["NAME"].strip(),
                    "price": entry["price"],
                    "room type": entry["room type"],
                    "rules": entry["house_rules"].split(" & ") if entry["house_rules"].strip() else None,
                    "minimum nights": entry["minimum nights"],
                    "occupancy": entry["maximum occupancy"],
                    "rating": rating if isinstance(rating, int | float) else None,
                }
            )
    return found


def _restaurants(where: str, data: dict[str, Any], city: str) -> list[dict[str, Any]]:
    entries = _entries(where, data, "Restaurants", city, {"Name": str, "Average Cost": int, "Cuisines": str})
    return [{"name": e["Name"], "cost": e["Average Cost"], "cuisines": e["Cuisines"].split(", ")} for e in entries]


def _entries(where: str, data: dict[str, Any], kind: str, city: str, fields: Mapping[str, type]) -> list[dict[str, Any]]:
    name = f"{kind} in {city}"
    if not isinstance(data.get(name), list):
        raise SourceError(f"{where}: field {name!r} must be a list, got {str(data.get(name))[:80]!r}")
    return [checked(f"{where}: {name}", entry, fields) for entry in data[name]]
