"""Tool calls: one or two calls of invented functions, with every argument named by its slot."""

from __future__ import annotations

import random
from itertools import combinations
from typing import Any

from intentfold.intent import normalise
from intentfold.records import canonical_json, content_hash
from intentfold.sources.builtin.common import LICENSE, Setting, draw_setting, make_conclusions, make_goals, opening, parameters
from intentfold.sources.builtin.tool_functions import FUNCTIONS, Argument, Function
from intentfold.sources.builtin.vocabulary import FIRST_NAMES
from intentfold.task import SourceTask

TWO_CALLS, SCOPED = 0.25, 0.15
LEAST_DECOYS, MOST_DECOYS = 5, 8


def _slots(function: Function) -> set[str]:
    return {normalise(words) for a in function.arguments for words in (a.slot, *a.spoken)}


# Two functions go together only where no slot of one can be taken for one of the other.
PAIRS = tuple((one, other) for one, other in combinations(FUNCTIONS, 2) if not _slots(one) & _slots(other))


def task(index: int, seed: int) -> SourceTask:
    """The task of that index: the same for the same seed, always."""
    rng = random.Random(f"tools-{seed}-{index}")
    functions = rng.choice(PAIRS) if rng.random() < TWO_CALLS else (rng.choice(FUNCTIONS),)
    stated: dict[str, Setting] = {}
    optional: dict[str, Setting] = {}
    possible = []
    for function in functions:
        given = _given(function, len(functions), rng)
        drawn = {a.slot: draw_setting(a.slot, a.kind, rng, a.spoken) for a in given}
        stated |= drawn
        possible.append({function.name: {a.name: [_typed(drawn[a.slot])] for a in given}})
        others = [a for a in function.arguments if a not in given]
        kept = rng.sample(others, min(len(others), MOST_DECOYS // len(functions)))
        optional |= {a.slot: draw_setting(a.slot, a.kind, rng, a.spoken) for a in kept}
    settings = list(stated.values())
    personal = [slot for function in functions for slot in function.personal if slot in stated]
    scopes = {rng.choice(personal): rng.choice(FIRST_NAMES)} if personal and rng.random() < SCOPED else {}
    needs = {slot: needed for function in functions for slot, needed in function.after}
    candidates = [conclusion for function in functions for conclusion in function.conclusions]
    used = stated.keys() | optional.keys()
    calls = [{"name": f.name, "arguments": {a.name: a.slot for a in f.arguments if a.slot in used}} for f in functions]
    return SourceTask(
        id=f"tools-{seed}-{index}",
        family="tools",
        origin=f"tools:{content_hash(canonical_json(possible))}",
        license=LICENSE,
        request=_request(functions, rng),
        goals=make_goals(settings, "calls", rng, needs=needs, scopes=scopes),
        answer_form="calls",
        payload={
            "parameters": parameters(settings, optional.values()),
            "program": {"calls": calls},
            "reference": {"possible": possible, "functions": [_described(function) for function in functions]},
            "conclusions": make_conclusions(candidates, stated),
        },
    )


def _given(function: Function, calls: int, rng: random.Random) -> list[Argument]:
    """The arguments that goals set: those required and, where few calls leave room, some more."""
    required = list(function.arguments[: function.required])
    room = len(function.arguments) - function.required - LEAST_DECOYS
    extra = rng.sample(function.arguments[function.required :], rng.randint(0, min(3, room) if calls == 1 else 1))
    chosen = [*required, *extra]
    return [a for a in function.arguments if a in chosen]


def _typed(setting: Setting) -> Any:
    match setting.type:
        case "integer":
            return int(setting.value)
        case "number":
            return float(setting.value)
        case "boolean":
            return setting.value == "yes"
    return setting.value


def _described(function: Function) -> dict[str, Any]:
    """The function as BFCL describes one."""
    properties = {
        a.name: {"type": "float" if a.kind.type == "number" else a.kind.type, "description": f"The {a.slot}."}
        for a in function.arguments
    }
    required = [a.name for a in function.arguments[: function.required]]
    return {
        "name": function.name,
        "description": function.description,
        "parameters": {"type": "dict", "properties": properties, "required": required},
    }


def _request(functions: tuple[Function, ...], rng: random.Random) -> str:
    return opening([" and ".join(rng.choice(function.asks) for function in functions)], rng)
