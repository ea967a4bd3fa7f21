"""A small task worked by hand, for tests that should not depend on a family's vocabulary."""

from __future__ import annotations

from intentfold.task import Goal, SourceTask

SLOTS = [("destination city", "Lisbon"), ("number of seats", "3"), ("travel date", "May 12"), ("cabin class", "economy")]
OTHERS = {
    "destination city": ["Porto", "Portland", "Faro", "Oslo"],
    "number of seats": ["13", "2", "5", "4"],
    "travel date": ["May 21", "June 12", "May 2", "July 1"],
    "cabin class": ["business", "premium", "first", "sleeper"],
}
EXTRAS = {
    "meal": ["vegan", "halal"], "baggage": ["two bags", "one bag"], "lounge access": ["yes", "no"],
    "seat row": ["7", "17"], "insurance": ["basic", "full"], "boarding group": ["A", "B"],
}  # fmt: skip


def flight_task(origin: str = "flight-1") -> SourceTask:
    """A tool call of four arguments, with six optional ones for decoys."""
    parameters = {slot: {"type": "string", "values": values, "optional": False, "spoken": []} for slot, values in OTHERS.items()}
    parameters |= {slot: {"type": "string", "values": values, "optional": True, "spoken": []} for slot, values in EXTRAS.items()}
    functions = [
        {
            "name": "book_flight",
            "description": "Book a flight.",
            "parameters": {
                "type": "dict",
                "properties": {slot: {"type": "string", "description": slot} for slot in parameters},
                "required": [slot for slot, _ in SLOTS],
            },
        }
    ]
    return SourceTask(
        id=origin,
        family="tools",
        origin=origin,
        license="Apache-2.0",
        request="I need a flight.",
        goals=(
            *(Goal(f"g{n}", f"{slot}: {value}", slot, value) for n, (slot, value) in enumerate(SLOTS)),
            Goal("f", "answer with the calls only", kind="format"),
        ),
        answer_form="calls",
        payload={
            "parameters": parameters,
            "program": {"calls": [{"name": "book_flight", "arguments": {slot: slot for slot in parameters}}]},
            "reference": {"possible": [{"book_flight": {slot: [value] for slot, value in SLOTS}}], "functions": functions},
            "conclusions": [
                {
                    "slot": "trip",
                    "depends_on": ["destination city", "travel date"],
                    "template": "{destination city} on {travel date}",
                },
            ],
        },
    )
