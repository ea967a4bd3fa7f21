"""Gold: references are checked by their own graders, records that make no task too, and nothing unlisted gets by."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from intentfold.sources.gold import Count, Listed, checkable, complaints, count, fault_of, read_listed
from intentfold.sources.mbpp import load_mbpp
from tests.sources.test_code_benchmarks import LARGEST
from tests.tiny import ROOT, script

SUMS = [
    ("Ann has 3 boxes of 4 pens. How many pens?", "3*4=<<3*4=12>>12 pens\n#### 12"),
    ("No arithmetic is told here. How many?", "Who knows.\n#### 7"),
    ("Bo buys 5 hats at $6 each. What does he pay?", "5*6=<<5*6=30>>30\n#### 30"),
]


def data_with(tmp_path: Path, **changes: object) -> Path:
    """GSM8K with a sum that no dialogue can be made of, and MBPP with one problem as it should be and one with `changes`."""
    for name in ("gsm8k", "mbpp"):
        (tmp_path / "data" / name).mkdir(parents=True)
    rows = [json.dumps({"question": question, "answer": answer}) for question, answer in SUMS]
    (tmp_path / "data" / "gsm8k" / "train.jsonl").write_text("\n".join(rows[:2]) + "\n")
    (tmp_path / "data" / "gsm8k" / "test.jsonl").write_text(rows[2] + "\n")
    problems = [LARGEST, {**LARGEST, "task_id": 601, **changes}]
    (tmp_path / "data" / "mbpp" / "mbpp.jsonl").write_text("".join(json.dumps(one) + "\n" for one in problems))
    return tmp_path / "data"


def gold(tmp_path: Path, data: Path, listed: dict[str, list[dict]]) -> str | None:
    """What the script ends with, None where all is well."""
    (tmp_path / "listed.yaml").write_text(yaml.safe_dump(listed))
    try:
        script("scripts/gold.py").main(
            ["--data", str(data), "--out", str(tmp_path / "out"), "--listed", str(tmp_path / "listed.yaml"), "--workers", "1"]
        )
    except SystemExit as end:
        return str(end.code)
    return None


def test_every_record_is_accounted_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gold(tmp_path, data_with(tmp_path), {}) is None
    said = capsys.readouterr().out
    assert "gsm8k: 3 records, 3 with full credit, 0 exceptions" in said
    assert "mbpp: 2 records, 2 with full credit, 0 exceptions" in said
    assert "not under" in said and "spider" in said


def test_an_unlisted_exception_fails_it_and_a_listed_one_does_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = data_with(tmp_path, test_list=["assert largest([1, 3, 2]) == 4"])
    assert gold(tmp_path, data, {}) == ("mbpp: mbpp/601 is no listed exception: the benchmark's own solution fails its tests")
    known = {"reason": "its own solution fails", "ids": ["mbpp/601"]}
    assert gold(tmp_path, data, {"mbpp": [{**known, "fault": "data"}]}) is None
    assert "1 exceptions (1 its own solution fails)" in capsys.readouterr().out
    ended = gold(tmp_path, data, {"mbpp": [{**known, "fault": "loader"}]})
    assert ended == "mbpp: 1 exceptions by no fault of the data, at most 1% of 2 may be"


def test_a_reference_that_its_grader_refuses_is_a_fault(tmp_path: Path) -> None:
    report = load_mbpp(data_with(tmp_path) / "mbpp")
    task = report.tasks[0]
    assert fault_of(task) is None
    reference = {**task.payload["reference"], "solution": "def largest(items):\n  return min(items)"}
    wrong = replace(task, payload={**task.payload, "reference": reference})
    assert "another result" in str(fault_of(wrong))
    faults = {task.id: "refused"}
    assert count("mbpp", report, faults) == Count("mbpp", 2, 1, 0, 0, 0, {"mbpp/12": "refused"})
    assert len(checkable(report)) == 2


def test_one_percent_of_a_source_may_be_the_loaders_own() -> None:
    listed = [Listed("not parsed", "loader", ("a", "b"))]
    assert complaints(Count("s", 200, 198, 0, 0, 0, {"a": "", "b": ""}), listed) == []
    assert len(complaints(Count("s", 199, 197, 0, 0, 0, {"a": "", "b": ""}), listed)) == 1
    # Listed and not found is no fault of the data that is at hand.
    assert complaints(Count("s", 1, 1, 0, 0, 0, {}), listed) == []


def test_the_shipped_list_is_whole() -> None:
    for source, entries in read_listed(ROOT / "scripts" / "gold_exceptions.yaml").items():
        ids = [id for entry in entries for id in entry.ids]
        assert ids and len(set(ids)) == len(ids), source
        assert all(id.startswith(f"{source}/") for id in ids)
