"""Tool calls against possible answers, with the matching rules of BFCL v4 (AST evaluation, Python).

Reading, where it differs from BFCL's own checker: parallel calls are matched by a maximum one-to-one
matching, not greedily; strings are standardised inside nested lists too; an integer stands for a float inside
lists too; a dotted function name may be written with underscores, as chat APIs demand.
"""

from __future__ import annotations

import ast
import contextlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from intentfold.graders.grade import GoldError, Grade, failed, gold, passed, unfence
from intentfold.task import SourceTask

_MOST_CHARACTERS = 20_000
_TYPES: dict[str, type] = {
    "string": str,
    "integer": int,
    "float": float,
    "number": float,
    "boolean": bool,
    "array": list,
    "tuple": list,
    "dict": dict,
    "object": dict,
    "any": str,
}

Call = tuple[str, dict[str, Any]]


def grade_calls(task: SourceTask, answer: str) -> Grade:
    """Full credit when the calls and the possible ones match one to one, in any order."""
    functions = {function["name"]: function for function in gold(task, "reference.functions", list)}
    wanted = [_possible(task, entry, functions) for entry in gold(task, "reference.possible", list)]
    try:
        calls = parse_calls(answer)
    except ValueError as error:
        return failed(str(error))
    if len(calls) != len(wanted):
        return failed(f"{len(calls)} calls where {len(wanted)} were expected")
    problems = [[_mismatch(call, name, arguments, functions[name]) for name, arguments in wanted] for call in calls]
    unmatched = _first_unmatched(problems)
    if unmatched is None:
        return passed()
    if len(calls) == 1:
        return failed(str(problems[0][0]))
    return failed(f"call {unmatched} ({calls[unmatched][0]}) matches none that is left")


def _possible(task: SourceTask, entry: Any, functions: Mapping[str, Any]) -> tuple[str, dict[str, list[Any]]]:
    field = "reference.possible"
    if not isinstance(entry, Mapping) or len(entry) != 1:
        raise GoldError(task, field, f"each entry must map one function name to its arguments, got {entry!r}")
    ((name, arguments),) = entry.items()
    if name not in functions:
        raise GoldError(task, field, f"{name!r} is not among reference.functions")
    parameters = functions[name].get("parameters", {}).get("properties")
    if parameters is None:
        raise GoldError(task, "reference.functions", f"{name!r} has no parameters.properties")
    for argument, values in arguments.items():
        if argument not in parameters:
            raise GoldError(task, field, f"{name!r} has no parameter {argument!r}")
        if not isinstance(values, list) or not values:
            raise GoldError(task, field, f"{name}.{argument} must be a list of values, got {values!r}")
        kind = parameters[argument].get("type")
        if kind not in _TYPES:
            raise GoldError(task, "reference.functions", f"{name}.{argument} has unknown type {kind!r}")
    return name, arguments


def parse_calls(answer: str) -> list[Call]:
    """Calls from JSON (`{"name", "arguments"}`, one or a list) or Python style `f(a=1)`, fenced or not.

    Nothing is evaluated. Raises ValueError with what is wrong.
    """
    text = unfence(answer)
    if len(text) > _MOST_CHARACTERS:
        raise ValueError(f"an answer of {len(text)} characters is no list of calls")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return _parse_python(text)
    return [_from_json(item) for item in (data if isinstance(data, list) else [data])]


def _from_json(item: Any) -> Call:
    match item:
        case {"name": str(name), "arguments": dict(arguments)}:
            return name, arguments
        case {"name": str(name), "arguments": str(text)}:  # chat APIs carry arguments as JSON text
            with contextlib.suppress(ValueError, RecursionError):
                decoded = json.loads(text)
                if isinstance(decoded, dict):
                    return name, decoded
    raise ValueError('a call must look like {"name": ..., "arguments": {...}}')


def _parse_python(text: str) -> list[Call]:
    try:
        tree = ast.parse(text, mode="eval").body
        nodes = tree.elts if isinstance(tree, ast.List | ast.Tuple) else [tree]
        calls = []
        for node in nodes:
            if not isinstance(node, ast.Call) or node.args or any(word.arg is None for word in node.keywords):
                raise ValueError("neither JSON nor calls with named arguments")
            name = ast.unparse(node.func)
            if not re.fullmatch(r"\w+(\.\w+)*", name):
                raise ValueError("a function must be called by its name")
            values = {str(word.arg): ast.literal_eval(word.value) for word in node.keywords}
            calls.append((name, _listed(values)))
    except (SyntaxError, MemoryError, RecursionError, TypeError) as error:
        raise ValueError("neither JSON nor Python-style calls") from error
    return calls


