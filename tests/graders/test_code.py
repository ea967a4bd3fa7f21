from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from intentfold.graders import GoldError, grade, reference_answer
from intentfold.graders.code import same_output
from intentfold.graders.sandbox import Sandbox
from intentfold.task import SourceTask

Make = Callable[..., SourceTask]
TESTS = [{"args": [[3, 1, 2]], "expected": [1, 2, 3]}, {"args": [[]], "expected": []}]
REFERENCE = {"function": "order", "tests": TESTS, "solution": "def order(items):\n    return sorted(items)"}


def test_the_reference_solution_passes(make_task: Make, box: Sandbox) -> None:
    task = make_task("code", REFERENCE)
    assert grade(task, reference_answer(task)).full
    assert grade(task, f"Here:\n```python\n{REFERENCE['solution']}\n```\nDone.").full
    assert grade(task, "def order(items):\n    return tuple(sorted(items))").full


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("def order(items): return items", "test 0: another result"),
        ("def order(items): return [1, 2, 3]", "test 1: another result"),
        ("def order(items): return [min(items)] and sorted(items)", "test 1: exception: ValueError"),
        ("def sort(items): return sorted(items)", "test 0: exception: NameError"),
        ("def order(items) return", "test 0: exception: SyntaxError"),
        ("", "empty answer"),
        ("  \n ", "empty answer"),
    ],
)
def test_a_wrong_program_fails_with_the_first_test_named(answer: str, reason: str, make_task: Make, box: Sandbox) -> None:
    outcome = grade(make_task("code", REFERENCE), answer)
    assert outcome.value == 0.0 and outcome.reason.startswith(reason)


@pytest.mark.parametrize(
    ("got", "expected", "same"),
    [
        (1, 1, True),
        (1, 1.0, True),
        (0.1 + 0.2, 0.3, True),
        (0.31, 0.3, False),
        (1, True, False),
        (True, True, True),
        (False, 0, False),
        (None, None, True),
        (None, 0, False),
        ("1", 1, False),
        ([1, [2]], [1, (2,)], True),
        ([1], [1, 1], False),
        ({"a": 0.1 + 0.2}, {"a": 0.3}, True),
        ({"a": 1}, {"b": 1}, False),
        (10**400, 1.0, False),
        (10**400, 10**400, True),
        (10**17 + 1, 10**17, False),
        (float("nan"), float("nan"), False),
    ],
)
def test_equality(got: Any, expected: Any, same: bool) -> None:
    assert same_output(got, expected) is same


@pytest.mark.parametrize(
    ("reference", "field"),
    [
        ({"tests": TESTS}, r"reference\.function: is missing"),
        ({"function": "order"}, r"reference\.tests: is missing"),
        ({"function": "order", "tests": []}, r"reference\.tests: is empty"),
        ({"function": "order", "tests": [{"args": [1]}]}, r"reference\.tests\[0\]"),
        ({"function": "order", "tests": [TESTS[0], {"args": 1, "expected": 1}]}, r"reference\.tests\[1\]"),
    ],
)
def test_malformed_gold_is_an_error(reference: Any, field: str, make_task: Make) -> None:
    with pytest.raises(GoldError, match=f"task task-7: payload.{field}"):
        grade(make_task("code", reference), "def order(x): return x")
