from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from intentfold.sources.loading import LoadReport, SourceError
from intentfold.sources.spider import load_spider
from intentfold.task import SourceTask
from tests.sources.verdicts import assert_own_goals_answer, decoys, sample, share_that_costs_credit, variants, verdict

COLUMNS = [
    (-1, "*", "*"),
    (0, "Boat_ID", "boat id"),
    (0, "Boat_Name", "boat name"),
    (0, "Harbour", "harbour"),
    (0, "Length", "length"),
    (0, "Year_Built", "year built"),
    (1, "Trip_ID", "trip id"),
    (1, "Boat_ID", "boat id"),
    (1, "Guests", "guests"),
]
TABLES = {
    "db_id": "boat_hire_1",
    "table_names": ["boat", "trip"],
    "table_names_original": ["boat", "trip"],
    "column_names": [[table, words] for table, _, words in COLUMNS],
    "column_names_original": [[table, name] for table, name, _ in COLUMNS],
    "primary_keys": [1, 6],
    "foreign_keys": [[7, 1]],
}
SCRIPT = """
CREATE TABLE boat (Boat_ID INTEGER, Boat_Name TEXT, Harbour TEXT, Length REAL, Year_Built INTEGER);
INSERT INTO boat VALUES (6, 'Fina', 'Kiel', 13.0, 1995), (7, 'Edda', 'Oslo', 11.0, 1999);
INSERT INTO boat VALUES (1, 'Anna', 'Kiel', 9.5, 1990), (2, 'Bella', 'Kiel', 12.0, 2001), (3, 'Clara', 'Bergen', 8.0, 2001),
  (4, 'Dora', 'Bern', 7.0, 1985), (5, 'Anne', 'Bergen', 15.0, 2010);
CREATE TABLE trip (Trip_ID INTEGER, Boat_ID INTEGER, Guests INTEGER);
INSERT INTO trip VALUES (1, 1, 4), (2, 1, 6), (3, 2, 8), (4, 3, 2), (5, 3, 3), (6, 3, 5);
"""


def folder_with(tmp_path: Path, *queries: str, question: str = "?") -> Path:
    database = tmp_path / "database" / "boat_hire_1"
    database.mkdir(parents=True)
    with closing(sqlite3.connect(database / "boat_hire_1.sqlite")) as connection:
        connection.executescript(SCRIPT)
    records = [{"db_id": "boat_hire_1", "query": query, "question": question} for query in queries]
    (tmp_path / "dev.json").write_text(json.dumps(records))
    (tmp_path / "tables.json").write_text(json.dumps([TABLES]))
    return tmp_path


def one(tmp_path: Path, query: str, question: str = "?") -> SourceTask:
    report = load_spider(folder_with(tmp_path, query, question=question))
    assert len(report.tasks) == 1, report.skipped
    return report.tasks[0]


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        (
            'SELECT Boat_Name, Length FROM boat WHERE Harbour = "Kiel" AND Length >= 10 ORDER BY Length LIMIT 1',
            [
                "what to list: boat name and length",
                "sort by: length, lowest first",
                "harbour: Kiel",
                "minimum length: 10",
                "number of results: 1",
            ],
        ),
        (
            "SELECT count(*), avg(T2.Guests) FROM boat AS T1 JOIN trip AS T2 ON T1.Boat_ID = T2.Boat_ID "
            "WHERE T1.Boat_Name LIKE '%a%' GROUP BY T1.Harbour HAVING count(*) >= 2",
            [
                "what to list: number of rows and average guests for each harbour",
                "boat name containing: a",
                "minimum number of rows: 2",
            ],
        ),
        (
            "SELECT DISTINCT Harbour FROM boat WHERE Year_Built BETWEEN 1990 AND 2005 AND Harbour != 'Bern'",
            [
                "what to list: different harbour",
                "minimum year built: 1990",
                "maximum year built: 2005",
                "harbour other than: Bern",
            ],
        ),
    ],
)
def test_a_query_is_taken_apart_and_put_together_again(tmp_path: Path, query: str, texts: list[str]) -> None:
    task = one(tmp_path, query)
    assert [goal.text for goal in task.goals] == texts
    assert verdict(task, task.goals).full


def test_every_part_of_the_query_is_needed(tmp_path: Path) -> None:
    task = one(tmp_path, "SELECT Boat_Name FROM boat WHERE Harbour = 'Kiel' AND Length >= 10 ORDER BY Length LIMIT 1")
    for missing in range(len(task.goals)):
        shorter = task.goals[:missing] + task.goals[missing + 1 :]
        assert not verdict(task, shorter).full, task.goals[missing].text


def test_other_values_are_real_ones_and_those_that_look_alike_come_first(tmp_path: Path) -> None:
    task = one(tmp_path, "SELECT Boat_Name FROM boat WHERE Harbour = 'Bergen' AND Year_Built = 2001")
    parameters = task.payload["parameters"]
    assert parameters["harbour"]["values"] == ["Bern", "Kiel", "Oslo"]
    assert parameters["year built"]["values"][:3] == ["1999", "1995", "2010"]
    assert parameters["what to list"]["values"][0] == "harbour"


