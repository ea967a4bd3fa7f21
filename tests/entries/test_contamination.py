"""The check of training data against evaluation sets as it is run: it fails on planted cases and passes a clean set."""

from __future__ import annotations

import json

import pytest

from intentfold.mining.contamination import Hit
from intentfold.records import read_jsonl
from tests.mining.test_contamination import QUESTION
from tests.pages import check_page
from tests.tiny import script

CLEAN = [f"Row {n} talks of the number {n} times {n + 1} and of nothing else that matters <b>here</b>." for n in range(20)]


def run(tmp_path, train: list[str]) -> str | None:
    """What the script ends with, None where it passes."""
    for name, rows in (("train", train), ("test", [QUESTION])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps({"text": row}) + "\n" for row in rows))
    evaluation = json.dumps({"ferries": str(tmp_path / "test.jsonl")})
    check = script("data_gen/check_contamination.py")
    try:
        check.main(["--train", f"[{tmp_path / 'train.jsonl'}]", "--evaluation", evaluation, "--out", str(tmp_path / "out")])
    except SystemExit as end:
        return str(end.code)
    return None


def test_a_clean_set_passes(tmp_path) -> None:
    assert run(tmp_path, CLEAN) is None
    assert not read_jsonl(tmp_path / "out" / "hits.jsonl", Hit)


def test_a_folder_of_another_run_is_left_alone(tmp_path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "config.yaml").write_text("seed: 3\n")
    with pytest.raises(ValueError, match="out was made with other arguments"):
        run(tmp_path, CLEAN)
    assert (tmp_path / "out" / "config.yaml").read_text() == "seed: 3\n"


def test_planted_cases_fail_it_and_stand_in_the_report(tmp_path) -> None:
    copied = QUESTION.replace("ferry", "FERRY")
    shared = "They told us: " + " ".join(QUESTION.split()[:16]) + " <script>"
    near = QUESTION.replace("the end", "last")
    ended = run(tmp_path, [*CLEAN, copied, shared, near])
    assert ended == "3 of 23 training records stand in an evaluation set"
    found = read_jsonl(tmp_path / "out" / "hits.jsonl", Hit)
    by_row: dict[int, set[str]] = {}
    for hit in found:
        by_row.setdefault(int(hit.train.rpartition(":")[2]), set()).add(hit.way)
    assert by_row == {21: {"exact", "n-gram", "near-duplicate"}, 22: {"n-gram"}, 23: {"n-gram", "near-duplicate"}}
    page = check_page(tmp_path / "out" / "report.html")
    assert "ferries" in (tmp_path / "out" / "report.md").read_text()
    assert page.tags.count("table") == 2
