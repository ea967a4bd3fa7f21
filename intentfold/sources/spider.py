"""Spider dev as source tasks: the parts of each gold query that a user would state become goals.

A query whose parts can all be put into words is taken apart: what to list, each condition with a literal, grouping,
order and limit. Of any other the question itself is the goal, where it states one of the query's literals word for
word. Queries without a row are skipped, for then many wrong queries look right.
"""

from __future__ import annotations

import itertools
import random
import sqlite3
from collections.abc import Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import sqlglot
from sqlglot import exp

from intentfold.intent import normalise, slot_text
from intentfold.sources.builtin.common import make_conclusions, opening
from intentfold.sources.loading import LoadReport, Skip, SourceError, answer_alone, checked, read_list
from intentfold.sources.spider_parts import Parts, literal_value, take_apart
from intentfold.sources.spider_schema import Column, Schema, Scope
from intentfold.sources.values import MOST_VALUES, said
from intentfold.task import Goal, SourceTask

ENOUGH_DECOYS = 8
# Nothing to compare an answer with.
WITHOUT_ROWS = ("no database file", "query fails on the database", "query returns nothing")
_QUESTION_FIELDS = {"db_id": str, "query": str, "question": str}
_TABLE_FIELDS = {
    "db_id": str,
    "table_names": list,
    "table_names_original": list,
    "column_names": list,
    "column_names_original": list,
    "primary_keys": list,
    "foreign_keys": list,
}


def load_spider(folder: Path) -> LoadReport:
    """The tasks of `dev.json` in `folder`, beside `tables.json` and `database/<db_id>/<db_id>.sqlite`."""
    questions = _records(folder / "dev.json", "Spider's dev questions, a JSON list", _QUESTION_FIELDS)
    described = read_tables(folder)
    schemas: dict[str, Schema] = {}
    tasks: list[SourceTask] = []
    left: dict[str, str] = {}
    answers: list[SourceTask] = []
    seen: set[tuple[str, str]] = set()
    with ExitStack() as opened:
        for number, (where, record) in enumerate(questions):
            name = record["db_id"]
            if name not in described:
                raise SourceError(f"{where}: field db_id: {name!r} is not in {folder / 'tables.json'}")
            path = folder / "database" / name / f"{name}.sqlite"
            try:
                if not path.is_file():
                    raise Skip("no database file")
                if name not in schemas:
                    schemas[name] = opened.enter_context(closing(Schema(path, described[name])))
                tasks.append(_task(number, record, schemas[name], seen))
            except Skip as reason:
                left[f"spider/dev/{number}"] = str(reason)
                if str(reason) not in WITHOUT_ROWS:
                    payload = {"reference": {"sql": record["query"]}, "database": {"path": str(path)}}
                    answers.append(answer_alone(f"spider/dev/{number}", "sql", payload))
    return LoadReport(tuple(tasks), left, answers=tuple(answers))


def read_tables(folder: Path) -> dict[str, dict[str, Any]]:
    """The schemas of `tables.json` by database."""
    tables = _records(folder / "tables.json", "Spider's schemas, a JSON list", _TABLE_FIELDS)
    for where, record in tables:
        _check_columns(where, record)
    return {record["db_id"]: record for _, record in tables}


def _check_columns(where: str, record: Mapping[str, Any]) -> None:
    for field in ("column_names", "column_names_original"):
        if not all(isinstance(pair, list) and len(pair) == 2 for pair in record[field]):
            raise SourceError(f"{where}: field {field} must hold pairs of table number and name, got {str(record[field])[:80]!r}")
    words, names = record["column_names"], record["column_names_original"]
    if len(words) != len(names):
        raise SourceError(f"{where}: field column_names must be as long as the original ones ({len(names)}), got {len(words)}")


def _records(path: Path, what: str, fields: Mapping[str, type]) -> list[tuple[str, dict[str, Any]]]:
    return [(f"{path}: record {n}", checked(f"{path}: record {n}", one, fields)) for n, one in enumerate(read_list(path, what))]


