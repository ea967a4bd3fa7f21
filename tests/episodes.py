"""Two episodes written by hand, small enough to be worked on paper."""

from __future__ import annotations

from intentfold.dialogue import Turn
from intentfold.intent import Edit, IntentState, fold
from intentfold.task import Goal, SourceTask
from intentfold.trace import Episode, EpisodeTurn


def table_task(origin: str = "table", answer: str = "Lisbon") -> SourceTask:
    """A call with a city, a number of guests and, for decoys, a pool and a garden."""
    parameter = {"type": "string", "values": [], "optional": False, "spoken": []}
    payload = {
        "parameters": {
            "city": parameter,
            "guests": {**parameter, "type": "integer"},
            "pool": {**parameter, "type": "boolean", "optional": True},
            "garden": {**parameter, "type": "boolean", "optional": True},
        },
        "program": {"calls": [{"name": "book", "arguments": {s: s for s in ("city", "guests", "pool", "garden")}}]},
        "reference": {
            "possible": [{"book": {"city": [answer], "guests": [3]}}],
            "functions": [
                {
                    "name": "book",
                    "description": "Book a house.",
                    "parameters": {
                        "type": "dict",
                        "properties": {
                            "city": {"type": "string", "description": "city"},
                            "guests": {"type": "integer", "description": "guests"},
                            "pool": {"type": "boolean", "description": "pool"},
                            "garden": {"type": "boolean", "description": "garden"},
                        },
                        "required": ["city", "guests"],
                    },
                }
            ],
        },
    }
    goals = (Goal("g1", f"city: {answer}", "city", answer), Goal("g2", "guests: 3", "guests", "3"))
    return SourceTask(origin, "houses", origin, "Apache-2.0", "Book me a house.", goals, "calls", payload)


def episode(task: SourceTask, name: str, *turns: tuple[str, tuple[Edit, ...], str]) -> Episode:
    """An episode from (user, edits, reply) triples."""
    state, steps = IntentState(), []
    for user, edits, reply in turns:
        state = fold(state, edits)
        steps.append(EpisodeTurn(user, edits, state, (), reply))
    goals = " ".join(f"{goal.text}." for goal in task.goals)
    clean = f"{task.request} {goals}"
    no_drift = (Turn("user", clean), Turn("assistant", "Noted."), Turn("user", "Go ahead."))
    return Episode(1, name, task, 3, "test", "test", 0, (), tuple(steps), clean, no_drift)


def house(name: str = "house") -> Episode:
    """City changed by words, a pool withdrawn in anaphora, a garden withdrawn by name, a conclusion that goes stale."""
    return episode(
        table_task(name),
        name,
        ("Book me a house. city: Porto. I want a pool.", (_add("city", "Porto"), _add("pool", "yes")), "Porto, then."),
        ("Scratch that last one. Guests: 3.", (Edit("DELETE", id=2), _add("guests", "3")), "Three guests: 3 beds."),
        (
            "And a garden.",
            (_add("garden", "yes"), Edit("ADD", kind="conclusion", slot="beds", value="3", depends_on=(1,))),
            "Fine.",
        ),
        ("Make the city Lisbon.", (Edit("REPLACE", id=1, value="Lisbon"),), "Lisbon."),
        ("No garden after all.", (Edit("DELETE", id=4),), "Dropped."),
        ("Go ahead.", (), ""),
    )


def small_house(name: str = "small") -> Episode:
    """Nothing changes."""
    return episode(
        table_task(name),
        name,
        ("Book me a house in a city: Lisbon.", (_add("city", "Lisbon"),), "Lisbon."),
        ("Guests: 3.", (_add("guests", "3"),), "Noted."),
        ("Go ahead.", (), ""),
    )


def _add(slot: str, value: str) -> Edit:
    return Edit("ADD", slot=slot, value=value)
