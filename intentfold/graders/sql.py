"""SQL by execution: the answer's rows against the gold query's rows on the same database.

Reading of execution accuracy: rows are a multiset, or a list where the gold query itself (not a subquery) has
ORDER BY; columns are compared by position, their names don't count; numbers are equal within 1e-9 relative or
absolute, and an int equals the float of the same value; text is compared exactly, NULL equals NULL. Rows that
tie under the gold's ORDER BY must come in the order in which sqlite returns the gold's.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import sqlglot

from intentfold.graders.grade import GoldError, Grade, failed, gold, passed, unfence
from intentfold.graders.sandbox import DatabaseError, SqlResult, database_key, shared_sandbox
from intentfold.task import SourceTask

Row = tuple[Any, ...]


def grade_sql(task: SourceTask, answer: str) -> Grade:
    """Full credit when both statements return the same rows."""
    query = gold(task, "reference.sql", str)
    database = _database(task)
    try:
        ordered = _is_ordered(query)
        wanted = _gold_result(_Database(database_key(database), database), query)
    except sqlglot.errors.SqlglotError as error:
        raise GoldError(task, "reference.sql", str(error)) from error
    except DatabaseError as error:
        raise GoldError(task, "database", str(error)) from error
    if wanted.error is not None:
        raise GoldError(task, "reference.sql", wanted.error)
    got = shared_sandbox().run_sql(database, unfence(answer))
    if got.error is not None:
        return failed(f"{got.kind}: {got.error}")
    if len(got.columns) != len(wanted.columns):
        return failed(f"{len(got.columns)} columns where {len(wanted.columns)} were expected")
    if len(got.rows) != len(wanted.rows):
        return failed(f"{len(got.rows)} rows where {len(wanted.rows)} were expected")
    if same_rows(got.rows, wanted.rows, ordered):
        return passed("returns the same rows")
    return failed("returns other rows" + (", or the same in another order" if ordered else ""))


def same_rows(got: Iterable[Row], wanted: Iterable[Row], ordered: bool) -> bool:
    """Rows equal as lists, or as multisets when not `ordered`."""
    left, right = list(got), list(wanted)
    if not ordered:
        # Rounded in the key alone, so that rows within the tolerance of one another sort alike.
        left, right = sorted(left, key=_sort_key), sorted(right, key=_sort_key)
    return len(left) == len(right) and all(map(_same_row, left, right))


def _same_row(left: Row, right: Row) -> bool:
    return len(left) == len(right) and all(map(_same_cell, left, right))


def _same_cell(left: Any, right: Any) -> bool:
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left == right or math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-9)
    return type(left) is type(right) and left == right


def _sort_key(row: Row) -> tuple[tuple[int, Any], ...]:
    return tuple(_cell_key(cell) for cell in row)


def _cell_key(cell: Any) -> tuple[int, Any]:
    if cell is None:
        return 0, 0
    if isinstance(cell, int | float):
        # 0.0 joins what the absolute tolerance makes equal to it; integers beyond 2**53 keep their digits.
        return 1, cell if isinstance(cell, int) and abs(cell) >= 2**53 else float(f"{round(cell, 7):.7g}") + 0.0
    return (2, cell) if isinstance(cell, str) else (3, cell)


@functools.lru_cache(maxsize=8192)
def _is_ordered(query: str) -> bool:
    return sqlglot.parse_one(query, read="sqlite").args.get("order") is not None


class _Database:
    """A database under the hash of its content, for the cache below."""

    def __init__(self, key: str, database: Path | bytes) -> None:
        self.key, self.database = key, database

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Database) and self.key == other.key


@functools.lru_cache(maxsize=1024)
def _gold_result(database: _Database, query: str) -> SqlResult:
    return shared_sandbox().run_sql(database.database, query)


def _database(task: SourceTask) -> Path | bytes:
    match gold(task, "database", Mapping):  # type: ignore[type-abstract]
        case {"script": [str(), *_] as statements, **rest} if all(isinstance(s, str) for s in statements) and "path" not in rest:
            return ";\n".join(statements).encode()
        case {"path": str(path), **rest} if path and "script" not in rest:
            return Path(path)
    raise GoldError(task, "database", "must hold either a script (a list of statements) or a path")
