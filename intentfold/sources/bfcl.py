"""BFCL v4 (simple_python, multiple, parallel) as source tasks: one goal per argument that the gold calls must give.

Decoys set arguments that the gold calls leave out, or ask for one more call of the gold function.
"""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from intentfold.intent import normalise, slot_text
from intentfold.records import canonical_json
from intentfold.sources.bfcl_arguments import Argument, Pool, other_values
from intentfold.sources.builtin.common import make_conclusions, opening
from intentfold.sources.loading import LoadReport, Skip, SourceError, checked, listed, read_lines
from intentfold.sources.values import said
from intentfold.task import Goal, SourceTask

CATEGORIES = ("simple_python", "multiple", "parallel")
ENOUGH_DECOYS = 6
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
_MORE = ("additional", "extra", "further", "other", "spare", "alternative")
_VERB_ENDINGS = ((r"ies$", "y"), (r"(?<=ch|sh|ss)es$", ""), (r"(?<=[^s])s$", ""))


def load_bfcl(folder: Path) -> LoadReport:
    """The tasks of the three categories in `folder` (`BFCL_v4_*.json` and `possible_answer_BFCL_v4_*.json`)."""
    records = [(category, *record) for category in CATEGORIES for record in _records(folder, category)]
    pool = Pool(a for _, record, possible in records for call in calls_of(record["function"], possible) for a in call if a.must)
    tasks: list[SourceTask] = []
    left: dict[str, str] = {}
    for category, record, possible in records:
        try:
            tasks.append(_task(category, record, possible, pool))
        except Skip as reason:
            left[f"bfcl/{record['id']}"] = str(reason)
    return LoadReport(tuple(tasks), left)


def _records(folder: Path, category: str) -> list[tuple[dict[str, Any], list[Any]]]:
    """(question record, possible answer) of one category, checked against the upstream format."""
    what = f"BFCL v4 {category}, one JSON object a line"
    path = folder / f"possible_answer_BFCL_v4_{category}.json"
    lines = read_lines(path, f"the possible answers of {what}", {"id": str, "ground_truth": list})
    answers = {record["id"]: (where, record["ground_truth"]) for where, record in lines}
    found = []
    questions = folder / f"BFCL_v4_{category}.json"
    for where, record in read_lines(questions, what, {"id": str, "question": list, "function": list}):
        if record["id"] not in answers:
            raise SourceError(f"{where}: field id: {record['id']!r} has no possible answer")
        check_functions(where, record["function"])
        at, possible = answers[record["id"]]
        check_possible(at, record["function"], possible)
        found.append((record, possible))
    return found


def check_functions(where: str, functions: list[Any]) -> None:
    """Raise `SourceError` unless the functions are described as upstream does."""
    for position, function in enumerate(functions):
        at = f"{where}: function {position}"
        checked(at, function, {"name": str, "description": str, "parameters": dict})
        listed(at, "parameters.required", function["parameters"].get("required", []), str)
        for name, schema in checked(at, function["parameters"], {"properties": dict})["properties"].items():
            told: dict[str, type] = {"description": str, "enum": list}
            one = checked(f"{at}: argument {name}", schema, {"type": str})
            checked(f"{at}: argument {name}", one, {key: kind for key, kind in told.items() if key in one})


def check_possible(where: str, described: list[Any], possible: list[Any]) -> None:
    """Raise `SourceError` unless the possible answers call the described functions."""
    functions = {function["name"]: function for function in described}
    for call in possible:
        if not isinstance(call, dict) or len(call) != 1:
            raise SourceError(f"{where}: field ground_truth: expected one function per entry, got {str(call)[:80]!r}")
        ((name, arguments),) = call.items()
        if name not in functions:
            raise SourceError(f"{where}: field ground_truth: {name!r} is none of the functions {sorted(functions)}")
        if not isinstance(arguments, dict):
            raise SourceError(f"{where}: field ground_truth: {name} must map arguments to values, got {str(arguments)[:80]!r}")
        for argument, acceptable in arguments.items():
            if argument not in functions[name]["parameters"]["properties"]:
                raise SourceError(f"{where}: field ground_truth: {name} has no argument {argument!r}")
            if not isinstance(acceptable, list) or not acceptable:
                raise SourceError(f"{where}: field ground_truth: {name}.{argument} must list values, got {acceptable!r}")
            _check_choices(f"{where}: field ground_truth: {name}.{argument}", acceptable)


def _check_choices(where: str, acceptable: Any) -> None:
    """Inside a dict every key lists acceptable values of its own."""
    if isinstance(acceptable, dict):
        if bad := {key: choices for key, choices in acceptable.items() if not isinstance(choices, list)}:
            raise SourceError(f"{where}: must list the values of every key, got {str(bad)[:80]!r}")
        acceptable = list(acceptable.values())
    for one in acceptable if isinstance(acceptable, list) else ():
        _check_choices(where, one)


def calls_of(functions: Sequence[Mapping[str, Any]], possible: Sequence[Mapping[str, Any]]) -> list[list[Argument]]:
    """Every argument of every gold call, also those that the gold leaves out."""
    schemas = {function["name"]: function["parameters"] for function in functions}
    calls = []
    for call in possible:
        ((function, given),) = call.items()
        arguments = []
        for name, schema in schemas[function]["properties"].items():
            # An empty string among the acceptable values marks what may be left out, unless the function requires it.
            acceptable = tuple(value for value in given.get(name, ()) if value != "")
            must = bool(acceptable) and ("" not in given[name] or name in schemas[function].get("required", ()))
            arguments.append(Argument(function, name, schema, acceptable, must))
        calls.append(arguments)
    return calls


