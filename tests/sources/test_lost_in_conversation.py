"""The sharded format: one loader for six families, with the identities of the benchmarks behind them."""

from __future__ import annotations

import base64
import json
import pickle
import random
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from intentfold.construct.stale import find_stale, verify_reference
from intentfold.graders import NoGrader, grade, reference_answer
from intentfold.sources.gsm8k import gsm8k_origin
from intentfold.sources.loading import LoadReport, SourceError, read_lines
from intentfold.sources.lost_in_conversation import load_lost_in_conversation
from tests.sources.verdicts import assert_own_goals_answer, decoys, variants, verdict

QUESTION = "A baker makes 48 rolls. She sells half of them. She gives 5 rolls away. How many rolls are left?"


def shards(*texts: str) -> list[dict[str, Any]]:
    return [{"shard_id": n, "shard": text} for n, text in enumerate(texts, start=1)]


MATH = {
    "task": "math",
    "task_id": "sharded-GSM8K/9",
    "question": QUESTION,
    "answer": "Sold: <<48/2=24>>24.\nLeft: <<48-24-5=19>>19.\n#### 19",
    "shards": shards("how many rolls are left?", "the baker makes 48 rolls", "half of them are sold", "5 rolls are given away"),
}
LIVECODE = {
    "task": "code",
    "task_id": "sharded-lcb/3",
    "source": "livecodebench",
    "metadata": {"func_name": "addUp"},
    "public_test_cases": json.dumps([{"input": "[1, 2]\n3", "output": "6", "testtype": "functional"}]),
    "private_test_cases": base64.b64encode(
        zlib.compress(pickle.dumps(json.dumps([{"input": "[]\n0", "output": "0", "testtype": "functional"}])))
    ).decode(),
    "shards": shards("add up a list", "start from a number"),
}
ACTIONS = {
    "task": "actions",
    "task_id": "sharded-BFCL/parallel_7",
    "function": [
        {
            "name": "trains.book",
            "description": "Book a train.",
            "parameters": {
                "type": "dict",
                "required": ["city", "seats"],
                "properties": {"city": {"type": "string"}, "seats": {"type": "integer"}, "day": {"type": "string"}},
            },
        }
    ],
    "reference_answer": [{"trains.book": {"city": ["Porto"], "seats": [4], "day": ["", "Monday"]}}],
    "shards": shards("book a train", "it goes to Porto", "with 4 seats, please"),
}
SUMMARY = {
    "task": "summary",
    "task_id": "sharded-summary_1",
    "topic_id": "t",
    "subtopic_id": "s",
    "topic": "a visit",
    "query": "What is advised?",
    "documents": [{"document_index": 5, "document_text": "Rest."}, {"document_index": 8, "document_text": "Drink."}],
    "insights": [{"insight_id": "i", "insight": "Rest is advised."}],
    "insightid2ref_citations": {"i": [5, 70]},
    "shards": [{"shard_id": 0, "shard": "", "doc_idxs": [5]}, {"shard_id": 1, "shard": "", "doc_idxs": [8]}],
}


def loaded(folder: Path, *records: dict[str, Any]) -> LoadReport:
    (folder / "records.json").write_text(json.dumps(records))
    return load_lost_in_conversation(folder)


def test_math_keeps_the_problems_own_origin_and_its_arithmetic(tmp_path: Path) -> None:
    [task] = loaded(tmp_path, MATH).tasks
    assert task.family == "gsm8k" and task.origin == gsm8k_origin(QUESTION), "a problem is one origin whoever sharded it"
    assert task.request.endswith("how many rolls are left?")
    assert [goal.text for goal in task.goals] == ["the baker makes 48 rolls", "half of them are sold", "5 rolls are given away"]
    assert task.payload["parameters"]["sentence 4"]["text"] == "{value} rolls are given away"
    assert_own_goals_answer([task])
    assert not any(verdict(task, goals).full for goals in variants(task))


