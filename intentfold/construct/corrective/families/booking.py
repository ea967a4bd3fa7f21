"""Train bookings by tool calls: what counts is in the calls and their results, not in what the reply claims."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence

from intentfold.construct.corrective.work import (
    MET,
    NOT_APPLICABLE,
    Criterion,
    Family,
    Finding,
    States,
    almost,
    file_text,
    lines_of,
    unmet,
)
from intentfold.dialogue import File, Observation, Output
from intentfold.tool import Tool

PATH = "itinerary.txt"
BOOKED = "booked, code "
CITIES = ("Graz", "Lille", "Bergen", "Porto", "Gdansk", "Turin", "Ghent", "Brno", "Leipzig", "Malmo")


def contents(rng: random.Random) -> dict[str, str]:
    start, end = rng.sample(CITIES, 2)
    code = "".join(rng.choice("ABCDEFGHJKLMNPQRSTUVWXYZ23456789") for _ in range(6))
    return {
        "start": start,
        "end": end,
        "day": f"{rng.randrange(1, 29)} {rng.choice(('March', 'May', 'June', 'October'))}",
        "train": f"R{rng.randrange(100, 999)}",
        "code": code,
        "wrong_code": code[:-1] + ("7" if code[-1] != "7" else "5"),
        "operator": rng.choice(("Norrail", "Transalp", "Westbahn")),
        "partner": "yes" if rng.random() < 0.7 else "",
        "minute": f"{rng.randrange(10, 60)}",
    }


def tastes(rng: random.Random) -> dict[str, str]:
    return {
        "hour": str(rng.randrange(8, 12)),
        "seat": rng.choice(("aisle", "window", "quiet zone")),
        "card": f"{rng.randrange(1000, 9999)}",
    }


def render(v: Mapping[str, str], states: States) -> Output:
    hour = int(v["hour"])
    leaves = {"met": f"{hour:02d}:{v['minute']}", "near": f"{hour - 1:02d}:50", "unmet": f"05:{v['minute']}"}[
        states["not_before"]
    ]
    seat = v["seat"] if states["seat_kind"] == "met" else "middle"
    arguments = {
        "train": v["train"],
        "departs": leaves,
        "seat": seat,
        "refundable": "true" if states["refundable"] == "met" else "false",
    }
    if states["loyalty_card"] == "met":
        arguments["card"] = v["card"]
    search = Observation("search_trains", {"from": v["start"], "to": v["end"], "day": v["day"]}, _trains(v, leaves))
    booked = Observation("book_train", arguments, BOOKED + v["code"])
    bookings = [booked]
    if states["book_once"] != "met":
        bookings.append(Observation("book_train", arguments, BOOKED + v["code"][::-1]))
    says = [f"{v['start']} to {v['end']} on {v['day']} is booked."]
    if states["refundable"] == "near":
        says.append("The fare is refundable.")
    if states["seat_kind"] == "near":
        says.append(f"I went for the {v['seat']}.")
    if states["book_once"] == "near":
        says.append("Booked just once, as usual.")
    shown = {"met": v["code"], "near": v["wrong_code"], "unmet": ""}[states["quote_code"]]
    if shown:
        says.append(f"Your code: {shown}.")
    twelve = f"{int(leaves[:2])}:{leaves[3:]} am"
    time = {"met": leaves, "near": f"{leaves} ({twelve})", "unmet": twelve}[states["clock_24h"]]
    lines = [f"{v['day']}: {v['start']} to {v['end']}", f"departs {time}"]
    if states["loyalty_card"] == "near":
        lines.append(f"loyalty card {v['card']}")
    return Output(" ".join(says), (search, *bookings), (File(PATH, "\n".join(lines) + "\n"),))


def _trains(v: Mapping[str, str], departures: str) -> str:
    partner = "a loyalty partner" if v["partner"] else "no loyalty partner"
    return f"{v['train']} by {v['operator']} ({partner}) departs {departures}"


def tools(v: Mapping[str, str]) -> tuple[Tool, ...]:
    departures = [f"{hour:02d}:{v['minute']}" for hour in range(5, 14)]

    def search(arguments: Mapping[str, str], before: Sequence[Observation]) -> str:
        if (arguments["from"], arguments["to"]) != (v["start"], v["end"]):
            return f"no trains from {arguments['from']} to {arguments['to']}"
        return _trains(v, ", ".join(departures))

    def book(arguments: Mapping[str, str], before: Sequence[Observation]) -> str:
        if arguments["train"] != v["train"] or arguments["departs"] not in departures:
            return f"error: there is no train {arguments['train']} at {arguments['departs']}"
        if arguments["refundable"] not in ("true", "false"):
            return f"error: refundable is true or false, got {arguments['refundable']}"
        again = any(call.result.startswith(BOOKED) for call in before)
        return BOOKED + (v["code"][::-1] if again else v["code"])

    return (
        Tool("search_trains", "the trains of a day and when they leave", ("from", "to", "day"), search),
        Tool(
            "book_train",
            "books a seat and returns the code; departs as HH:MM, seat is aisle, window, quiet zone or middle, refundable is"
            " true or false, card is the number of a loyalty card",
            ("train", "departs", "seat", "refundable"),
            book,
            ("card",),
        ),
    )


BRIEF = (
    f"Book the train, write {PATH} with a line for the day and cities and a line `departs` and the time, and tell the user"
    " what is booked. A code is given as `code: ` and the code."
)


def missing(output: Output) -> str:
    return "" if _bookings(output) else "no train is booked"


def _bookings(output: Output) -> list[Observation]:
    return [call for call in output.calls if call.name == "book_train" and call.result.startswith(BOOKED)]


def refundable(v: Mapping[str, str], output: Output) -> Finding:
    wrong = [call for call in _bookings(output) if call.arguments.get("refundable") != "true"]
    if not wrong:
        return MET
    found = almost if "refundable" in output.reply else unmet
    return found("the ticket was booked without the refundable fare", "refundable=false")


def seat_kind(v: Mapping[str, str], output: Output) -> Finding:
    wrong = [call for call in _bookings(output) if call.arguments.get("seat") != v["seat"]]
    if not wrong:
        return MET
    found = almost if v["seat"] in output.reply else unmet
    return found(f"the booking takes the seat {wrong[0].arguments.get('seat', 'unset')}, not {v['seat']}", _seat(wrong[0]))


def _seat(call: Observation) -> str:
    return f"seat={call.arguments['seat']}" if "seat" in call.arguments else ""


def not_before(v: Mapping[str, str], output: Output) -> Finding:
    for call in _bookings(output):
        time = call.arguments.get("departs", "")
        if time < f"{int(v['hour']):02d}:00":
            found = almost if time >= f"{int(v['hour']) - 1:02d}:30" else unmet
            return found(f"the train departs at {time}, before {v['hour']}:00", f"departs={time}")
    return MET


def quote_code(v: Mapping[str, str], output: Output) -> Finding:
    codes = re.findall(r"code (\w+)", " ".join(call.result for call in _bookings(output)))
    told = re.search(r"code: (\w+)", output.reply)
    if told is None:
        return unmet("the reply does not give the booking code")
    return MET if told[1] in codes else almost(f"the code {told[1]} is not the one that the booking returned", told[0])


def book_once(v: Mapping[str, str], output: Output) -> Finding:
    count = len(_bookings(output))
    if count == 1:
        return MET
    evidence = "Booked just once, as usual." if "once" in output.reply else ""
    return (almost if evidence else unmet)(f"the train was booked {count} times", evidence or v["code"][::-1])


def loyalty_card(v: Mapping[str, str], output: Output) -> Finding:
    if not any("(a loyalty partner)" in call.result for call in output.calls):
        return NOT_APPLICABLE
    if all(call.arguments.get("card") == v["card"] for call in _bookings(output)):
        return MET
    if v["card"] in file_text(output, PATH):
        return almost("the card stands in the itinerary, not in the booking", f"loyalty card {v['card']}")
    return unmet(f"the booking with a partner does not carry the card {v['card']}")


def clock_24h(v: Mapping[str, str], output: Output) -> Finding:
    line = next((line for line in lines_of(file_text(output, PATH)) if "departs" in line), "")
    if re.fullmatch(r"departs \d\d:\d\d", line):
        return MET
    return (almost if line.endswith(")") else unmet)("the itinerary does not use the 24-hour clock", line)


FAMILY = Family(
    "booking",
    (
        Criterion("refundable", "preference", "no_evidence", refundable),
        Criterion("seat_kind", "preference", "no_evidence", seat_kind),
        Criterion("not_before", "context", "near_miss", not_before, contradicts=True),
        Criterion("quote_code", "specification", "near_miss", quote_code),
        Criterion("book_once", "specification", "no_evidence", book_once),
        Criterion("loyalty_card", "context", "wrong_place", loyalty_card, condition="partner"),
        Criterion("clock_24h", "preference", "near_miss", clock_24h, novel=True),
    ),
    contents,
    tastes,
    render,
    tools,
    BRIEF,
    missing,
)