def _listed(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_listed(item) for item in value]
    if isinstance(value, dict):
        return {key: _listed(item) for key, item in value.items()}
    return value


def _mismatch(call: Call, name: str, wanted: Mapping[str, list[Any]], function: Mapping[str, Any]) -> str | None:
    called, arguments = call
    if called.replace(".", "_") != name.replace(".", "_"):
        return f"calls {called!r}"
    parameters = function["parameters"]
    for required in parameters.get("required", ()):
        if required not in arguments:
            return f"{name}: required argument {required!r} is missing"
    for argument, value in arguments.items():
        if argument not in wanted:
            return f"{name}: unexpected argument {argument!r}"
        schema = parameters["properties"][argument]
        if not any(_fits_type(value, schema, one) and _same(value, one) for one in wanted[argument]):
            return f"{name}: argument {argument!r} has a value that is not acceptable"
    for argument, values in wanted.items():
        if argument not in arguments and "" not in values:
            return f"{name}: argument {argument!r} is missing"
    return None


def _fits_type(value: Any, schema: Mapping[str, Any], acceptable: Any) -> bool:
    """By the schema, or by the type of the acceptable value (BFCL's "variables" are such)."""
    expected = _TYPES.get(schema.get("type", "any"), str)
    if type(acceptable) is str and acceptable == "" and expected is not str:
        return False  # the mark for "may be omitted" is no value
    if type(value) is int and expected is float:
        return True
    if type(value) is type(acceptable) and type(value) is not list:
        return True
    if type(value) is not expected and type(value) is not type(acceptable):
        return False
    if type(value) is list and isinstance(acceptable, list) and len(value) == len(acceptable):
        items = schema.get("items") or {}
        return all(_fits_type(one, items, other) for one, other in zip(value, acceptable, strict=True))
    return True


def _same(value: Any, acceptable: Any) -> bool:
    """`acceptable` is one value; inside a dict each key holds a list of acceptable values of its own."""
    if isinstance(value, str) and isinstance(acceptable, str):
        return _standardised(value) == _standardised(acceptable)
    if isinstance(value, list) and isinstance(acceptable, list):
        return len(value) == len(acceptable) and all(map(_same, value, acceptable))
    if isinstance(value, dict) and isinstance(acceptable, dict):
        return all(
            key in acceptable and any(_same(item, one) for one in _choices(acceptable[key])) for key, item in value.items()
        ) and all(key in value or "" in _choices(choices) for key, choices in acceptable.items())
    if isinstance(value, bool) != isinstance(acceptable, bool):
        return False
    return bool(value == acceptable)


def _choices(entry: Any) -> list[Any]:
    return entry if isinstance(entry, list) else [entry]  # a dict within a dict is written plainly


def _standardised(text: str) -> str:
    return re.sub(r"[ ,./\-_*^]", "", text).lower().replace("'", '"')


def _first_unmatched(problems: Sequence[Sequence[str | None]]) -> int | None:
    """Augmenting paths on the bipartite graph of pairs without a problem: a call left alone, or None."""
    owner: dict[int, int] = {}

    def assign(call: int, seen: set[int]) -> bool:
        for slot, problem in enumerate(problems[call]):
            if problem is None and slot not in seen:
                seen.add(slot)
                if slot not in owner or assign(owner[slot], seen):
                    owner[slot] = call
                    return True
        return False

    return next((call for call in range(len(problems)) if not assign(call, set())), None)


def reference_calls(task: SourceTask) -> str:
    """The possible answer's first choices as JSON; omits what may be omitted and has no other value."""
    calls = []
    for entry in gold(task, "reference.possible", list):
        ((name, arguments),) = entry.items()
        chosen = {key: _first(values) for key, values in arguments.items() if _given(values)}
        calls.append({"name": name, "arguments": chosen})
    return json.dumps(calls, ensure_ascii=False)


def _given(values: list[Any]) -> list[Any]:
    # A lone "" is BFCL's mark for "may be omitted" and never a value to pass.
    return [value for value in values if value != ""]


def _first(values: list[Any]) -> Any:
    return _chosen(_given(values)[0])


def _chosen(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _first(_choices(item)) for key, item in value.items() if _given(_choices(item))}
    return [_chosen(item) for item in value] if isinstance(value, list) else value