def _task(number: int, record: Mapping[str, Any], schema: Schema, seen: set[tuple[str, str]]) -> SourceTask:
    query, rows = gold_query(record["query"], schema)
    scope = schema.scope(query)
    origin = f"spider/{schema.name}/{without_literals(query)}"
    parts = take_apart(query, scope)
    if parts is None:
        goals, parameters, program = _question_as_goal(record["question"], query, scope)
    elif (schema.name, normalise(record["query"])) in seen:
        raise Skip("same query as an earlier question")
    else:
        seen.add((schema.name, normalise(record["query"])))
        goals, parameters, program = _parts_as_goals(parts, scope)
    add_decoys(query, scope, parameters, program, many_rows=len(rows) > 1)
    return SourceTask(
        id=f"spider/dev/{number}",
        family="spider",
        origin=origin,
        license="Apache-2.0",
        request=opening([f"write a query on the {schema.words} database, about {scope.words}"], random.Random(number)),
        goals=goals,
        answer_form="sql",
        payload={
            "parameters": parameters,
            "program": program,
            "reference": {"sql": record["query"]},
            "database": {"path": str(schema.path)},
            "conclusions": make_conclusions(_conclusions(goals), [goal.slot for goal in goals if goal.slot]),
        },
    )


def gold_query(sql: str, schema: Schema) -> tuple[exp.Select, list[Any]]:
    """The parsed query and its rows; raises `Skip` where it cannot serve."""
    try:
        query = schema.with_string_literals(sqlglot.parse_one(sql, dialect="sqlite"))
        rows = schema.run(sql)
    except sqlglot.errors.ParseError:
        raise Skip("query not parsed") from None
    except sqlite3.Error:
        raise Skip("query fails on the database") from None
    if not rows or all(cell is None for row in rows for cell in row):
        raise Skip("query returns nothing")
    if not isinstance(query, exp.Select):
        raise Skip("set operation")
    return query, rows


def _parts_as_goals(parts: Parts, scope: Scope) -> tuple[tuple[Goal, ...], dict[str, Any], dict[str, Any]]:
    stated: list[tuple[str, str]] = []
    parameters: dict[str, Any] = {}
    program: dict[str, Any] = {"query": parts.base, "conditions": {}, "having": {}, "choices": {}}
    for slot, kind, choices in (("what to list", "select", parts.selects), ("sort by", "order", parts.orders)):
        if choices:
            first, *others = list(choices)[: 1 + MOST_VALUES]
            stated.append((slot, first))
            parameters[slot] = _parameter("string", others)
            program["choices"][slot] = {value: {kind: choices[value]} for value in (first, *others)}
    for place, conditions in (("conditions", parts.conditions), ("having", parts.having)):
        for condition in conditions:
            if condition.slot in parameters:
                raise Skip("two conditions that read alike")
            stated.append((condition.slot, said(condition.value)))
            column, value = condition.column, condition.value
            values = _small_numbers(value) if column is None else scope.schema.values_like(column, value)
            parameters[condition.slot] = _parameter(condition.type, values, spoken=condition.spoken)
            program[place][condition.slot] = condition.sql
    if parts.limit is not None:
        stated.append(("number of results", str(parts.limit)))
        parameters["number of results"] = _parameter("integer", _small_numbers(parts.limit), spoken=["how many to show"])
        program["limit"] = "number of results"
    if not any(parameter["values"] for parameter in parameters.values()):
        raise Skip("nothing that could be said otherwise")
    goals = tuple(Goal(f"g{n}", slot_text(slot, value), slot, value) for n, (slot, value) in enumerate(stated, start=1))
    return goals, parameters, program


def _conclusions(goals: tuple[Goal, ...]) -> list[tuple[str, str]]:
    """What an agent might say on the way about the conditions that it knows of, two at a time."""
    slots = [goal.slot for goal in goals if goal.slot]
    return [(f"{one} with {two}", f"{{{one}}} with {{{two}}}") for one, two in itertools.pairwise(slots)]


def _question_as_goal(question: str, query: exp.Select, scope: Scope) -> tuple[tuple[Goal, ...], dict[str, Any], dict[str, Any]]:
    """The question as the one goal."""
    parameters, program = stated_literal({"question": question}, query, scope)
    if not parameters:
        raise Skip("neither taken apart nor a literal that the question states")
    return (Goal("g1", question),), parameters, program


