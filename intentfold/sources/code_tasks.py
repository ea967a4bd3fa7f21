"""Benchmarks' Python problems as source tasks: their sentences, the function's name and the order of its arguments.

Three things can be said otherwise: a number of the text that stands once in the solution, the name, and the order. Decoys
ask for something to be done with the result. The answer to a set of goals is the benchmark's own solution behind a function
that does what they say, so that every consequence is executed by the benchmark's tests.
"""

from __future__ import annotations

import ast
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from intentfold.intent import slot_text
from intentfold.sources.builtin.common import opening
from intentfold.sources.code_decoys import draw_decoys
from intentfold.sources.gsm8k_arithmetic import find_numbers
from intentfold.sources.loading import Skip
from intentfold.sources.unit_tests import Suite, Test, parse_python, read_tests
from intentfold.sources.values import MOST_VALUES, near_numbers, said
from intentfold.task import Goal, SourceTask

NAME, ORDER = "function name", "order of the arguments"
ASKS = ("write a Python function", "code up a small Python function", "draft a function in Python", "help with a Python helper")
_POINTS_BACK = re.compile(r"(it|they|its|their|this|that|these|those|then)\b", re.IGNORECASE)
# The places of pieces in the solution's syntax tree; what a user's text may hold cannot be such a name.
_MARK = "intentfold_piece_"


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of a benchmark. `sentences` say what the function does; `solution` defines `function`."""

    id: str
    family: str
    origin: str
    license: str
    sentences: tuple[str, ...]
    function: str
    solution: str
    suite: Suite
    benchmark_split: str
    tests: tuple[Test, ...] = ()


def code_task(problem: Problem) -> SourceTask:
    """The problem as a task; raises `Skip` where its solution cannot be read or fails the benchmark's tests."""
    tree = _parsed(problem.solution)
    tests = list(problem.tests) or read_tests(problem.suite, problem.function, problem.solution)
    rng = random.Random(problem.id)
    parameters: dict[str, Any] = {}
    names: dict[str, str] = {}
    choices: dict[str, dict[str, str]] = {}
    goals: list[Goal] = []
    pieces: dict[str, str] = {"name": problem.function, "order": "given"}
    numbers = _numbers(problem.sentences, tree)
    for n, sentence in enumerate(problem.sentences, start=1):
        slot = f"sentence {n}"
        parameters[slot] = _parameter("string", [], text=sentence)
        if sentence in numbers:
            piece, written, start = numbers[sentence]
            values = [said(value) for value in near_numbers(int(written))][:MOST_VALUES]
            text = sentence[:start] + "{value}" + sentence[start + len(written) :]
            parameters[slot] = _parameter("integer", values, text=text)
            names[piece], pieces[piece] = slot, written
        goals.append(Goal(f"g{n}", sentence, depends_on=(f"g{n - 1}",) if n > 1 and _POINTS_BACK.match(sentence) else ()))
    others = _other_names(problem.function)
    parameters[NAME] = _parameter("string", others)
    names["name"], choices[NAME] = NAME, {name: name for name in (problem.function, *others)}
    goals.append(Goal(f"g{len(goals) + 1}", slot_text(NAME, problem.function), NAME, problem.function))
    orders = _orders(_arguments(tree, problem.function))
    if len(orders) > 1:
        first, *rest = orders
        parameters[ORDER] = _parameter("string", rest)
        names["order"], choices[ORDER] = ORDER, orders
        goals.append(Goal(f"g{len(goals) + 1}", slot_text(ORDER, first), ORDER, first))
    steps: list[str] = []
    for decoy in draw_decoys([test.get("expected", True) for test in tests if "check" not in test], rng):
        parameters[decoy.name] = _parameter("string", list(decoy.choices), text=decoy.text, optional=True)
        piece = f"step{len(steps)}"
        names[piece], choices[decoy.name], pieces[piece] = decoy.name, dict(decoy.choices), "pass"
        steps.append(piece)
    return SourceTask(
        id=problem.id,
        family=problem.family,
        origin=problem.origin,
        license=problem.license,
        request=opening(ASKS, rng),
        goals=tuple(goals),
        answer_form="code",
        payload={
            "benchmark_split": problem.benchmark_split,
            "parameters": parameters,
            "program": {
                "template": _template(tree, problem.function, {p for p in pieces if p.startswith("n") and p != "name"}, steps),
                "names": names,
                "choices": choices,
                "defaults": pieces,
            },
            "reference": {
                "function": problem.function,
                "tests": tests,
                "solution": problem.solution,
                "before": problem.suite.before,
                "setup": problem.suite.setup,
            },
        },
    )


