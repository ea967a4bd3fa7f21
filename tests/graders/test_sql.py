"""SQL by execution, and statements that want more than to read."""

from __future__ import annotations

import json
import random
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from intentfold.graders import GoldError, grade, reference_answer
from intentfold.graders.sandbox import DatabaseError, Sandbox
from intentfold.graders.sql import same_rows
from intentfold.task import SourceTask

Make = Callable[..., SourceTask]
SCRIPT = """
CREATE TABLE singer (id INTEGER PRIMARY KEY, name TEXT, age INTEGER, fee REAL, photo BLOB);
INSERT INTO singer VALUES (1, 'Ann', 30, 0.1, x'00ff'), (2, 'Bob', 25, 0.2, NULL), (3, 'Cy', 30, 0.3, NULL);
"""


@pytest.fixture
def make_sql(make_task: Make, box: Sandbox) -> Callable[..., SourceTask]:
    return lambda query, script=SCRIPT: make_task("sql", {"sql": query}, database={"script": [script]})


TABLE = [
    # gold, answer, full credit
    ("SELECT name FROM singer", "select T.name from singer as T;", True),
    ("SELECT name FROM singer", "SELECT name FROM singer ORDER BY age", True),
    ("SELECT name FROM singer ORDER BY age, id", "SELECT name FROM singer ORDER BY age, id", True),
    ("SELECT name FROM singer ORDER BY age, id", "SELECT name FROM singer ORDER BY id", False),
    (
        "SELECT name FROM singer WHERE id IN (SELECT id FROM singer ORDER BY age LIMIT 2)",
        "SELECT name FROM singer WHERE age=25 OR id=1 ORDER BY id DESC",
        True,
    ),
    (
        "SELECT id FROM singer UNION SELECT age FROM singer ORDER BY id DESC",
        "SELECT id FROM singer UNION SELECT age FROM singer",
        False,
    ),
    ("SELECT age FROM singer", "SELECT DISTINCT age FROM singer", False),
    ("SELECT age FROM singer", "SELECT age FROM singer UNION ALL SELECT 30", False),
    ("SELECT name, age FROM singer", "SELECT age, name FROM singer", False),
    ("SELECT name FROM singer", "SELECT name, age FROM singer", False),
    ("SELECT name AS n FROM singer", "SELECT name AS other FROM singer", True),
    ("SELECT sum(fee) FROM singer", "SELECT 0.6", True),
    ("SELECT sum(fee) FROM singer", "SELECT 0.6001", False),
    ("SELECT count(*) FROM singer", "SELECT 3.0", True),
    ("SELECT count(*) FROM singer", "SELECT '3'", False),
    ("SELECT photo FROM singer", "SELECT photo FROM singer ORDER BY id DESC", True),
    ("SELECT photo FROM singer WHERE id = 2", "SELECT NULL", True),
    ("SELECT photo FROM singer WHERE id = 2", "SELECT 0", False),
    ("SELECT name FROM singer", "Sure:\n```sql\nSELECT name FROM singer\n```", True),
    ("SELECT name FROM singer WHERE age > 99", "SELECT name FROM singer WHERE 0", True),
    ("SELECT name FROM singer WHERE age > 99", "SELECT name FROM singer", False),
    ("SELECT name FROM singer", "SELECT nom FROM singer", False),
    ("SELECT name FROM singer", "the names of all singers", False),
    ("SELECT name FROM singer", "SELECT name FROM singer; SELECT name FROM singer", False),
    ("SELECT name FROM singer", "-- nothing", False),
    ("SELECT name FROM singer", "SELECT name FROM singer \0", False),
    ("SELECT name FROM singer", "SELECT '\ud800'", False),
]


@pytest.mark.parametrize(("gold", "answer", "full"), TABLE)
def test_execution(gold: str, answer: str, full: bool, make_sql: Callable[..., SourceTask]) -> None:
    outcome = grade(make_sql(gold), answer)
    assert outcome.full is full, outcome.reason
    assert outcome.value == float(full)


