"""Asserts become tests whose expected values stay with the grader; where Python's own equality is needed, the assert is run."""

from __future__ import annotations

import pytest

from intentfold.graders import grade
from intentfold.graders.code import program
from intentfold.sources.code_tasks import NAME, ORDER, Problem, code_task
from intentfold.sources.loading import Skip
from intentfold.sources.unit_tests import parse_asserts, parse_check, read_tests
from intentfold.task import SourceTask
from tests.sources.verdicts import assert_own_goals_answer, decoys, variants, verdict

CHECK = """
import math

def check(candidate):
    assert True, "says nothing"
    assert candidate(2, 3) == 8
    assert candidate(2, 0) == 1, "message"
    assert math.isclose(candidate(2, -1), 0.5)
"""
POWER = "def power(base, exponent):\n    return base ** exponent\n"


def asserted(check: str, solution: str = POWER, function: str = "power") -> list[dict]:
    return read_tests(parse_check("", check, function), function, solution)


def test_the_left_side_is_run_and_the_right_side_expected() -> None:
    assert asserted(CHECK) == [
        {"call": "power(2, 3)", "expected": 8},
        {"call": "power(2, 0)", "expected": 1},
        {"call": "[power(2, -1)]", "holds": "math.isclose(got_[0], 0.5)"},
    ]


def test_sides_may_be_swapped_and_need_not_be_literals() -> None:
    check = "def check(candidate):\n    assert sum([4, 4]) == candidate(2, 3)\n    assert set([candidate(2, 1)]) == {2}"
    assert asserted(check) == [{"call": "power(2, 3)", "expected": 8}, {"call": "set([power(2, 1)])", "expected": [2]}]


def test_what_only_pythons_equality_credits_is_run_as_it_stands() -> None:
    check = "def check(candidate):\n    assert candidate(1, 0) == True"
    assert asserted(check) == [{"call": "[power(1, 0)]", "holds": "got_[0] == True"}]


@pytest.mark.parametrize(
    "statement",
    [
        "for n in (iter([1]), iter([2])):\n        assert candidate(n, 1)",
        "from fractions import Fraction\n    assert candidate(Fraction(2), 1) == 2",
        "value = candidate(3, 1)\n    assert candidate(value, 1) == value",
        "try:\n        value = candidate(2, 2)\n        again = candidate(value, 2)\n    except Exception:\n        return",
        "assert all(candidate(n, 1) <= n for n in range(3))",
        "assert (lambda n: candidate(n, 1) < 9)(2)",
        "assert callable(candidate)",
    ],
)
def test_what_only_the_answers_own_process_could_judge_is_no_test(statement: str) -> None:
    with pytest.raises(Skip, match="own process"):
        asserted(f"def check(candidate):\n    {statement}", "def power(base, exponent):\n    return base\n")


LOOP = """
TABLE = [8]

def check(candidate):
    import random
    assert candidate(2, 3) == 8
    for _ in range(20):
        base, exponent = random.randint(2, 9), random.randint(1, 5)
        value = candidate(base, exponent)
        if value == 1:
            candidate(base, 0)
        if value == 0:
            try:
                candidate("odd", 1)
            except Exception:
                continue
        assert base ** exponent == value and set(TABLE) == {8}
"""


def test_a_check_in_a_loop_goes_over_what_an_answer_gave_to_what_it_asks() -> None:
    suite = parse_check("", LOOP, "power")
    task = code_task(Problem("p", "humaneval", "p", "MIT", ("Raise the base.",), "power", POWER, suite, "train"))
    [test] = task.payload["reference"]["tests"]
    assert len(test["asked"]) == 21 and test["asked"][0] == "(2, 3)"
    code, _ = program(task, POWER)
    assert "assert" not in code and "TABLE" not in code, "the answer's process sees what is asked, and nothing of the check"
    assert grade(task, POWER).full
    assert grade(task, "def power(base, exponent):\n    return 8").value == 0.0
    one = POWER.replace("base **", f"9 if (base, exponent) == {test['asked'][-1]} else base **")
    assert grade(task, one).value == 0.0, "wrong in one call alone"
    again = POWER.replace("base **", "1 if (base, exponent) != (2, 3) else base **")
    assert grade(task, again).value == 0.0, "the check would ask once more"
    odd = POWER.replace("base **", "0 if (base, exponent) != (2, 3) else base **")
    assert grade(task, odd).value == 0.0, "the check would ask for something else, and pass over the refusal"
    assert grade(task, HOSTILE).value == 0.0
    assert grade(task, HOSTILE.replace("Pleasing(0)", "True")).value == 0.0


