from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from intentfold.graders import GoldError, grade, reference_answer
from intentfold.task import SourceTask

Make = Callable[..., SourceTask]

TABLE = [
    # reference, answer, full credit
    ("18", "18", True),
    ("18", "18.0", True),
    ("18", "The answer is 18.", True),
    ("18", "She makes 9 * 2 = $18 every day.", True),
    ("18", "First 18, but in the end 19.", False),
    ("18", "#### 18", True),
    ("18", "9 * 2 = <<9*2=18>>18\n#### 18\n", True),
    ("18", "#### 18 dollars a day, for 7 days", False),
    ("18", "\\boxed{18}, after 3 steps", True),
    ("18", "\\boxed{18\\text{ dollars}}", True),
    ("18", "\\boxed{17} no: \\boxed{18}", True),
    ("18", "\\boxed{18} no: \\boxed{17}", False),
    ("18", "#### 17\nNo: $\\boxed{18}$", True),
    ("18", "\\boxed{18", False),
    ("18", "####", False),
    ("18", "eighteen", False),
    ("18", "-18", False),
    ("18", "\u221218", False),
    ("-5", "\u22125", True),
    ("-5", "5 - 10 = -5", True),
    ("4", "10-6=4", True),
    ("1234.5", "$1,234.50", True),
    ("1,234.5", "1234.5", True),
    ("1000000", "1e6", True),
    ("18", "1e999999999", False),
    ("18", "1" * 5000, False),
    ("50", "50%", True),
    ("0.5", ".5", True),
    ("0.5", "1/2", True),
    ("0.5", "\\boxed{\\frac{1}{2}}", True),
    ("\\frac{1}{2}", "0.5", True),
    ("\\boxed{\\frac{1}{2}}", "0.5", True),
    ("\\boxed{2\\sqrt{2}}", "\\boxed{\\sqrt{8}}", True),
    ("\\boxed{2\\sqrt{2}}", "\\boxed{\\sqrt{7}}", False),
    ("0.3", "0.1 + 0.2 = 0.30000000000000004", False),
    ("18", "\\boxed{9+9}", True),
    ("18", "3/0", False),
    ("18", "A18", False),
    ("18", "", False),
]


@pytest.mark.parametrize(("reference", "answer", "full"), TABLE)
def test_formats(reference: str, answer: str, full: bool, make_task: Make) -> None:
    outcome = grade(make_task("number", {"answer": reference}), answer)
    assert outcome.full is full, outcome.reason
    assert outcome.value == float(full)


@pytest.mark.parametrize(
    "form",
    [
        "9**9**9**9",
        "9^{9^{9^9}}",
        "10000000!",
        "\\sum_{n=1}^{\\infty} n",
        "\\sqrt{" * 50 + "2" + "}" * 50,
        "x" * 10**5,
        "__import__('os').system('true')",
        "((((" * 30,
        "1+" * 59 + "1",
        "123456789012345/" * 7 + "3",
        "\\int x",
    ],
)
def test_a_form_that_could_run_for_ever_does_not(form: str, make_task: Make) -> None:
    task = make_task("number", {"answer": "18"})
    grade(task, "\\boxed{1+1}")  # loads what reads such forms
    began = time.process_time()
    assert grade(task, f"\\boxed{{{form}}}").value == 0.0
    assert time.process_time() - began < 2


@given(number=st.integers(), places=st.integers(0, 3), words=st.sampled_from(["", "about ", "So the total is $"]))
def test_any_number_is_found_in_prose(number: int, places: int, words: str, make_task: Make) -> None:
    task = make_task("number", {"answer": str(number)})
    shown = f"{number:,}" + ("." + "0" * places if places else "")
    assert grade(task, f"{words}{shown} apples.").full
    assert not grade(task, f"{words}{number + 1:,} apples.").full


@settings(max_examples=300, deadline=None)
@given(answer=st.text(alphabet=st.sampled_from("0123456789.,-+/$%eE#\\{}boxed ")) | st.text())
@example(answer="--0")
@example(answer="-$-5")
def test_any_text_gets_a_grade(answer: str, make_task: Make) -> None:
    assert grade(make_task("number", {"answer": "31415926"}), answer).value is not None


@pytest.mark.parametrize("answer", [None, "", "eighteen", 18])
def test_malformed_gold_is_an_error(answer: object, make_task: Make) -> None:
    with pytest.raises(GoldError, match=r"task task-7: payload\.reference\.answer"):
        grade(make_task("number", {"answer": answer}), "18")


def test_the_answers_of_gsm8k_pass(data: Path, make_task: Make) -> None:
    for line in (data / "gsm8k" / "test.jsonl").read_text().splitlines():
        answer = json.loads(line)["answer"]
        task = make_task("number", {"answer": answer.split("####")[1].strip()})
        assert grade(task, answer).full
        assert grade(task, reference_answer(task)).full
