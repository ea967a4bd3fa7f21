from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from intentfold.construct.stale import as_items
from intentfold.graders import grade
from intentfold.runtime.executor import execute
from intentfold.sources.gsm8k import gsm8k_origin, load_gsm8k
from intentfold.sources.gsm8k_arithmetic import find_numbers, trace
from intentfold.sources.loading import LoadReport, Skip, SourceError
from intentfold.sources.real import load
from intentfold.task import SourceTask
from tests.sources.verdicts import assert_own_goals_answer, decoys, sample, share_that_costs_credit, variants, verdict

BAKER = (
    "A baker makes 48 rolls. She sells half of them before noon. "
    "In the afternoon she gives three rolls to each of her 5 helpers. How many rolls are left?"
)
BAKER_SOLUTION = "Sold: 48/2 = <<48/2=24>>24.\nGiven: 3*5 = <<3*5=15>>15.\nLeft: 48-24-15 = <<48-24-15=9>>9.\n#### 9"


def folder_with(tmp_path: Path, *records: tuple[str, str]) -> Path:
    """The records as the train split, beside an empty test split."""
    lines = [json.dumps({"question": question, "answer": answer}) for question, answer in records]
    (tmp_path / "train.jsonl").write_text("\n".join(lines))
    (tmp_path / "test.jsonl").write_text("")
    return tmp_path


def one(tmp_path: Path, question: str, answer: str) -> SourceTask:
    report = load_gsm8k(folder_with(tmp_path, (question, answer)))
    assert len(report.tasks) == 1, report.skipped
    return report.tasks[0]


def answer_with(task: SourceTask, *texts: str) -> str:
    goals = [goal for goal in task.goals]
    for position, text in enumerate(texts):
        if text:
            goals[position] = type(goals[position])(goals[position].id, text)
    return execute(task, as_items(goals)).answer


def test_sentences_become_goals_and_the_question_the_request(tmp_path: Path) -> None:
    task = one(tmp_path, BAKER, BAKER_SOLUTION)
    assert [goal.text for goal in task.goals] == [
        "A baker makes 48 rolls.",
        "She sells half of them before noon.",
        "In the afternoon she gives 3 rolls to each of her 5 helpers.",
    ]
    assert task.request.endswith("How many rolls are left?")
    assert task.goals[1].depends_on == ("g1",), "a sentence that opens with a pronoun needs the one before it"
    assert task.payload["benchmark_split"] == "train" and task.license == "MIT"
    assert verdict(task, task.goals).full


def test_other_numbers_are_executed_again(tmp_path: Path) -> None:
    task = one(tmp_path, BAKER, BAKER_SOLUTION)
    assert answer_with(task, "A baker makes 60 rolls.") == "15"
    assert answer_with(task, "", "", "In the afternoon she gives 1 rolls to each of her 5 helpers.") == "19"
    for value in task.payload["parameters"]["sentence 1"]["values"]:
        assert int(value) % 2 == 0 and int(value) > 30, "rolls stay whole, and some are left"
    assert share_that_costs_credit(task, variants(task)) == 1.0


def test_decoys_change_the_result_and_keep_it_positive(tmp_path: Path) -> None:
    task = one(tmp_path, BAKER, BAKER_SOLUTION)
    assert len(decoys(task)) >= 5
    for decoy in decoys(task):
        answer = execute(task, as_items((*task.goals, decoy))).answer
        assert not grade(task, answer).full and Fraction(answer) > 0, decoy.text


def test_a_question_that_states_a_number_is_a_goal(tmp_path: Path) -> None:
    task = one(tmp_path, "A cup costs $4. How much do 6 cups cost?", "<<4*6=24>>\n#### 24")
    assert [goal.text for goal in task.goals] == ["A cup costs $4.", "How much do 6 cups cost?"]
    assert "cup" not in task.request


def test_numbers_keep_their_way_of_being_written(tmp_path: Path) -> None:
    question = "A car costs $12,000. A toy car costs $2.50. How much do both cost?"
    task = one(tmp_path, question, "<<12000+2.5=12002.5>>\n#### 12002.5")
    first, second = task.payload["parameters"]["sentence 1"], task.payload["parameters"]["sentence 2"]
    assert first["values"][0] == "12,001" and second["values"][0] == "2.51"
    assert answer_with(task, "A car costs $13,000.") == "13002.5"


