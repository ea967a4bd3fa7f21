"""Python functions by unit tests: run in the sandbox, compared here.

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
    function = gold(task, "reference.function", str)
    tests = gold(task, "reference.tests", list)
    for position, test in enumerate(tests):
        if not isinstance(test, dict) or not isinstance(test.get("args"), list) or "expected" not in test:
            raise GoldError(task, f"reference.tests[{position}]", "must hold args and what is expected")
    calls = [{"function": function, "args": test["args"]} for test in tests]
    result = shared_sandbox().run_python(unfence(answer), calls)
    for position, (call, test) in enumerate(zip(result.calls, tests, strict=True)):
        if call.error is not None:
            return failed(f"test {position}: {call.kind}: {call.error}")
        if not same_output(call.output, test["expected"]):
            return failed(f"test {position}: another result")
    return passed(f"all {len(tests)} tests pass")


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