def test_decoys_are_conditions_on_other_columns_that_cost_credit(tmp_path: Path) -> None:
    task = one(tmp_path, "SELECT Boat_Name FROM boat WHERE Harbour = 'Kiel'")
    slots = [decoy.slot for decoy in decoys(task)]
    assert {"minimum length", "maximum year built", "boat name", "number of results"} <= set(slots)
    assert "harbour" not in slots
    assert any(not verdict(task, (*task.goals, decoy)).full for decoy in decoys(task))


def test_a_query_beyond_words_keeps_its_question_where_that_states_a_literal(tmp_path: Path) -> None:
    query = "SELECT Boat_Name FROM boat WHERE Boat_ID NOT IN (SELECT Boat_ID FROM trip WHERE Guests > 5)"
    task = one(tmp_path, query, question="Which boats never took more than 5 guests?")
    assert [goal.text for goal in task.goals] == ["Which boats never took more than 5 guests?"]
    assert task.payload["parameters"]["question"]["text"] == "Which boats never took more than {value} guests?"
    assert task.origin == "spider/boat_hire_1/" + query.lower().replace("5", "?").replace(
        "boat_id not in (select boat_id from trip where guests > ?)", "not boat_id in (select boat_id from trip where guests > ?)"
    )
    assert verdict(task, task.goals).full
    assert share_that_costs_credit(task, variants(task)) > 0.5


def test_the_origin_is_the_query_without_its_literals(tmp_path: Path) -> None:
    queries = [f"SELECT Boat_Name FROM boat WHERE Harbour = '{harbour}'" for harbour in ("Kiel", "Bergen")]
    first, second = load_spider(folder_with(tmp_path, *queries)).tasks
    assert first.origin == second.origin and first.id != second.id


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT Boat_Name FROM boat WHERE Harbour = 'Rome'", "query returns nothing"),
        ("SELECT max(Length) FROM boat WHERE Harbour = 'Rome'", "query returns nothing"),
        ("SELECT Boat_Name FROM boat UNION SELECT Harbour FROM boat", "set operation"),
        (
            "SELECT Boat_Name FROM boat WHERE Length > (SELECT avg(Length) FROM boat)",
            "neither taken apart nor a literal that the question states",
        ),
        ("SELECT Missing FROM boat", "query fails on the database"),
        ("SELECT count(*) FROM (SELECT * FROM boat)", "FROM holds more than tables"),
    ],
)
def test_what_is_skipped_is_counted_with_its_reason(tmp_path: Path, query: str, reason: str) -> None:
    assert dict(load_spider(folder_with(tmp_path, query)).skipped) == {reason: 1}


def test_the_same_query_twice_is_one_task(tmp_path: Path) -> None:
    report = load_spider(folder_with(tmp_path, "SELECT Boat_Name FROM boat", "select boat_name  from boat"))
    assert (len(report.tasks), dict(report.skipped)) == (1, {"same query as an earlier question": 1})


def test_a_database_that_is_not_there_skips_its_questions(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, "SELECT Boat_Name FROM boat")
    (folder / "database" / "boat_hire_1" / "boat_hire_1.sqlite").unlink()
    assert dict(load_spider(folder).skipped) == {"no database file": 1}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("dev.json", "[", r"dev\.json: not JSON"),
        ("dev.json", "{}", r"dev\.json: expected Spider's dev questions, a JSON list, got dict"),
        ("dev.json", '[{"db_id": "x", "query": 3, "question": ""}]', r"dev\.json: record 0: field query must be str, got '3'"),
        ("dev.json", '[{"db_id": "x", "query": "", "question": ""}]', r"record 0: field db_id: 'x' is not in .*tables\.json"),
        ("tables.json", '[{"db_id": "x"}]', r"tables\.json: record 0: field table_names is missing"),
    ],
)
def test_malformed_files_are_named_with_record_and_field(tmp_path: Path, name: str, content: str, message: str) -> None:
    folder = folder_with(tmp_path, "SELECT Boat_Name FROM boat")
    (folder / name).write_text(content)
    with pytest.raises(SourceError, match=message):
        load_spider(folder)


def test_names_and_original_names_must_agree(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, "SELECT Boat_Name FROM boat")
    (folder / "tables.json").write_text(json.dumps([{**TABLES, "column_names": TABLES["column_names"][1:]}]))
    with pytest.raises(SourceError, match=r"tables\.json: record 0: field column_names must be as long as .* \(9\), got 8"):
        load_spider(folder)


def test_a_missing_file_says_what_was_expected(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"dev\.json: no such file; expected Spider's dev questions, a JSON list"):
        load_spider(tmp_path)


def test_real_tasks(real: Callable[[str], LoadReport]) -> None:
    report = real("spider")
    assert len(report.tasks) >= 400
    assert len(report.tasks) + sum(report.skipped.values()) == 1034
    chosen = sample(report.tasks)
    assert_own_goals_answer(chosen)
    enough = [task for task in report.tasks if len(decoys(task)) >= 3 and len(variants(task)) >= 3]
    assert len(enough) >= 0.9 * len(report.tasks)
    shares: list[Any] = [share_that_costs_credit(task, variants(task)) for task in chosen[:20]]
    assert sum(shares) / len(shares) > 0.7
