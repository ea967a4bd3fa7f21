"""What the built-in families share: parameters, goals, conclusions, output conventions and opening words."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, get_args

from intentfold.sources.builtin.vocabulary import Kind
from intentfold.task import Goal, Priority

LICENSE = "Apache-2.0"
VALUES = 6
NOTHING: Mapping[str, str] = MappingProxyType({})
PRIORITY_SHARE, FORMAT_SHARE = 0.08, 0.35

# Output conventions that the answers of a form can keep, in groups: of a group, one at a time.
_ONE_LINE = ("answer on one line", "put it on a single line", "keep it on one line")
FORMATS = {
    "calls": (("answer with JSON only", "write the calls as a JSON list", "give nothing but JSON"), _ONE_LINE),
    "sql": (("answer with SQL only", "just the query", "give nothing but SQL"), _ONE_LINE),
    "number": (("answer with the number only", "just the number", "give nothing but the number"), _ONE_LINE),
    "text": (
        ("no bullet points", "write without bullet points"),
        ("no headings", "write it without headings"),
        ("keep it to one paragraph", "write it as a single paragraph"),
    ),
    "code": (("answer with code only", "just the function", "give nothing but Python"),),
}


@dataclass(frozen=True, slots=True)
class Setting:
    """A parameter drawn for one task: its slot, value, other values, and how else it is spoken of."""

    slot: str
    type: str
    value: str
    others: tuple[str, ...]
    spoken: tuple[str, ...] = ()


def draw_setting(slot: str, kind: Kind, rng: random.Random, spoken: Sequence[str] = ()) -> Setting:
    """A value of this kind and up to `VALUES` - 1 others."""
    value, *others = kind.sample(rng, VALUES)
    return Setting(slot, kind.type, value, tuple(others), tuple(spoken))


def parameters(goals: Iterable[Setting], optional: Iterable[Setting]) -> dict[str, Any]:
    """The payload's parameters: those that goals set, and those that only a decoy may set."""

    def entry(setting: Setting, optional: bool) -> dict[str, Any]:
        values = [setting.value, *setting.others] if optional else list(setting.others)
        return {"type": setting.type, "values": values, "optional": optional, "spoken": list(setting.spoken)}

    return {s.slot: entry(s, False) for s in goals} | {s.slot: entry(s, True) for s in optional}


def make_goals(
    settings: Sequence[Setting],
    answer_form: str,
    rng: random.Random,
    *,
    needs: Mapping[str, str] = NOTHING,
    scopes: Mapping[str, str] = NOTHING,
) -> tuple[Goal, ...]:
    """A goal for each setting, now and then with a priority, then perhaps one or two output conventions.

    `needs` maps a slot to the earlier one that must be stated before it makes sense, `scopes` to what it holds for.
    """
    ids = {setting.slot: f"g{number}" for number, setting in enumerate(settings, start=1)}
    goals = []
    for setting in settings:
        needed = ids.get(needs.get(setting.slot, ""))
        goals.append(
            Goal(
                id=ids[setting.slot],
                text=f"{setting.slot}: {setting.value}",
                slot=setting.slot,
                value=setting.value,
                scope=scopes.get(setting.slot),
                priority=rng.choice(get_args(Priority)) if rng.random() < PRIORITY_SHARE else None,
                depends_on=() if needed is None else (needed,),
            )
        )
    groups = FORMATS[answer_form]
    chosen = rng.sample(groups, min(len(groups), rng.choice((1, 1, 2)))) if rng.random() < FORMAT_SHARE else []
    goals += [Goal(id=f"f{number}", text=rng.choice(group), kind="format") for number, group in enumerate(chosen, start=1)]
    return tuple(goals)


def make_conclusions(candidates: Iterable[tuple[str, str]], stated: Iterable[str]) -> list[dict[str, Any]]:
    """Conclusions all of whose slots are stated, from pairs of a slot and a template.

    A template that starts with `=` is arithmetic over its slots: `={nights} * {price per night}`.
    """
    stated = set(stated)
    found = []
    for slot, template in candidates:
        depends_on = list(dict.fromkeys(re.findall(r"\{([^{}]+)\}", template)))
        if stated.issuperset(depends_on):
            form, text = ("expression", template[1:]) if template.startswith("=") else ("template", template)
            found.append({"slot": slot, "depends_on": depends_on, form: text})
    return found


_FRAMES = (
    "I'd like you to {ask}.",
    "Can you {ask}?",
    "Could you {ask} for me?",
    "Please {ask}.",
    "I need you to {ask}.",
    "Help me {ask}.",
    "Hi, could you {ask}?",
    "We should {ask}; I'll give you the details.",
    "I want to {ask}, details to follow.",
    "Would you {ask}?",
    "Next job: {ask}.",
    "Let's {ask} together.",
    "Time to {ask}.",
    "I have to {ask} today and could use a hand.",
    "Today I want to {ask}.",
)


def opening(asks: Sequence[str], rng: random.Random) -> str:
    """The sentence that opens a dialogue: what kind of task, and no goal. `asks` are phrases such as "book a flight"."""
    return rng.choice(_FRAMES).format(ask=rng.choice(asks))