HOSTILE = {
    "attach": "ATTACH DATABASE '{path}' AS other",
    "vacuum": "VACUUM INTO '{path}'",
    "write": "INSERT INTO singer VALUES (9, 'Eve', 1, 1, NULL)",
    "returning": "DELETE FROM singer RETURNING name",
    "drop": "DROP TABLE singer",
    "temporary table": "CREATE TEMP TABLE t AS SELECT * FROM singer",
    "trigger": "CREATE TRIGGER t AFTER INSERT ON singer BEGIN SELECT 1; END",
    "pragma": "PRAGMA user_version = 3",
    "pragma that reads": "PRAGMA database_list",
    "pragma function": "SELECT name FROM pragma_database_list",
    "extension": "SELECT load_extension('{path}')",
    "second statement": "SELECT name FROM singer; DROP TABLE singer",
    "transaction": "BEGIN EXCLUSIVE",
    "endless count": "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
    "endless rows": "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c",
    "endless set": "WITH RECURSIVE c(x) AS (SELECT 1 UNION SELECT x + 1 FROM c) SELECT max(x) FROM c",
    "huge blob": "SELECT zeroblob(2000000000)",
    "huge text": "SELECT printf('%.*c', 2000000000, 'x')",
    "many big values": "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 900) "
    "SELECT hex(zeroblob(1000000)) FROM c",
    "wide join": "SELECT count(*) FROM " + ", ".join(f"singer s{i}" for i in range(30)),
    "deep expression": "SELECT " + "(" * 5000 + "1" + ")" * 5000,
    "long text": "SELECT '" + "x" * 5_000_000 + "'",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_statement_fails_and_changes_nothing(name: str, make_sql: Callable[..., SourceTask], tmp_path: Path) -> None:
    task = make_sql("SELECT name FROM singer")
    began = time.monotonic()
    assert grade(task, HOSTILE[name].replace("{path}", str(tmp_path / "out.db"))).value == 0.0
    assert time.monotonic() - began < 6
    assert list(tmp_path.iterdir()) == []
    assert grade(task, "SELECT name FROM singer").full


def test_a_file_is_read_and_left_alone(make_task: Make, box: Sandbox, tmp_path: Path) -> None:
    path = tmp_path / "a b?.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(SCRIPT)
    connection.close()
    before, time_ns = path.read_bytes(), path.stat().st_mtime_ns
    task = make_task("sql", {"sql": "SELECT name FROM singer"}, database={"path": str(path)})
    assert grade(task, reference_answer(task)).full
    assert not grade(task, "DELETE FROM singer RETURNING name").full
    assert path.read_bytes() == before and path.stat().st_mtime_ns == time_ns
    assert [item.name for item in tmp_path.iterdir()] == [path.name]
    # A file that changes is read again.
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM singer WHERE id > 1")
    connection.close()
    assert box.run_sql(path, "SELECT name FROM singer").rows == (("Ann",),)


def test_a_file_with_a_write_ahead_log_opens(box: Sandbox, tmp_path: Path) -> None:
    path = tmp_path / "wal.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(SCRIPT)
    connection.close()
    assert len(box.run_sql(path, "SELECT * FROM singer").rows) == 3
    path.with_name("wal.sqlite-wal").write_bytes(b"changes")
    path.touch()
    box.close()
    with pytest.raises(DatabaseError, match="checkpoint"):
        box.run_sql(path, "SELECT * FROM singer")


def test_text_that_is_not_utf8_is_readable(box: Sandbox) -> None:
    assert box.run_sql(b"SELECT 1;", "SELECT CAST(x'41ff' AS TEXT)").rows == (("A\ufffd",),)


def test_many_databases_share_the_zygote(box: Sandbox) -> None:
    scripts = [f"CREATE TABLE t(x); INSERT INTO t VALUES ({i});".encode() for i in range(30)]
    for _ in range(2):
        assert [box.run_sql(script, "SELECT x FROM t").rows for script in scripts] == [((i,),) for i in range(30)]


@pytest.mark.parametrize(
    ("reference", "database", "field"),
    [
        ({}, {"script": [SCRIPT]}, r"reference\.sql: is missing"),
        ({"sql": "SELECT nom FROM singer"}, {"script": [SCRIPT]}, r"reference\.sql: .*no such column"),
        ({"sql": "DELETE FROM singer"}, {"script": [SCRIPT]}, r"reference\.sql: .*not authorized"),
        ({"sql": "SELECT (("}, {"script": [SCRIPT]}, r"reference\.sql"),
        ({"sql": "SELECT 1"}, {"script": ["CREATE TABEL t"]}, "database: .*syntax error"),
        ({"sql": "SELECT 1"}, {"script": ["ATTACH '/tmp/x' AS x;"]}, "database: .*not authorized"),
        ({"sql": "SELECT 1"}, {"path": "/nowhere/at/all"}, "database: .*/nowhere/at/all"),
        ({"sql": "SELECT 1"}, {"path": __file__}, "database: .*not a database"),
        ({"sql": "SELECT 1"}, {"path": "x", "script": ["y"]}, "database: must hold either"),
        ({"sql": "SELECT 1"}, {}, "database: is empty"),
    ],
)
def test_malformed_gold_is_an_error(reference: Any, database: Any, field: str, make_task: Make, box: Sandbox) -> None:
    with pytest.raises(GoldError, match=f"task task-7: payload.{field}"):
        grade(make_task("sql", reference, database=database), "SELECT 1")


def test_an_endless_script_is_an_error_of_the_database(box: Sandbox) -> None:
    endless = b"CREATE TABLE t AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) SELECT count(*) FROM c;"
    with pytest.raises(DatabaseError, match="interrupted"):
        box.run_sql(endless, "SELECT 1")


cells = st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text() | st.binary()
tables = st.lists(st.tuples(cells, cells), max_size=8)


@given(rows=tables, seed=st.integers())
def test_a_multiset_has_no_order(rows: list[tuple[Any, ...]], seed: int) -> None:
    shuffled = rows[:]
    random.Random(seed).shuffle(shuffled)
    assert same_rows(shuffled, rows, ordered=False)
    assert same_rows(rows, rows, ordered=True)
    assert not same_rows([*rows, (None, None)], rows, ordered=False)


@given(rows=tables.filter(bool), text=st.text())
def test_one_other_cell_is_another_multiset(rows: list[tuple[Any, ...]], text: str) -> None:
    assume(rows[0][1] != text)
    assert not same_rows([(rows[0][0], text), *rows[1:]], rows, ordered=False)


def test_the_gold_queries_of_spider_pass(data: Path, make_task: Make) -> None:
    folder = data / "spider"
    graded = 0
    for entry in json.loads((folder / "dev.json").read_text())[::10]:
        path = folder / "database" / entry["db_id"] / f"{entry['db_id']}.sqlite"
        if path.exists():
            task = make_task("sql", {"sql": entry["query"]}, database={"path": str(path)})
            assert grade(task, reference_answer(task)).full, entry["query"]
            graded += 1
    assert graded > 50
