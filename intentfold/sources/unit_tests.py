"""Benchmarks' assert statements as tests of the code grader.

Of `assert f(1, 2) == [3]` the left side is what is run on an answer and the right side what is expected, so that no answer
sees it. Where an assert says more than that (`is`, `<`), or where the benchmark's own solution passes it by Python's equality
alone (1 for True), it is asked of the calls' outputs as plain data, where no answer can reach it. A check that is more than
asserts (calls in a loop, on random inputs) is run once with the benchmark's solution, and what it asked is noted: an answer
is asked the same, and the check goes over its outputs. What neither does (an assert that calls in a comprehension, calls on
what is no plain data or on what calls gave) makes no test: an answer in the same process could forge it.
"""

from __future__ import annotations

import ast
import copy
import textwrap
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from intentfold.graders.code import GOT, faults, with_calls
from intentfold.graders.sandbox import CallResult, shared_sandbox
from intentfold.sources.loading import Skip

Test = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Suite:
    """A benchmark's tests of one function: what stands before the answer, behind it, and the statements to hold."""

    before: str
    setup: str
    statements: tuple[ast.stmt, ...]


def parse_python(text: str) -> ast.Module:
    """The syntax tree of a benchmark's program, whose odd escape sequences are its own affair; raises `SyntaxError`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def parse_check(before: str, source: str, function: str, check: str = "check") -> Suite:
    """The suite of a HumanEval test: the asserts of a function `check(candidate)`, or the whole of it where it says more."""
    tree = parse_python(source)
    found = next((node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == check), None)
    if found is None:
        raise Skip(f"tests without a function {check}")
    # Helpers and imports around the check hold for every statement.
    around = [node for node in tree.body if node is not found]
    if not all(isinstance(node, ast.Assert) or _says_nothing(node) for node in found.body):
        found.body = [*around, *found.body]  # what is around may hold what is expected
        return Suite(before, "", (found,))
    named = _Renamed(_parameter(found), function)
    return Suite(before, _source(around), tuple(named.visit(node) for node in found.body))


def parse_asserts(setup: str, asserts: Sequence[str]) -> Suite:
    """The suite of plain statements."""
    return Suite("", setup, tuple(node for text in asserts for node in parse_python(text.strip()).body))


def read_tests(suite: Suite, function: str, solution: str) -> list[Test]:
    """The suite as tests that the benchmark's own solution passes; raises `Skip` where it passes them in no way."""
    match suite.statements:
        case [ast.FunctionDef() as check]:
            tests = [_played(suite, check, function, solution)]
            if _failing(suite, solution, tests):
                raise Skip("the benchmark's own solution fails its tests")
            return tests
    tests = unverified_tests(suite, function)
    statements = [node for node in suite.statements if not _says_nothing(node)]
    wrong = _failing(suite, solution, tests)
    for position in wrong:
        tests[position] = _holds(statements[position], function)
    if wrong and _failing(suite, solution, tests):
        raise Skip("the benchmark's own solution fails its tests")
    return tests


def _played(suite: Suite, check: ast.FunctionDef, function: str, solution: str) -> Test:
    """The check as a test: what it asks of the solution, and the check.

    Raises `Skip` where that is no plain data, or hangs on outputs: then what is asked would say what is right.
    """
    check.name = "check"
    asked = _asked(suite, ast.unparse(check), solution, f"{function}(*args)")
    if asked is None:
        raise Skip("a check that the benchmark's own solution does not pass by plain calls")
    bare = ast.unparse(ast.fix_missing_locations(_Bare(_parameter(check)).visit(copy.deepcopy(check))))
    if not asked or not all(map(_plain, asked)) or _asked(suite, bare, solution, "None") != asked:
        raise Skip("a test that only the answer's own process could judge")
    calls = ", ".join(f"{function}(*{args})" for args in asked)
    return {"call": f"[{calls}]", "asked": asked, "check": ast.unparse(check)}


def _asked(suite: Suite, check: str, solution: str, reply: str) -> list[str] | None:
    """The arguments of the check's calls, each answered with `reply`; None where it comes to no end."""
    noted = f"""def noted_():
    asked = []
    def noting(*args):
        asked.append(repr(args))
        return {reply}
{textwrap.indent(check, "    ")}
    check(noting)
    return asked"""
    [run] = _run(suite.before, solution, noted, ["noted_()"])
    return None if run.error is not None else run.output