def _parsed(solution: str) -> ast.Module:
    try:
        return parse_python(solution)
    except SyntaxError:
        raise Skip("a solution that does not parse") from None


def _parameter(type: str, values: list[str], *, text: str | None = None, optional: bool = False) -> dict[str, Any]:
    words = {} if text is None else {"text": text}
    return {"type": type, "values": values, "optional": optional, "spoken": [], **words}


def _arguments(tree: ast.Module, function: str) -> list[str]:
    found = next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == function), None)
    if found is None:
        raise Skip("a solution that does not define the function")
    return [argument.arg for argument in (*found.args.posonlyargs, *found.args.args)]


def _orders(arguments: Sequence[str]) -> dict[str, str]:
    """Orders of the arguments in words, the solution's first, and how arguments in that order become the solution's."""
    count = len(arguments)
    if not 2 <= count <= 6:
        return {}
    shifts = [[*range(start, count), *range(start)] for start in range(count)]
    swaps = [[*range(n), n + 1, n, *range(n + 2, count)] for n in range(count - 1)]
    found: dict[str, str] = {}
    for order in [*shifts, *swaps, list(reversed(range(count)))]:
        places = [order.index(n) for n in range(count)]
        found.setdefault(", ".join(arguments[n] for n in order), f"[given[n] for n in {places} if n < len(given)]")
    return dict(list(found.items())[: 1 + MOST_VALUES])


def _other_names(function: str) -> list[str]:
    first, *rest = function.split("_")
    camel = first + "".join(part.capitalize() for part in rest) if rest else f"{function}Value"
    return [f"compute_{function}", camel, f"{function}_fn", f"get_{function}", "solve", f"my_{function}"]


def _numbers(sentences: Sequence[str], tree: ast.Module) -> dict[str, tuple[str, str, int]]:
    """For a sentence its number that stands once in all of them and once in the solution: (piece, digits, place)."""
    constants = Counter(n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and type(n.value) is int)
    found = [(sentence, number) for sentence in sentences for number in find_numbers(sentence)]
    times = Counter(number.value for _, number in found)
    chosen: dict[str, tuple[str, str, int]] = {}
    for sentence, number in found:
        written = sentence[number.start : number.end]
        once = times[number.value] == 1 and constants[number.value] == 1  # type: ignore[index]
        if once and not number.fixed and not number.percent and written.isdigit() and sentence not in chosen:
            chosen[sentence] = (f"n{len(chosen)}", written, number.start)
    constant = {int(written): piece for piece, written, _ in chosen.values()}
    _Marked(constant).visit(tree)
    return chosen


class _Marked(ast.NodeTransformer):
    """Puts marks in the place of constants."""

    def __init__(self, pieces: Mapping[int, str]) -> None:
        self.pieces = pieces

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if type(node.value) is not int or node.value not in self.pieces:
            return node
        return ast.copy_location(ast.Name(_MARK + self.pieces[node.value], ast.Load()), node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        return node  # a constant within an f-string is text


class _Renamed(ast.NodeTransformer):
    """Gives the solution's function another name, wherever it is named."""

    def __init__(self, old: str, new: str) -> None:
        self.old, self.new = old, new

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.copy_location(ast.Name(self.new, node.ctx), node) if node.id == self.old else node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.name = self.new if node.name == self.old else node.name
        return node


def _template(tree: ast.Module, function: str, numbers: set[str], steps: Sequence[str]) -> str:
    inner = f"{function}_inner"
    body = ast.unparse(ast.fix_missing_locations(_Renamed(function, inner).visit(tree))).replace("$", "$$")
    for piece in numbers:
        body = body.replace(_MARK + piece, f"${{{piece}}}")
    lines = "".join(f"    ${step}\n" for step in steps)
    return f"{body}\n\n\ndef $name(*given, **named):\n    result = {inner}(*$order, **named)\n{lines}    return result\n"
