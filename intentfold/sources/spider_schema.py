"""Spider's databases: the words for tables and columns (tables.json), and the values in them (sqlite)."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlglot import exp

from intentfold.intent import normalise
from intentfold.sources.loading import Skip
from intentfold.sources.values import MOST_VALUES, look_alikes_first, near_numbers, said

MOST_DISTINCT = 300
LONGEST_VALUE = 60


@dataclass(frozen=True, slots=True)
class Column:
    """A column by its names in the database, and by the words for it and its table."""

    table: str
    name: str
    words: str
    table_words: str
    is_key: bool


class Schema:
    """One database: its columns, and a read-only connection to its rows (to be closed)."""

    def __init__(self, path: Path, record: Mapping[str, Any]) -> None:
        self.path = path
        self.name: str = record["db_id"]
        self.words = re.sub(r"[_ ]*\d+$", "", self.name).replace("_", " ")
        keys = {*record["primary_keys"], *(key for pair in record["foreign_keys"] for key in pair)}
        self.columns: dict[tuple[str, str], Column] = {}
        for number, ((table, name), (_, words)) in enumerate(
            zip(record["column_names_original"], record["column_names"], strict=True)
        ):
            if table >= 0:
                owner, owner_words = record["table_names_original"][table], record["table_names"][table]
                is_key = number in keys or bool(re.search(r"\b(id|code)$", words))
                self.columns[owner.lower(), name.lower()] = Column(owner, name, words, owner_words, is_key)
        self._distinct: dict[Column, list[Any]] = {}
        self._connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        self._connection.text_factory = lambda data: data.decode("utf-8", "replace")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        """The first two rows of a query; raises `sqlite3.Error` where it fails."""
        return self._connection.execute(sql).fetchmany(2)

    def of_table(self, table: str) -> list[Column]:
        """The columns of a table, in order."""
        return [column for (owner, _), column in self.columns.items() if owner == table.lower()]

    def with_string_literals(self, query: exp.Expr) -> exp.Expr:
        """The query with double-quoted words that name no column as the string literals that sqlite takes them for."""
        names = {name for _, name in self.columns}

        def literal(node: exp.Expr) -> exp.Expr:
            quoted = isinstance(node, exp.Column) and node.this.args.get("quoted") and not node.table
            return exp.Literal.string(node.name) if quoted and node.name.lower() not in names else node

        return query.transform(literal)

    def anywhere(self, column: exp.Column) -> Column | None:
        """The one column of that name in the whole database."""
        found = [known for (_, name), known in self.columns.items() if name == column.name.lower()]
        return found[0] if len(found) == 1 else None

    def distinct(self, column: Column) -> list[Any]:
        """The column's distinct values: numbers (also those stored as text), else one-line strings; sorted, bounded."""
        if column not in self._distinct:
            name = f'"{column.name}"'
            sql = f'SELECT DISTINCT {name} FROM "{column.table}" WHERE {name} IS NOT NULL ORDER BY 1 LIMIT {MOST_DISTINCT}'
            values = [value for (value,) in self._connection.execute(sql)]
            numbers = [_number(value) for value in values]
            if None not in numbers:
                self._distinct[column] = sorted({number for number in numbers if number is not None})
            else:
                self._distinct[column] = [value for value in map(str, values) if _is_sayable(value)]
        return self._distinct[column]

    def values_like(self, column: Column, value: str | int | float) -> list[str]:
        """Up to `MOST_VALUES` other values of the column, the likeliest to be confused with `value` first."""
        others = self.distinct(column)
        if isinstance(value, str):
            ranked = look_alikes_first(value, map(said, others))
        else:
            numbers = [number for number in others if isinstance(number, int | float)]
            ranked = [said(number) for number in (*sorted(numbers, key=lambda n: (abs(n - value), n)), *near_numbers(value)[:3])]
        return [other for other in dict.fromkeys(ranked) if normalise(other) != normalise(said(value))][:MOST_VALUES]

    def scope(self, query: exp.Select) -> Scope:
        """What the outermost FROM names; raises `Skip` where that is not tables alone."""
        sources = [query.args["from_"].this, *(join.this for join in query.args.get("joins") or ())]
        if not all(isinstance(source, exp.Table) and self.of_table(source.name) for source in sources):
            raise Skip("FROM holds more than tables")
        return Scope(self, tuple((source.alias_or_name, self.of_table(source.name)) for source in sources))


@dataclass(frozen=True, slots=True)
class Scope:
    """The tables in a query's FROM, each under the name that the query gives it."""

    schema: Schema
    tables: tuple[tuple[str, list[Column]], ...]

    @property
    def words(self) -> str:
        """The tables in words."""
        return joined([columns[0].table_words for _, columns in self.tables])

    @property
    def has_self_join(self) -> bool:
        """Whether a table stands there twice."""
        return len({columns[0].table for _, columns in self.tables}) < len(self.tables)

    def find(self, column: exp.Column) -> Column | None:
        """The column that the query means, where it can be told."""
        found = [
            known
            for alias, columns in self.tables
            for known in columns
            if known.name.lower() == column.name.lower() and column.table.lower() in ("", alias.lower())
        ]
        return found[0] if len(found) == 1 else None

    def is_numeric(self, column: exp.Expr) -> bool:
        """Whether the column is a known one that holds numbers and is no key."""
        known = self.find(column) if isinstance(column, exp.Column) else None
        return known is not None and not known.is_key and not isinstance((self.schema.distinct(known) or [""])[0], str)

    def phrase(self, column: Column) -> str:
        """The column in words, with its table's where another table has such a column."""
        alike = [known for _, columns in self.tables for known in columns if known.words == column.words]
        return column.words if len(alike) == 1 else f"{column.table_words} {column.words}"

    def sql(self, column: Column) -> str:
        """The column as it must be written in the query."""
        alias = next(alias for alias, columns in self.tables if column in columns)
        name = exp.to_identifier(column.name, quoted=not re.fullmatch(r"[A-Za-z_]\w*", column.name))
        return exp.column(name, table=alias if len(self.tables) > 1 else None).sql("sqlite")


def joined(words: list[str]) -> str:
    """`a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _number(value: Any) -> int | float | None:
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,15}(\.\d{1,15})?", value):
        return float(value) if "." in value else int(value)
    return value if isinstance(value, int | float) else None


def _is_sayable(value: str) -> bool:
    return 0 < len(value) <= LONGEST_VALUE and value == value.strip() and value.isprintable() and "\ufffd" not in value
