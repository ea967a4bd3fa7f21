"""Python functions by unit tests: run in the sandbox, compared here.

A test gives `args` for the function, or as `call` an expression that may say more than that (`sorted(f([2, 1]))`). `before`
stands ahead of the answer (a benchmark's own helpers), `setup` behind it.

Reading of equality: tuples and lists are the same, a set is its sorted list (expected values are JSON); numbers
are equal within 1e-9 where a float is involved, exactly between integers; True and False equal no number.
"""

from __future__ import annotations

import math
from typing import Any

from intentfold.graders.grade import GoldError, Grade, failed, gold, passed, unfence
from intentfold.graders.sandbox import shared_sandbox
from intentfold.task import SourceTask


def grade_code(task: SourceTask, answer: str) -> Grade:
    """Full credit when every test passes; the reason names the first that doesn't, never what it expects."""
    tests = gold(task, "reference.tests", list)
    for position, test in enumerate(tests):
        args, call = isinstance(test, dict) and test.get("args"), isinstance(test, dict) and test.get("call")
        if not (isinstance(args, list) or isinstance(call, str)) or "expected" not in test:
            raise GoldError(task, f"reference.tests[{position}]", "must hold args or a call, and what is expected")
    result = shared_sandbox().run_python(*program(task, unfence(answer)))
    for position, (call, test) in enumerate(zip(result.calls, tests, strict=True)):
        if call.error is not None:
            return failed(f"test {position}: {call.kind}: {call.error}")
        if not same_output(call.output, test["expected"]):
            return failed(f"test {position}: another result")
    return passed(f"all {len(tests)} tests pass")


def program(task: SourceTask, answer: str) -> tuple[str, list[dict[str, Any]]]:
    """The program to run, and the calls to make on it: one for each test."""
    reference = task.payload["reference"]
    function = gold(task, "reference.function", str)
    parts, calls = [reference.get("before", ""), answer, reference.get("setup", "")], []
    for position, test in enumerate(reference["tests"]):
        if "call" in test:
            # Defined last, so that the answer cannot define it.
            parts.append(f"def test_{position}_():\n    return {test['call']}")
            calls.append({"function": f"test_{position}_", "args": []})
        else:
            calls.append({"function": function, "args": test["args"]})
    return "\n".join(filter(None, parts)), calls


def same_output(got: Any, expected: Any) -> bool:
    """Equality of plain JSON data under the reading above."""
    if isinstance(expected, tuple):
        expected = list(expected)
    if isinstance(got, bool) or isinstance(expected, bool):
        return got is expected
    if isinstance(got, int | float) and isinstance(expected, int | float):
        if isinstance(got, int) and isinstance(expected, int):
            return got == expected
        try:
            return got == expected or math.isclose(got, expected, rel_tol=1e-9, abs_tol=1e-9)
        except OverflowError:  # an integer beyond every float
            return False
    if type(got) is not type(expected):
        return False
    if isinstance(got, list):
        return len(got) == len(expected) and all(map(same_output, got, expected))
    if isinstance(got, dict):
        return got.keys() == expected.keys() and all(same_output(got[key], expected[key]) for key in got)
    return bool(got == expected)