def _task(category: str, record: Mapping[str, Any], possible: list[Any], pool: Pool) -> SourceTask:
    calls = calls_of(record["function"], possible)
    if not calls or not all(calls):
        raise Skip("a call without arguments")
    if len(calls) > len(_ORDINALS):
        raise Skip("more parallel calls than can be told apart")
    slots = _slots(calls)
    parameters: dict[str, Any] = {}
    goals: list[Goal] = []
    for call, named in zip(calls, slots, strict=True):
        for argument, (slot, spoken) in zip(call, named, strict=True):
            if slot in parameters:
                continue
            values = other_values(argument, pool)
            if argument.must:
                goals.append(Goal(f"g{len(goals) + 1}", slot_text(slot, said(argument.value)), slot, said(argument.value)))
            elif not values:
                continue
            parameters[slot] = {"type": argument.type, "values": values, "optional": not argument.must, "spoken": spoken}
    if not goals:
        raise Skip("no argument that must be given")
    program: dict[str, Any] = {
        "calls": [
            {
                "name": call[0].function,
                "arguments": {a.name: slot for a, (slot, _) in zip(call, named, strict=True) if slot in parameters},
            }
            for call, named in zip(calls, slots, strict=True)
        ]
    }
    more = optional_calls(calls[-1], program["calls"][-1]["arguments"], parameters)
    if more:
        program["optional_calls"] = more
    pairs = [(f"{one.slot} and {two.slot}", f"{{{one.slot}}} and {{{two.slot}}}") for one, two in itertools.pairwise(goals)]
    gold = {function["name"]: function for function in record["function"]}[calls[0][0].function]
    return SourceTask(
        id=f"bfcl/{record['id']}",
        family="bfcl",
        origin=f"bfcl/{record['id']}",
        license="Apache-2.0",
        request=_request(gold, goals, random.Random(record["id"])),
        goals=tuple(goals),
        answer_form="calls",
        payload={
            "category": category,
            "parameters": parameters,
            "program": program,
            "reference": {"possible": possible, "functions": record["function"]},
            "conclusions": make_conclusions(pairs, parameters),
        },
    )


def _slots(calls: Sequence[Sequence[Argument]]) -> list[list[tuple[str, list[str]]]]:
    """For every argument of every call its slot and the other ways to say it.

    Parallel calls share a slot where all of them accept the same values; else the slot says which call it belongs
    to ("second artist").
    """
    if len({call[0].function for call in calls}) > 1:
        raise Skip("parallel calls of several functions")
    phrases = {argument.name: argument.phrases for argument in calls[0]}
    uses = Counter(normalise(phrase) for found in phrases.values() for phrase in found)
    phrases = {name: [phrase for phrase in found if uses[normalise(phrase)] == 1] or [name] for name, found in phrases.items()}
    slots = []
    for position, call in enumerate(calls):
        named = []
        for index, argument in enumerate(call):
            slot, *spoken = phrases[argument.name]
            if len({canonical_json(other[index].acceptable) for other in calls}) > 1:
                spoken = [f"{phrase} in the {_ORDINALS[position]} request" for phrase in (slot, *spoken)]
                slot = _of_call(slot, position)
            named.append((slot, spoken))
        slots.append(named)
    distinct = {slot for named in slots for slot, _ in named}
    if len(set(map(normalise, distinct))) < len(distinct):
        raise Skip("arguments whose names differ only by case")
    return slots


def _of_call(phrase: str, position: int) -> str:
    if re.search(rf"\b({'|'.join(_ORDINALS)})\b|\d", phrase):
        return f"{phrase} in the {_ORDINALS[position]} call"
    return f"{_ORDINALS[position]} {phrase}"


def optional_calls(call: Sequence[Argument], arguments: Mapping[str, str], parameters: dict[str, Any]) -> dict[str, Any]:
    """More calls like `call`, each with one argument of its own, until the task has enough decoys; adds their parameters."""
    found: dict[str, Any] = {}
    needed = ENOUGH_DECOYS - sum(parameter["optional"] for parameter in parameters.values())
    varied = [a for a in call if a.must and a.type != "boolean" and parameters[arguments[a.name]]["values"]]
    for more, argument in [(more, argument) for more in _MORE for argument in varied][: max(needed, 0)]:
        slot = f"{more} {argument.phrases[0]}"
        if slot in parameters:
            continue
        parameters[slot] = {**parameters[arguments[argument.name]], "optional": True, "spoken": []}
        given = {a.name: arguments[a.name] for a in call if a.must}
        found[slot] = {"name": argument.function, "arguments": {**given, argument.name: slot}}
    return found


def _request(function: Mapping[str, Any], goals: Sequence[Goal], rng: random.Random) -> str:
    """A neutral opening from the first sentence of the function's description, unless that gives a value away."""
    sentence = re.split(r"(?<=[a-z)])\.(?:\s|$)", function["description"].strip())[0]
    verb, space, rest = sentence.partition(" ")
    ending, base = next((e for e in _VERB_ENDINGS if re.search(e[0], verb)), ("$", ""))
    verb = re.sub(ending, base, verb)
    request = opening([f"{verb[:1].lower()}{verb[1:]}{space}{rest}"], rng)
    telling = [goal.value for goal in goals if goal.value and (len(goal.value) > 2 or goal.value.isdigit())]
    if any(re.search(rf"(?<!\w){re.escape(value)}(?!\w)", request, re.IGNORECASE) for value in telling):
        return opening([f"use the tool {function['name']}"], rng)
    return request