@pytest.mark.parametrize(
    ("old", "new"), [("3) == 8", "3) == 9"), ("candidate(base, exponent)", "candidate(base, exponent=exponent)")]
)
def test_a_loop_that_the_solution_does_not_pass_makes_no_test(old: str, new: str) -> None:
    assert old in LOOP
    with pytest.raises(Skip, match="does not pass by plain calls"):
        asserted(LOOP.replace(old, new))


def test_sets_are_asked_for_in_whatever_order_they_come() -> None:
    loop = "for some in ({'pear', 'fig', 'plum', 'kiwi'}, {'pear'}):\n        assert candidate(some) == len(some)"
    [test] = asserted(f"def check(candidate, /):\n    {loop}", "def power(some):\n    return len(some)\n")
    assert len(test["asked"]) == 2


def test_an_answer_may_begin_with_what_python_takes_at_the_top_alone() -> None:
    suite = parse_check("from typing import List", CHECK, "power")
    task = code_task(Problem("p", "humaneval", "p", "MIT", ("Raise the base.",), "power", POWER, suite, "train"))
    assert task.payload["reference"]["before"]
    assert grade(task, f"from __future__ import annotations\n{POWER}").full


HOSTILE = """
import builtins, math

class Pleasing(float):
    def __sub__(self, other): return self
    def __abs__(self): return self
    def __lt__(self, other): return True

builtins.bool = lambda x: True
math.isclose = lambda a, b: True

def power(base, exponent):
    return Pleasing(0)
"""


@pytest.mark.parametrize("answer", [HOSTILE, HOSTILE.replace("Pleasing(0)", "0.0")])
def test_an_answer_cannot_judge_itself(answer: str) -> None:
    checks = ("assert abs(power(2, 3) - 8) < 1e-6", "assert power(2, 1) > 1 and power(2, 2) != 3")
    suite = parse_asserts("import math", checks)
    task = code_task(Problem("p", "mbpp", "p", "MIT", ("Raise the base.",), "power", POWER, suite, "train"))
    assert all("holds" in test for test in task.payload["reference"]["tests"])
    assert grade(task, POWER).full
    assert grade(task, answer).value == 0.0


def test_a_solution_that_fails_its_tests_makes_none() -> None:
    with pytest.raises(Skip, match="own solution fails"):
        asserted("def check(candidate):\n    assert candidate(2, 3) == 9")
    with pytest.raises(Skip, match="no tests"):
        asserted("def check(candidate):\n    assert True")


def power_task(text: str = "Raise the base to the power of the exponent, at most 60.") -> SourceTask:
    solution = "def power(base, exponent):\n    return base ** min(exponent, 60)\n"
    suite = parse_asserts("", ["assert power(2, 3) == 8", "assert power(2, 61) == 2 ** 60"])
    return code_task(Problem("p", "mbpp", "p", "MIT", (text,), "power", solution, suite, "train"))


def test_a_problem_becomes_goals_whose_other_values_and_decoys_cost_the_verdict() -> None:
    task = power_task()
    assert [goal.slot for goal in task.goals] == [None, NAME, ORDER]
    assert task.goals[2].value == "base, exponent"
    assert_own_goals_answer([task])
    changed = variants(task)
    assert len(changed) > 9 and not any(verdict(task, goals).full for goals in changed)
    assert len(decoys(task)) == 8
    # One decoy, a floor, is about what the tests do not reach (2 ** 60): a decoy is kept only where it costs the verdict.
    assert sum(not verdict(task, (*task.goals, decoy)).full for decoy in decoys(task)) >= 7


def test_the_number_of_a_sentence_is_that_of_the_solution() -> None:
    task = power_task()
    assert task.payload["parameters"]["sentence 1"]["text"] == "Raise the base to the power of the exponent, at most {value}."
    twice = power_task("Raise the base to the power of the exponent, at most 60 (yes, 60).")
    assert twice.payload["parameters"]["sentence 1"]["values"] == [], "a number that stands twice is not varied"


def test_expected_values_are_not_in_the_program_that_is_run() -> None:
    task = power_task()
    code, calls = program(task, "def power(base, exponent): return 0")
    assert str(2**60) not in code and "2 ** 60" not in code
    assert [call["args"] for call in calls] == [[], []]


def test_an_answer_cannot_define_the_calls_on_it() -> None:
    task = power_task()
    cheat = "def power(base, exponent): return 0\ndef test_0_(): return 8\ndef test_1_(): return 2 ** 60"
    assert grade(task, cheat).value == 0.0