@pytest.mark.parametrize(
    ("question", "solution", "variable"),
    [
        ("He has 8 pens and buys 3 more.", "<<8+3=11>>", {"n1", "n2"}),
        ("He runs 3 laps 3 times.", "<<3*3=9>>", set()),  # either 3 may be meant
        ("He has 2 boxes and twice as many bags.", "<<2*2=4>>", set()),  # a 2 may be the number or "twice"
        ("He buys 10 pens, 4 red and 6 blue, and 6 pads.", "<<10-4=6>> <<6+6=12>>", set()),  # 6: a result, pens or pads
        ("A coat of $80 is 25% off.", "<<80*25/100=20>> <<80-20=60>>", {"n1", "n2"}),
        ("A coat of $80 is 25% off.", "<<80*.75=60>>", {"n1", "n2"}),
        ("She reads one of 7 books.", "<<7-1=6>>", {"n2"}),
    ],
)
def test_only_numbers_traced_without_doubt_vary(question: str, solution: str, variable: set[str]) -> None:
    answer = Fraction(solution.rsplit("=", 1)[1].removesuffix(">>"))
    assert trace(question, solution, answer).variable == variable


@pytest.mark.parametrize(
    ("question", "solution", "reason"),
    [
        ("He has 8 pens.", "<<8+5=13>>", "an operand is neither in the question nor implied"),
        ("He has 8 pens and 3 pads.", "<<8/3=2.67>>", "annotated result is rounded or wrong"),
        ("He has 8 pens and 3 pads.", "<<8x3=24>>", "annotation is not plain arithmetic"),
        ("He has 8 pens and 3 pads.", "<<8+3=11>> and so 13", "no annotation gives the answer"),
        ("He has 8 pens and no pads.", "<<8/(8-8)=0>>", "annotation divides by zero"),
    ],
)
def test_what_cannot_be_traced_is_skipped_with_its_reason(question: str, solution: str, reason: str) -> None:
    with pytest.raises(Skip, match=reason):
        trace(question, solution, Fraction(13))


def test_sentences_that_read_alike_are_skipped(tmp_path: Path) -> None:
    question = "Ann saves $5. Then she saves $10. Then she saves $20. How much has she saved?"
    report = load_gsm8k(folder_with(tmp_path, (question, "<<5+10+20=35>>\n#### 35")))
    assert dict(report.skipped) == {"two sentences that read alike": 1}


def test_numbers_in_digits_and_words() -> None:
    found = find_numbers("Twenty-five of 1,200 cost $3.50, 1/2 of the 2nd costs 40% and one, two")
    assert [(str(number.value), number.fixed, number.percent) for number in found] == [
        ("20", True, False),
        ("1200", False, False),
        ("7/2", False, False),
        ("1/2", True, False),
        ("2", True, False),
        ("40", False, True),
        ("1", True, False),
        ("2", False, False),
    ]


def test_origin_has_no_numbers() -> None:
    origin = gsm8k_origin("Ann’s  3 cats eat 2.5 kg.")
    assert origin == gsm8k_origin("Ann's four cats eat 7 kg.") == "gsm8k/ann's # cats eat # kg."


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"train\.jsonl:2: not JSON"),
        ('{"question": "Why?"}', r"train\.jsonl:2: field answer is missing"),
        ('{"question": "Why?", "answer": "because"}', r"train\.jsonl:2: field answer must end in `#### number`, got 'because'"),
    ],
)
def test_a_malformed_line_names_file_line_and_field(tmp_path: Path, line: str, message: str) -> None:
    folder = folder_with(tmp_path, (BAKER, BAKER_SOLUTION))
    with (folder / "train.jsonl").open("a") as file:
        file.write("\n" + line)
    with pytest.raises(SourceError, match=message):
        load_gsm8k(folder)


def test_a_missing_file_says_what_was_expected(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"train\.jsonl: no such file; expected GSM8K's train questions"):
        load("gsm8k", tmp_path)


def test_an_unknown_benchmark_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"benchmark must be one of \['bfcl', .*'spider'.*\], got 'gsm'"):
        load("gsm", tmp_path)


def test_real_tasks(real: Callable[[str], LoadReport]) -> None:
    tasks = real("gsm8k").tasks
    assert sum(task.payload["benchmark_split"] == "train" for task in tasks) >= 4500
    assert sum(task.payload["benchmark_split"] == "test" for task in tasks) >= 750
    assert_own_goals_answer(tasks)
    enough = [task for task in tasks if len(decoys(task)) >= 5 and len(variants(task)) >= 5]
    assert len(enough) >= 0.9 * len(tasks)
    for task in sample(tasks):
        assert share_that_costs_credit(task, variants(task)) == 1.0
        assert share_that_costs_credit(task, [(*task.goals, decoy) for decoy in decoys(task)]) == 1.0
