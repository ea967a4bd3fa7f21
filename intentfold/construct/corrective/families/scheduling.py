"""Meeting plans by calendar calls: buffers, days, lengths, guests and agendas of the events, and a plan file."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

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

PATH = "plan.md"
CREATED = "created"
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
PEOPLE = ("Aino", "Bruno", "Chidi", "Dorota", "Emre", "Freya", "Goran", "Hana")
SUBJECTS = ("budget", "launch", "hiring", "audit", "roadmap", "support", "pricing", "training")
ABROAD = {"Lisbon": "WET", "Nairobi": "EAT", "Toronto": "EST", "Seoul": "KST"}


def contents(rng: random.Random) -> dict[str, str]:
    first, second = rng.sample(SUBJECTS, 2)
    guest, other = rng.sample(PEOPLE, 2)
    city = rng.choice(sorted(ABROAD)) if rng.random() < 0.75 else ""
    return {
        "first": first,
        "second": second,
        "guest": guest,
        "other": other,
        "city": city,
        "zone": ABROAD.get(city, ""),
        "day": rng.choice(("Monday", "Tuesday", "Wednesday", "Thursday")),
        "hour": f"{rng.randrange(9, 12):02d}",
    }


def tastes(rng: random.Random) -> dict[str, str]:
    # Far enough apart that a near miss of one is not another.
    return {
        "limit": rng.choice(("25", "35", "45")),
        "buffer": rng.choice(("10", "20")),
        "lead": rng.choice(("Ines", "Jonas", "Katya")),
    }


def render(v: Mapping[str, str], states: States) -> Output:
    length = int(v["limit"]) + {"met": 0, "near": 5, "unmet": 30}[states["event_length"]]
    gap = {"met": int(v["buffer"]), "near": int(v["buffer"]) - 5, "unmet": 0}[states["buffer_time"]]
    day = "Friday" if states["no_friday"] == "unmet" else v["day"]
    leads = {"met": (True, True), "near": (True, False), "unmet": (False, False)}[states["invite_lead"]]
    start = int(v["hour"]) * 60
    events = [(v["first"], v["guest"], day, start), (v["second"], v["other"], day, start + length + gap)]
    if states["no_friday"] == "near":
        events.append(("wrap-up", v["other"], "Friday", start))
    calls = [Observation("list_people", {"names": f"{v['guest']}, {v['other']}"}, _people(v))]
    plan = []
    for n, (subject, guest, day, minute) in enumerate(events):
        time = f"{minute // 60:02d}:{minute % 60:02d}"
        arguments = {
            "title": subject,
            "day": day,
            "start": time,
            "minutes": str(length),
            "guests": f"{guest}, {v['lead']}" if leads[min(n, 1)] else guest,
        }
        if states["agenda"] == "met":
            arguments["note"] = f"Agenda: open points on {subject}"
        calls.append(Observation("create_event", arguments, CREATED))
        plan.append(f"{day} {time} {subject} with {guest}")
    if states["agenda"] == "near":
        plan += [f"Agenda: open points on {v['first']}", f"Agenda: open points on {v['second']}"]
    abroad = {"met": f"Times also hold in {v['zone']}: see the invite for {v['city']}.", "near": f"One guest is in {v['city']}."}
    if states["time_zone"] in abroad:
        plan.append(abroad[states["time_zone"]])
    listed = {
        "met": f"1. {v['first']} 2. {v['second']}",
        "near": f"- {v['first']} - {v['second']}",
        "unmet": f"{v['first']} and {v['second']}",
    }[states["numbered_reply"]]
    return Output(f"Both meetings are set up: {listed}", tuple(calls), (File(PATH, "\n".join(plan) + "\n"),))


def _people(v: Mapping[str, str]) -> str:
    where = f"works from {v['city']} ({v['zone']})" if v["city"] else "local"
    return f"{v['guest']}: {where}; {v['other']}: local"


def tools(v: Mapping[str, str]) -> tuple[Tool, ...]:
    def people(arguments: Mapping[str, str], before: Sequence[Observation]) -> str:
        return _people(v)

    def create(arguments: Mapping[str, str], before: Sequence[Observation]) -> str:
        if arguments["day"] not in DAYS:
            return f"error: day is one of {', '.join(DAYS)}, got {arguments['day']}"
        if not re.fullmatch(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]", arguments["start"]):
            return f"error: start is HH:MM, got {arguments['start']}"
        if not re.fullmatch(r"[1-9][0-9]{0,2}", arguments["minutes"]):
            return f"error: minutes is a number from 1 to 999, got {arguments['minutes']}"
        return CREATED

    return (
        Tool("list_people", "where people work from", ("names",), people),
        Tool(
            "create_event",
            "puts a meeting into the calendar; start as HH:MM, guests separated by a comma and a space, note for the invite",
            ("title", "day", "start", "minutes", "guests"),
            create,
            ("note",),
        ),
    )


BRIEF = (
    f"Look up the people, create the events in the order in which they take place, write {PATH} with a line for each meeting,"
    " and tell the user what is set up: Both meetings are set up: LIST. Days are"
    " from Monday to Friday. An agenda begins with `Agenda:`. Time zones are written by their letters."
)


def missing(output: Output) -> str:
    return "" if _events(output) else "no meeting is in the calendar"


def _events(output: Output) -> list[Mapping[str, str]]:
    return [call.arguments for call in output.calls if call.name == "create_event" and call.result == CREATED]


def _minutes(time: str) -> int:
    return int(time[:2]) * 60 + int(time[3:])


def buffer_time(v: Mapping[str, str], output: Output) -> Finding:
    events = _events(output)
    for one, other in pairwise(events):
        gap = _minutes(other["start"]) - _minutes(one["start"]) - int(one["minutes"])
        if one["day"] == other["day"] and gap < int(v["buffer"]):
            found = almost if gap else unmet
            return found(f"only {gap} minutes lie between the meetings, not {v['buffer']}", f"start={other['start']}")
    return MET


def no_friday(v: Mapping[str, str], output: Output) -> Finding:
    wrong = [event for event in _events(output) if event["day"] == "Friday"]
    if not wrong:
        return MET
    found = almost if len(wrong) == 1 else unmet
    return found(f"the {wrong[-1]['title']} meeting is on a Friday", "day=Friday")


def agenda(v: Mapping[str, str], output: Output) -> Finding:
    if all(event.get("note", "").startswith("Agenda:") for event in _events(output)):
        return MET
    line = next((line for line in lines_of(file_text(output, PATH)) if line.startswith("Agenda:")), "")
    return almost("the agendas are in the plan, not in the invites", line) if line else unmet("the invites have no agenda")


def event_length(v: Mapping[str, str], output: Output) -> Finding:
    limit = int(v["limit"])
    wrong = [event for event in _events(output) if int(event["minutes"]) > limit]
    if not wrong:
        return MET
    minutes = int(wrong[0]["minutes"])
    found = almost if minutes <= limit + 5 else unmet
    return found(f"a meeting takes {minutes} minutes, more than {limit}", f"minutes={minutes}")


def invite_lead(v: Mapping[str, str], output: Output) -> Finding:
    events = _events(output)
    wrong = [event for event in events if v["lead"] not in event["guests"].split(", ")]
    if not wrong:
        return MET
    found = almost if len(wrong) < len(events) else unmet
    return found(f"{v['lead']} is not invited to the {wrong[0]['title']} meeting", f"guests={wrong[0]['guests']}")


def time_zone(v: Mapping[str, str], output: Output) -> Finding:
    abroad = re.search(r"works from (\w+) \((\w+)\)", " ".join(call.result for call in output.calls))
    if abroad is None:
        return NOT_APPLICABLE
    text = file_text(output, PATH)
    if abroad[2] in text:
        return MET
    line = next((line for line in lines_of(text) if abroad[1] in line), "")
    if line:
        return almost(f"the plan names {abroad[1]} but not its time zone", line)
    return unmet(f"the plan does not give the times for {abroad[1]}")


def numbered_reply(v: Mapping[str, str], output: Output) -> Finding:
    if re.search(r"1\. .+ 2\. ", output.reply):
        return MET
    shown = output.reply.partition(": ")[2]
    return (almost if shown.startswith("- ") else unmet)("the reply does not number the meetings", shown)


FAMILY = Family(
    "scheduling",
    (
        Criterion("buffer_time", "preference", "near_miss", buffer_time),
        Criterion("no_friday", "context", "near_miss", no_friday, contradicts=True),
        Criterion("agenda", "specification", "wrong_place", agenda),
        Criterion("event_length", "preference", "near_miss", event_length),
        Criterion("invite_lead", "specification", "near_miss", invite_lead),
        Criterion("time_zone", "context", "near_miss", time_zone, condition="city"),
        Criterion("numbered_reply", "preference", "near_miss", numbered_reply, novel=True),
    ),
    contents,
    tastes,
    render,
    tools,
    BRIEF,
    missing,
)
