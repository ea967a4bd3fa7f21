"""What a task gives its solver to work with: functions, tables, a signature. Benchmarks show it; no dialogue says it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from functools import lru_cache
from typing import Any

from intentfold.prompts.agent import BRIEFS, FUNCTION, PARAMETER, REQUIRED
from intentfold.task import SourceTask


def task_brief(task: SourceTask) -> str:
    """The brief of a task, from its payload and without anything of its goals; empty where the dialogue is all there is.

    Raises `sqlite3.Error` where a task's database cannot be read.
    """
    words = BRIEFS.get(task.answer_form, "")
    match task.answer_form:
        case "calls":
            return words.format(functions="\n".join(map(_function, task.payload["reference"]["functions"])))
        case "sql":
            return words.format(tables=_tables(task.payload["database"]))
        case "code":
            first = task.payload["program"]["template"].partition("\n")[0]
            # Where the name itself is a goal, the template leaves it open.
            return words.format(signature=f" {first}" if first.startswith("def ") and "$" not in first else "")
    return words


def _function(function: Mapping[str, Any]) -> str:
    """A function's name, what it does, and a line a parameter."""
    schema = function.get("parameters", {})
    needed = schema.get("required", ())
    lines = [FUNCTION.format(name=function["name"], description=function.get("description", ""))]
    for name, parameter in schema.get("properties", {}).items():
        more = {key: value for key, value in parameter.items() if key not in ("type", "description")}
        lines.append(
            PARAMETER.format(
                name=name,
                type=parameter.get("type", "any"),
                required=REQUIRED if name in needed else "",
                description=parameter.get("description", ""),
                more=f" {json.dumps(more)}" if more else "",
            )
        )
    return "\n".join(lines)


def _tables(database: Mapping[str, Any]) -> str:
    if "script" in database:
        return "\n".join(line for line in database["script"] if line.startswith("CREATE TABLE"))
    return _tables_of(database["path"])


@lru_cache(maxsize=256)
def _tables_of(path: str) -> str:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        found = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'table' AND sql IS NOT NULL ORDER BY name")
        return "\n".join(" ".join(sql.split()) for (sql,) in found)
