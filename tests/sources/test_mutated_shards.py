"""Sharded records with any one field broken: a task, a counted skip, or an error that names file, record and place."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from intentfold.sources.loading import SourceError
from intentfold.sources.lost_in_conversation import load_lost_in_conversation
from tests.sources.conftest import DATA
from tests.sources.test_lost_in_conversation import ACTIONS, LIVECODE, MATH, SUMMARY, shards

CELL = {"value": "Ghent", "is_header": False, "column_span": 1}
TABLE = {
    "task": "data2text",
    "task_id": "sharded-totto_5",
    "original_task_id": 5,
    "metadata": {"table_page_title": "Cities", "table_section_title": "Ports"},
    "raw_table": [[{**CELL, "value": "City", "is_header": True}], [CELL]],
    "table_highlighted_html": "<tr><th>City</th></tr><tr><td class='highlighted'>Ghent</td></tr>",
    "references": ["The port is Ghent."],
    "shards": shards("describe the table"),
}
HUMANEVAL = {
    "task": "code",
    "task_id": "sharded-HumanEval/900",
    "source": "humaneval",
    "metadata": {"func_name": "twice"},
    "test": "def check(candidate):\n    assert candidate(2) == 4\n",
    "shards": shards("write a function", "it doubles a number"),
}
# BFCL lets the values of a dict's keys be chosen one by one.
NESTED = copy.deepcopy(ACTIONS)
NESTED["function"][0]["parameters"]["properties"]["seats"] = {"type": "dict", "description": "seats by class", "enum": [1]}
NESTED["reference_answer"][0]["trains.book"]["seats"] = [{"first": [2], "second": [1, ""]}]
OWN = [MATH, LIVECODE, ACTIONS, NESTED, SUMMARY, TABLE, HUMANEVAL]
BROKEN = [None, True, -1, 1.5, 10**20, "", "x", [], [None], ["x"], [1], [[1]], [{}], {}, {"a": 1}]
Path_ = tuple[str | int, ...]


def places(data: Any, at: Path_ = ()) -> Iterator[Path_]:
    """Every place in the data but its root, at most two members deep into a list."""
    inside = list(data.items()) if isinstance(data, dict) else list(enumerate(data))[:2] if isinstance(data, list) else []
    for key, value in inside:
        yield (*at, key)
        yield from places(value, (*at, key))


def mutants(record: dict[str, Any]) -> Iterator[tuple[Path_, Any, dict[str, Any]]]:
    for place in places(record):
        for value in (*BROKEN, "left out"):
            mutant = copy.deepcopy(record)
            inside: Any = mutant
            for key in place[:-1]:
                inside = inside[key]
            if value == "left out":
                del inside[place[-1]]
            else:
                inside[place[-1]] = value
            yield place, value, mutant


def check(folder: Path, record: dict[str, Any]) -> int:
    """How many mutants were refused; anything but a `SourceError` with the place fails the test with the mutation."""
    refused = 0
    for place, value, mutant in mutants(record):
        (folder / "records.json").write_text(json.dumps([mutant]))
        try:
            load_lost_in_conversation(folder)
        except SourceError as error:
            assert f"{folder / 'records.json'}: record 0: " in str(error), (place, value, str(error))
            refused += 1
        except Exception as error:
            raise AssertionError(f"{place} as {value!r}: {type(error).__name__}: {error}") from error
    return refused


@pytest.mark.parametrize("record", OWN, ids=lambda record: record["task_id"])
def test_a_broken_field_is_named(record: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "records.json").write_text(json.dumps([record]))
    load_lost_in_conversation(tmp_path)
    assert check(tmp_path, record) > 50


@pytest.mark.parametrize(
    ("record", "change", "fault"),
    [
        (SUMMARY, {"insightid2ref_citations": {"i": [[5]]}}, r"field insightid2ref_citations.i must list ints, got '\[\[5\]\]'"),
        (SUMMARY, {"shards": [{"shard_id": 0, "shard": "", "doc_idxs": [[5]]}]}, "shard 0: field doc_idxs must list ints"),
        (LIVECODE, {"private_test_cases": 7}, "field private_test_cases must be str, got '7'"),
        (TABLE, {"references": ["x", 7]}, "field references must list strs"),
        (TABLE, {"raw_table": [[{**CELL, "column_span": 10**20}]]}, "table row 0: field column_span must be 1 to 1000"),
        (NESTED, {"reference_answer": [{"trains.book": {"seats": [{"first": 2}]}}]}, "must list the values of every key"),
    ],
)
def test_the_fault_is_told(record: dict[str, Any], change: dict[str, Any], fault: str, tmp_path: Path) -> None:
    (tmp_path / "records.json").write_text(json.dumps([{**record, **change}]))
    with pytest.raises(SourceError, match=f"record 0: .*{fault}"):
        load_lost_in_conversation(tmp_path)


def test_a_database_record_is_named_too(tmp_path: Path) -> None:
    if not (DATA / "lost_in_conversation").is_dir() or not (DATA / "spider").is_dir():
        pytest.skip(f"no lost_in_conversation or spider under {DATA}")
    files = sorted((DATA / "lost_in_conversation").glob("*.json"))
    record = next(one for path in files for one in json.loads(path.read_text()) if one["task"] == "database")
    (tmp_path / "spider").symlink_to(DATA / "spider")
    kept = ("task", "task_id", "db_id", "reference_sql", "shards")
    check(tmp_path, {key: record[key] for key in kept})