def stated_literal(sentences: Mapping[str, str], query: exp.Select, scope: Scope) -> tuple[dict[str, Any], dict[str, Any]]:
    """The first literal of the query that the sentences (by slot) state exactly once: its sentence's parameter, and the program.

    No parameter where there is none; the program then is the query as it is.
    """
    base = query.copy()
    for clause in filter(None, (base.args.get("where"), base.args.get("having"))):
        for literal in clause.find_all(exp.Literal):
            values = _other_values(literal, scope)
            stated = said(literal_value(literal))
            if not values or sum(sentence.count(stated) for sentence in sentences.values()) != 1:
                continue
            slot, sentence = next((slot, sentence) for slot, sentence in sentences.items() if stated in sentence)
            literal.replace(exp.to_identifier("{value}", quoted=False))
            program: dict[str, Any] = {"conditions": {}, "having": {}}
            program["conditions" if isinstance(clause, exp.Where) else "having"][slot] = clause.this.sql("sqlite")
            base.set(clause.key, None)
            parameter = _parameter("string" if literal.is_string else "number", values)
            parameter["text"] = sentence.replace(stated, "{value}")
            return {slot: parameter}, {"query": base.sql("sqlite"), **program}
    return {}, {"query": query.sql("sqlite"), "conditions": {}, "having": {}}


def _other_values(literal: exp.Literal, scope: Scope) -> list[str]:
    """Other values of the column that the literal is compared with; none where it is compared with anything else."""
    compared = literal.parent
    if not isinstance(compared, exp.EQ | exp.GT | exp.LT | exp.GTE | exp.LTE) or not isinstance(compared.this, exp.Column):
        return []
    column = scope.find(compared.this) or scope.schema.anywhere(compared.this)
    return [] if column is None else scope.schema.values_like(column, literal_value(literal))


def add_decoys(query: exp.Select, scope: Scope, parameters: dict[str, Any], program: dict[str, Any], many_rows: bool) -> None:
    """Conditions on other columns with their real values, and bounds on rows: what a user might ask for and take back."""
    compared = {column for node in query.find_all(exp.Column) if node.find_ancestor(exp.Where) and (column := scope.find(node))}
    others = [column for _, table in scope.tables for column in table if column not in compared]
    decoys = [_decoy(column, scope, round_) for round_ in range(2) for column in others if not column.is_key]
    decoys += [_decoy(column, scope, 0) for column in others if column.is_key]
    for slot, type, sql, values in [decoy for decoy in decoys if decoy[3]][:ENOUGH_DECOYS]:
        if slot not in parameters:
            parameters[slot] = _parameter(type, values, optional=True)
            program["conditions"][slot] = sql
    if many_rows and not query.args.get("limit"):
        parameters["number of results"] = _parameter("integer", ["1", "2", "3"], optional=True, spoken=["how many to show"])
        program["limit"] = "number of results"
    if query.args.get("group") and not query.args.get("having"):
        parameters["minimum number of rows"] = _parameter("integer", ["2", "3", "4"], optional=True)
        program["having"]["minimum number of rows"] = "COUNT(*) >= {value}"


def _decoy(column: Column, scope: Scope, round_: int) -> tuple[str, str, str, list[str]]:
    """(slot, type, condition, values) of one more condition on the column; no values where it would hold for every row."""
    values = scope.schema.distinct(column)
    values = values if len(values) > 1 else []
    if column.is_key or any(isinstance(value, str) for value in values):
        slot, operator = (("{}", "="), ("{} other than", "<>"))[round_]
        type = "string" if any(isinstance(value, str) for value in values) else "number"
    else:
        slot, operator = (("minimum {}", ">="), ("maximum {}", "<="))[round_]
        type, values = "number", values[1:] if round_ == 0 else values[:-1]
    step = max(1, len(values) // MOST_VALUES)
    spread = [said(value) for value in values[step // 2 :: step]][:MOST_VALUES]
    return slot.format(scope.phrase(column)), type, f"{scope.sql(column)} {operator} {{value}}", spread


def _parameter(type: str, values: list[str], *, optional: bool = False, spoken: list[str] | None = None) -> dict[str, Any]:
    return {"type": type, "values": values, "optional": optional, "spoken": spoken or []}


def _small_numbers(value: str | int | float) -> list[str]:
    return [said(number) for number in (1, 2, 3, 4, 5, 10) if number != value]


def without_literals(query: exp.Select) -> str:
    """The query's form: what its origin is, whatever values it compares with."""
    stripped = query.transform(lambda node: exp.Placeholder() if isinstance(node, exp.Literal) else node)
    return stripped.sql("sqlite").lower()
