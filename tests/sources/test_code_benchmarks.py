"""HumanEval and MBPP: their records become problems, and their own solutions pass."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from intentfold.construct.build import Plan, Source, _split
from intentfold.graders import grade, reference_answer
from intentfold.sources.humaneval import load_humaneval
from intentfold.sources.loading import LoadReport, SourceError
from intentfold.sources.mbpp import load_mbpp
from tests.sources.verdicts import assert_own_goals_answer, sample

TWICE = {
    "task_id": "HumanEval/7",
    "prompt": 'import math\n\ndef half(x):\n    return x / 2\n\ndef twice(x):\n    """Double the number x. Do it well.\n'
    '    >>> twice(2)\n    4\n    """\n',
    "entry_point": "twice",
    "canonical_solution": "    return half(4 * x)\n",
    "test": "def check(candidate):\n    assert candidate(2) == 4\n    assert half(candidate(3)) == 3\n",
}
LARGEST = {
    "task_id": 12,
    "text": "Write a function to find the largest of a list.",
    "code": "def largest(items):\r\n  return max(items)",
    "test_list": ["assert largest([1, 3, 2]) == 3"],
    "test_setup_code": "",
}


def humaneval(folder: Path, **changes: object) -> LoadReport:
    with gzip.open(folder / "HumanEval.jsonl.gz", "wt") as file:
        file.write(json.dumps({**TWICE, **changes}) + "\n")
    return load_humaneval(folder)


def mbpp(folder: Path, **changes: object) -> LoadReport:
    (folder / "mbpp.jsonl").write_text(json.dumps({**LARGEST, **changes}) + "\n")
    return load_mbpp(folder)


def test_humaneval_gives_sentences_up_to_the_examples_and_helpers_to_every_answer(tmp_path: Path) -> None:
    [task] = humaneval(tmp_path).tasks
    assert [goal.text for goal in task.goals] == ["Double the number x.", "Do it well.", "function name: twice"]
    assert grade(task, "def twice(x):\n    return half(4 * x)").full, "the prompt's own helper is at hand"
    assert grade(task, reference_answer(task)).full
    assert task.payload["benchmark_split"] == "test" and task.origin == "humaneval/7"


def test_mbpp_knows_its_splits_and_the_tested_function(tmp_path: Path) -> None:
    [task] = mbpp(tmp_path).tasks
    assert task.payload["reference"]["function"] == "largest" and task.payload["benchmark_split"] == "test"
    assert mbpp(tmp_path, task_id=601).tasks[0].payload["benchmark_split"] == "train"
    assert grade(task, reference_answer(task)).full and not grade(task, "def largest(items): return min(items)").full
    assert _split(Plan((Source("mbpp", 1, real=True),), (1,), 0), task) == "test", "never trained on"


def test_malformed_records_are_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"HumanEval.jsonl.gz:1: field prompt defines no 'thrice'"):
        humaneval(tmp_path, entry_point="thrice")
    with pytest.raises(SourceError, match=r"mbpp.jsonl:1: field code must be str, got '3'"):
        mbpp(tmp_path, code=3)
    assert mbpp(tmp_path, test_list=["assert smallest([1]) == 1"]).skipped == {"tests that call no function of the solution": 1}


@pytest.mark.parametrize(("name", "least"), [("humaneval", 157), ("mbpp", 965)])
def test_the_real_files_make_tasks_whose_own_goals_answer_them(name: str, least: int, real: Callable[[str], LoadReport]) -> None:
    tasks = real(name).tasks
    assert len(tasks) >= least
    assert_own_goals_answer(sample(tasks, 20))