def test_code_without_a_solution_is_gradable_and_unverified(tmp_path: Path) -> None:
    report = loaded(tmp_path, LIVECODE)
    assert report.tasks == ()
    [task] = report.unverified
    assert task.payload["reference"]["tests"] == [{"args": [[1, 2], 3], "expected": 6}, {"args": [[], 0], "expected": 0}]
    assert grade(task, "def addUp(items, start): return sum(items, start)").full
    assert grade(task, "class Solution:\n    def addUp(self, items, start): return sum(items, start)").full
    assert not grade(task, "def addUp(items, start): return sum(items)").full


def test_packed_tests_that_name_a_global_are_refused_with_their_place(tmp_path: Path) -> None:
    bad = base64.b64encode(zlib.compress(pickle.dumps(print))).decode()
    with pytest.raises(SourceError, match=r"records.json: record 0: field private_test_cases: .*holds STACK_GLOBAL"):
        loaded(tmp_path, {**LIVECODE, "private_test_cases": bad})
    stdin = json.dumps([{"input": "1", "output": "1", "testtype": "stdin"}])
    assert loaded(tmp_path, {**LIVECODE, "public_test_cases": stdin}).skipped == {"code: tests on standard input": 1}


def test_actions_vary_the_value_that_a_shard_states(tmp_path: Path) -> None:
    [task] = loaded(tmp_path, ACTIONS).tasks
    assert task.origin == "bfcl/parallel_7" and grade(task, reference_answer(task)).full
    assert_own_goals_answer([task])
    changed = variants(task)
    assert changed and not any(verdict(task, goals).full for goals in changed)
    assert not any(verdict(task, (*task.goals, decoy)).full for decoy in decoys(task))


def test_a_summary_is_kept_apart_and_graded_by_no_code(tmp_path: Path) -> None:
    report = loaded(tmp_path, SUMMARY)
    [task] = report.unverified
    assert report.tasks == ()
    assert task.payload["reference"]["insights"] == [{"text": "Rest is advised.", "documents": [5]}], "document 70 is not at hand"
    assert task.payload["handed"] == [[5], [8]]
    with pytest.raises(NoGrader, match="are not graded by code"):
        grade(task, "- Rest [5]")


def test_the_same_record_counts_once_and_quirks_are_checked(tmp_path: Path) -> None:
    assert loaded(tmp_path, MATH, MATH).skipped == {"the same record again": 1}
    from_zero = {**MATH, "shards": [{"shard_id": 0, "shard": "a"}]}
    with pytest.raises(SourceError, match="record 0: shard 0: field shard_id must be 1, got 0"):
        loaded(tmp_path, from_zero)
    with pytest.raises(SourceError, match=r"field task must be one of .*, got 'poetry'"):
        loaded(tmp_path, {**MATH, "task": "poetry"})
    with pytest.raises(SourceError, match="shard 0: field shard is missing"):
        loaded(tmp_path, {**MATH, "shards": [{"shard_id": 1, "text": "a"}]})


def test_a_byte_order_mark_before_the_list_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "records.json").write_bytes(b"\xef\xbb\xbf" + json.dumps([MATH]).encode())
    assert len(load_lost_in_conversation(tmp_path).tasks) == 1
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"id": "a"}\n')
    assert [record for _, record in read_lines(path, "lines", {"id": str})] == [{"id": "a"}]


def test_the_official_sample_makes_tasks_of_all_six_families(real: Callable[[str], LoadReport]) -> None:
    report = real("lost_in_conversation")
    assert {task.family for task in report.unverified} == {"summary"}
    others = [task for task in report.tasks if task.family != "gsm8k"]
    assert {task.family for task in others} == {"humaneval", "spider", "bfcl", "totto"} and len(others) == 8
    for task in others:
        verify_reference(task)
        assert task.payload["benchmark_split"] == "test"
        if task.id != "lost_in_conversation/spider-val-701-medium":  # its one literal is a LIKE pattern
            find_stale(task, 3, random.Random(0))