def _plain(written: str) -> bool:
    try:
        ast.literal_eval(written)
    except (ValueError, SyntaxError):
        return False
    return True


def _parameter(check: ast.FunctionDef) -> str:
    return [*check.args.posonlyargs, *check.args.args][0].arg


class _Bare(ast.NodeTransformer):
    """Leaves of asserts the calls of a function."""

    def __init__(self, function: str) -> None:
        self.parted = _Parted(function)

    def visit_Assert(self, node: ast.Assert) -> list[ast.stmt]:
        self.parted.calls.clear()
        self.parted.visit(node.test)
        return [ast.Pass(), *(ast.parse(call).body[0] for call in self.parted.calls)]


def _failing(suite: Suite, solution: str, tests: Sequence[Test]) -> list[int]:
    parts = [suite.before, solution, suite.setup]
    code, calls = with_calls(parts, [test["call"] for test in tests])
    found = faults({"before": suite.before, "setup": suite.setup, "tests": tests}, code, calls)
    return [position for position, fault in enumerate(found) if fault is not None]


def unverified_tests(suite: Suite, function: str) -> list[Test]:
    """The suite as tests, where there is no solution to prove them on."""
    statements = [node for node in suite.statements if not _says_nothing(node)]
    compared = [_compared(node, function) for node in statements]
    rights = [pair[1] for pair in compared if pair is not None]
    expected = iter(_run(suite.before, "", suite.setup, rights) if rights else ())
    tests: list[Test] = []
    for node, pair in zip(statements, compared, strict=True):
        wanted = None if pair is None else next(expected)
        if pair is None or wanted is None or wanted.error is not None:
            tests.append(_holds(node, function))
        else:
            tests.append({"call": pair[0], "expected": wanted.output})
    if not tests:
        raise Skip("no tests")
    return tests


def _run(before: str, solution: str, setup: str, expressions: Sequence[str]) -> list[CallResult]:
    return list(shared_sandbox().run_python(*with_calls([before, solution, setup], expressions)).calls)


def _compared(node: ast.stmt, function: str) -> tuple[str, str] | None:
    """(what to run, what it must equal) of `assert ... == ...`, where one side alone calls the function."""
    if not isinstance(node, ast.Assert) or not isinstance(node.test, ast.Compare) or len(node.test.ops) != 1:
        return None
    if not isinstance(node.test.ops[0], ast.Eq):
        return None
    sides = (node.test.left, node.test.comparators[0])
    calls = [any(isinstance(n, ast.Name) and n.id == function for n in ast.walk(side)) for side in sides]
    if calls == [True, False]:
        return ast.unparse(sides[0]), ast.unparse(sides[1])
    return (ast.unparse(sides[1]), ast.unparse(sides[0])) if calls == [False, True] else None


def _holds(node: ast.stmt, function: str) -> Test:
    """A test that asks the assert of its calls' outputs; raises `Skip` where the two cannot be parted."""
    parted = _Parted(function)
    test = parted.visit(node.test) if isinstance(node, ast.Assert) else None
    if test is None or not parted.calls or parted.loops:
        raise Skip("a test that only the answer's own process could judge")
    return {"call": f"[{', '.join(parted.calls)}]", "holds": ast.unparse(ast.fix_missing_locations(test))}


class _Parted(ast.NodeTransformer):
    """Takes the calls of a function out of an expression, and notes what would call it more than once, or later."""

    def __init__(self, function: str) -> None:
        self.function, self.calls, self.loops = function, list[str](), False

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if not (isinstance(node.func, ast.Name) and node.func.id == self.function):
            return self.generic_visit(node)
        self.calls.append(ast.unparse(node))
        return ast.Subscript(ast.Name(GOT, ast.Load()), ast.Constant(len(self.calls) - 1), ast.Load())

    def visit_Name(self, node: ast.Name) -> ast.AST:
        self.loops |= node.id == self.function
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        self.loops |= isinstance(node, ast.comprehension | ast.Lambda)
        return super().generic_visit(node)


def _says_nothing(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assert):
        return isinstance(node.test, ast.Constant)
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant | ast.Name)


def _source(nodes: Sequence[ast.stmt]) -> str:
    return "\n".join(ast.unparse(ast.fix_missing_locations(node)) for node in nodes)


class _Renamed(ast.NodeTransformer):
    def __init__(self, old: str, new: str) -> None:
        self.old, self.new = old, new

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.copy_location(ast.Name(self.new, node.ctx), node) if node.id == self.old else node
