"""The state executor (design D13): an agent without a model, that answers a task from the active items alone.

Every active goal is looked up among the task's own parameters, by slot and value or by exact words. What cannot be
looked up is counted and ignored, never guessed at. Scope and priority play no part: a task gives every parameter a
slot of its own.
"""

from __future__ import annotations

import ast
import json
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from string import Template
from typing import Any

import sqlglot
from sqlglot import exp

from intentfold.intent import IntentItem, normalise
from intentfold.task import SourceTask

_NUMBER = re.compile(r"[+-]?\d{1,15}(\.\d{1,15})?", re.ASCII)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(\D|$))", re.ASCII)
_BOOLEANS = {"yes": True, "true": True, "no": False, "false": False}
_EDGES = " .,;:!?\"'`"


@dataclass(frozen=True, slots=True)
class Execution:
    """The answer, and the active goals that name no parameter or no value of its type.

    An answer is empty where the items leave nothing to answer with (no quantity given, a division by zero).
    """

    answer: str
    unresolved: tuple[IntentItem, ...]


def execute(task: SourceTask, items: Iterable[IntentItem]) -> Execution:
    """Answer `task` from `items` (only those of kind goal set parameters).

    Where two items set one parameter, the item with the higher id wins. A parameter that none sets leaves its piece
    of the answer out.
    """
    if task.answer_form not in _ANSWER:
        raise ValueError(f"task {task.id}: nothing to execute, its answers are of form {task.answer_form!r}")
    values: dict[str, Any] = {}
    unresolved = []
    for item in sorted(items, key=lambda item: item.id):
        if item.kind == "goal":
            found = resolve(task, item)
            values.update(found)
            if not found:
                unresolved.append(item)
    return Execution(_ANSWER[task.answer_form](task, values), tuple(unresolved))


def resolve(task: SourceTask, item: IntentItem) -> dict[str, Any]:
    """The parameters that the item sets, with their typed values: none where it cannot be resolved.

    An item without a slot sets every parameter whose words it fills, so that one sentence can carry two numbers.
    """
    parameters = task.payload["parameters"]
    if item.slot is not None:
        name = _named(parameters, item.slot)
        stated = {} if name is None else {name: item.value or ""}
    else:
        stated = _stated(parameters, item.text)
    choices = task.payload.get("program", {}).get("choices", {})
    found = {}
    for name, text in stated.items():
        try:
            found[name] = _choice(choices[name], text) if name in choices else parse_value(parameters[name]["type"], text)
        except ValueError:
            continue
    return found


def _named(parameters: Mapping[str, Any], slot: str) -> str | None:
    """The one parameter called `slot`, by its name or else by how it is spoken of."""
    wanted = normalise(slot)
    names = [name for name in parameters if normalise(name) == wanted]
    names = names or [name for name, p in parameters.items() if wanted in map(normalise, p.get("spoken", ()))]
    return names[0] if len(names) == 1 else None


def _stated(parameters: Mapping[str, Any], text: str) -> dict[str, str]:
    """Parameters whose words `text` fills (`slot: value`, or the parameter's own text), with the words filled in."""
    plain = " ".join(text.split()).strip(_EDGES)
    stated = {}
    for name, parameter in parameters.items():
        for words in (f"{name}: {{value}}", parameter.get("text")):
            match = None if words is None else _pattern(words).fullmatch(plain)
            if match:
                stated[name] = match[1] if match.re.groups else plain
    return stated


@lru_cache(maxsize=4096)
def _pattern(words: str) -> re.Pattern[str]:
    before, mark, after = " ".join(words.split()).strip(_EDGES).partition("{value}")
    return re.compile(re.escape(before) + ("(.+)" if mark else "") + re.escape(after), re.IGNORECASE)


def parse_value(type: str, text: str) -> Any:
    """The value that `text` says, for a parameter of `type`; raises `ValueError` where it says none."""
    plain = text.strip()
    if type == "string":
        if not plain:
            raise ValueError("an empty string is no value")
        return plain
    if type in ("integer", "number"):
        match = _NUMBER.fullmatch(_THOUSANDS.sub("", plain))
        if match is None or (type == "integer" and match[1]):
            raise ValueError(f"expected a value of type {type}, got {text!r}")
        return float(match[0]) if match[1] else int(match[0])
    if type == "boolean":
        if plain.casefold() not in _BOOLEANS:
            raise ValueError(f"expected one of {sorted(_BOOLEANS)}, got {text!r}")
        return _BOOLEANS[plain.casefold()]
    if type == "json":
        try:
            return json.loads(plain, parse_constant=_no_constant)
        except RecursionError:
            raise ValueError(f"expected JSON, got text nested too deeply: {text[:40]!r}") from None
    raise ValueError(f"parameter type must be string, integer, number, boolean or json, got {type!r}")


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _choice(choices: Mapping[str, Any], text: str) -> Any:
    wanted = normalise(text)
    for value, piece in choices.items():
        if normalise(value) == wanted:
            return piece
    raise ValueError(f"expected one of {list(choices)}, got {text!r}")


def _calls(task: SourceTask, values: Mapping[str, Any]) -> str:
    """The program's calls, and each optional call whose own slot is set."""
    program = task.payload["program"]
    optional = [call for slot, call in program.get("optional_calls", {}).items() if slot in values]
    calls = [
        {"name": call["name"], "arguments": {arg: values[slot] for arg, slot in call["arguments"].items() if slot in values}}
        for call in [*program["calls"], *optional]
    ]
    return json.dumps(calls, ensure_ascii=False)


