"""Sharded Spider: the shards are the goals; the one that states a literal of the gold query can say another."""

from __future__ import annotations

import random
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

from intentfold.sources.builtin.common import opening
from intentfold.sources.loading import Skip
from intentfold.sources.shards import SPLIT, Shards, as_goals
from intentfold.sources.spider import add_decoys, gold_query, read_tables, stated_literal, without_literals
from intentfold.sources.spider_schema import Schema
from intentfold.task import SourceTask


def task(shards: Shards) -> SourceTask:
    """The task on the Spider database of that name; raises `Skip` where that is not at hand."""
    name, sql = shards.field("db_id", str), shards.field("reference_sql", str)
    folder = shards.beside("spider")
    path = None if folder is None else folder / "database" / name / f"{name}.sqlite"
    if folder is None or path is None or not path.is_file():
        raise Skip("no database file")
    with closing(Schema(path, _tables(folder)[name])) as schema:
        query, rows = gold_query(sql, schema)
        scope = schema.scope(query)
        sentences = {f"sentence {n}": text for n, text in enumerate(shards.texts, start=1)}
        varied, program = stated_literal(sentences, query, scope)
        plain = {
            slot: {"type": "string", "values": [], "optional": False, "spoken": [], "text": t} for slot, t in sentences.items()
        }
        parameters: dict[str, Any] = {**plain, **varied}
        add_decoys(query, scope, parameters, program, many_rows=len(rows) > 1)
        words, about = schema.words, scope.words
        origin = f"spider/{name}/{without_literals(query)}"
    return SourceTask(
        id=shards.id,
        family="spider",
        origin=origin,
        license="Apache-2.0",
        request=opening([f"write a query on the {words} database, about {about}"], random.Random(shards.id)),
        goals=as_goals(shards.texts),
        answer_form="sql",
        payload={
            "benchmark_split": SPLIT,
            "parameters": parameters,
            "program": program,
            "reference": {"sql": sql},
            "database": {"path": str(path)},
        },
    )


@cache
def _tables(folder: Path) -> dict[str, Any]:
    return read_tables(folder)
