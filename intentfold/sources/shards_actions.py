"""Sharded BFCL: the shards are the goals, and every argument of the gold calls is set by the shard that states its value.

Of each shard one value can be said otherwise. An argument whose value no shard states word for word comes with the intent.
"""

from __future__ import annotations

import random
import re
from typing import Any

from intentfold.sources.bfcl import calls_of, check_functions, check_possible, optional_calls
from intentfold.sources.bfcl_arguments import Argument, Pool, other_values
from intentfold.sources.builtin.common import opening
from intentfold.sources.loading import Skip
from intentfold.sources.shards import SPLIT, Shards, as_goals
from intentfold.sources.values import said
from intentfold.task import SourceTask


def task(shards: Shards) -> SourceTask:
    """The task on the record's own functions and possible answers."""
    functions, possible = shards.field("function", list), shards.field("reference_answer", list)
    check_functions(shards.where, functions)
    check_possible(shards.where, functions, possible)
    calls = calls_of(functions, possible)
    if not calls or not all(calls):
        raise Skip("a call without arguments")
    pool = Pool(argument for call in calls for argument in call if argument.must)
    texts = shards.texts
    parameters: dict[str, Any] = {}
    choices: dict[str, dict[str, Any]] = {}
    templates: dict[int, tuple[str, list[str]]] = {}  # shard -> its words around the value, and what the value may be
    program_calls: list[dict[str, Any]] = []
    stated = [
        (n, argument, _place(argument, texts)) for n, call in enumerate(calls, start=1) for argument in call if argument.must
    ]
    for n, argument, place in stated:
        if place is not None and place[0] not in templates:
            shard, start, written = place
            values = other_values(argument, pool)
            template = texts[shard][:start] + "{value}" + texts[shard][start + len(written) :]
            if values:
                templates[shard] = template, [written, *values]
                name = f"{argument.words} of call {n}"
                parameters[name] = {"type": argument.type, "values": values, "optional": False, "spoken": [], "text": template}
    for n, call in enumerate(calls, start=1):
        slots = {}
        for argument in (argument for argument in call if argument.must):
            name = slots[argument.name] = f"{argument.words} of call {n}"
            if name in parameters:
                continue
            place = next(found for number, other, found in stated if number == n and other is argument)
            shard = 0 if place is None else place[0]
            template, values = templates.get(shard, (texts[shard], [texts[shard]]))
            parameters[name] = {
                "type": argument.type, "values": other_values(argument, pool), "optional": False, "spoken": [], "text": template,
            }  # fmt: skip
            choices[name] = dict.fromkeys(values, argument.value)
        program_calls.append({"name": call[0].function, "arguments": slots})
    told = {parameter["text"] for parameter in parameters.values()}
    for n, text in enumerate(texts, start=1):
        if templates.get(n - 1, (text,))[0] not in told:
            parameters[f"shard {n}"] = {"type": "string", "values": [], "optional": False, "spoken": [], "text": text}
    more = optional_calls(calls[-1], program_calls[-1]["arguments"], parameters)
    for slot in more:
        parameters[slot].pop("text", None)
    return SourceTask(
        id=shards.id,
        family="bfcl",
        origin=f"bfcl/{shards.record['task_id'].rpartition('/')[2]}",
        license="Apache-2.0",
        request=opening([f"use the tool {calls[0][0].function}"], random.Random(shards.id)),
        goals=as_goals(texts),
        answer_form="calls",
        payload={
            "benchmark_split": SPLIT,
            "parameters": parameters,
            "program": {"calls": program_calls, "choices": choices, "optional_calls": more},
            "reference": {"possible": possible, "functions": functions},
        },
    )


def _place(argument: Argument, texts: tuple[str, ...]) -> tuple[int, int, str] | None:
    """Shard, place and words of the argument's value, where the shards state it exactly once."""
    written = said(argument.value)
    found = [
        (n, m.start(), written) for n, text in enumerate(texts) for m in re.finditer(rf"(?<!\w){re.escape(written)}(?!\w)", text)
    ]
    return found[0] if len(found) == 1 else None