def _sql(task: SourceTask, values: Mapping[str, Any]) -> str:
    program = task.payload["program"]
    query = _parsed(program["query"]).copy()
    if not isinstance(query, exp.Select):
        raise ValueError(f"task {task.id}: the program's query must be a SELECT, got {program['query']!r}")
    for slot, condition in program.get("conditions", {}).items():
        if slot in values:
            query.where(_parsed(condition.replace("{value}", _literal(values[slot]))).copy(), copy=False)
    for slot, condition in program.get("having", {}).items():
        if slot in values:
            query.having(_parsed(condition.replace("{value}", _literal(values[slot]))).copy(), copy=False)
    for slot in program.get("choices", {}):
        piece = values.get(slot, {})
        if "select" in piece:
            query.set("expressions", _parsed(f"SELECT {piece['select']}").copy().expressions)
        if "order" in piece:
            query.set("order", _parsed(f"SELECT 1 ORDER BY {piece['order']}").copy().args["order"])
    limit = program.get("limit")
    if limit in values:
        query.limit(values[limit], copy=False)
    return query.sql("sqlite")


@lru_cache(maxsize=4096)
def _parsed(sql: str) -> exp.Expr:
    return sqlglot.parse_one(sql, dialect="sqlite")


def _literal(value: Any) -> str:
    """A typed value as an SQL literal."""
    if isinstance(value, list):
        return f"({', '.join(map(_literal, value))})"
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int | float):
        return str(value)
    return "'" + str(value).replace("'", "''") + "'"


def _number(task: SourceTask, values: Mapping[str, Any]) -> str:
    program = task.payload["program"]
    names = {name: Fraction(str(values[slot])) for name, slot in program["names"].items() if slot in values}
    try:
        result = calculate(program["expression"], names)
        for slot, expression in program.get("adjustments", {}).items():
            if slot in values and result is not None:
                result = calculate(expression, {"result": result, "value": Fraction(str(values[slot]))})
    except ZeroDivisionError:
        return ""
    return "" if result is None else _show(result)


_OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def evaluate(expression: str) -> str:
    """The exact value of an arithmetic expression of plain numbers, as text.

    Raises `ValueError` (or `SyntaxError`) on anything else, and `ZeroDivisionError` as usual.
    """
    result = calculate(expression, {})
    if result is None:
        raise ValueError(f"expected arithmetic of plain numbers, got {expression!r}")
    return _show(result)


def calculate(expression: str, names: Mapping[str, Fraction]) -> Fraction | None:
    """The exact value of an arithmetic expression of + - * / // %, numbers and `names`.

    A name without a value leaves its operand out (`a * b` without `b` is `a`); None where nothing is left.
    Raises `ValueError` on any other syntax and `ZeroDivisionError` as usual.
    """
    return _calculate(_tree(expression), names)


@lru_cache(maxsize=4096)
def _tree(expression: str) -> ast.expr:
    return ast.parse(expression, mode="eval").body


def _calculate(node: ast.expr, names: Mapping[str, Fraction]) -> Fraction | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return Fraction(str(node.value))
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _calculate(node.operand, names)
        return None if value is None else -value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _calculate(node.left, names), _calculate(node.right, names)
        if left is None or right is None:
            return right if left is None else left
        return Fraction(_OPERATORS[type(node.op)](left, right))
    raise ValueError(f"expected arithmetic of + - * / // %, got {ast.unparse(node)!r}")


def _show(number: Fraction) -> str:
    """The number as a decimal where it has an end, else as a fraction."""
    if number.denominator == 1:
        return str(number.numerator)
    twos_and_fives = number.denominator
    for prime in (2, 5):
        while twos_and_fives % prime == 0:
            twos_and_fives //= prime
    if twos_and_fives != 1:
        return f"{number.numerator}/{number.denominator}"
    digits = next(n for n in range(1, 200) if 10**n % number.denominator == 0)
    sign, scaled = "-" if number < 0 else "", str(abs(number.numerator) * 10**digits // number.denominator)
    scaled = scaled.rjust(digits + 1, "0")
    return f"{sign}{scaled[:-digits]}.{scaled[-digits:]}"


def _text(task: SourceTask, values: Mapping[str, Any]) -> str:
    program = task.payload["program"]
    stated = {slot: _word(values[slot]) for slot in program["order"] if slot in values}
    subject = stated.get(program["subject"], "It")
    sentences = program["sentences"]
    return " ".join(
        _filled(sentences[slot], {"subject": subject, "value": word}) for slot, word in stated.items() if slot in sentences
    )


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _code(task: SourceTask, values: Mapping[str, Any]) -> str:
    program = task.payload["program"]
    pieces = dict(program.get("defaults", {}))
    for name, slot in program["names"].items():
        if slot in values:
            pieces[name] = values[slot] if slot in program.get("choices", {}) else repr(values[slot])
        pieces.setdefault(name, "")
    return Template(program["template"]).substitute(pieces)


def _filled(words: str, pieces: Mapping[str, str]) -> str:
    """`words` with `{name}` filled in, in one pass: braces in a value stay as they are."""
    return re.sub(r"\{(\w+)\}", lambda match: pieces.get(match[1], match[0]), words)


_ANSWER: dict[str, Callable[[SourceTask, Mapping[str, Any]], str]] = {
    "calls": _calls,
    "sql": _sql,
    "number": _number,
    "text": _text,
    "code": _code,
}
