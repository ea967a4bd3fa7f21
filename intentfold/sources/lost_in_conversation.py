"""The sharded format of Lost in Conversation (Laban et al. 2025) as source tasks, all six families.

A file is a JSON list of records; `task` names the family, `shards` are objects of `shard_id` (from 1) and `shard`, the first of
them the intent. Every record keeps the identity of the benchmark that it was sharded from, so that splits agree whoever
sharded a problem. It is an evaluation benchmark: nothing of it is ever trained on.

Databases of the family database are those of a Spider folder, in `folder` or beside it, and HumanEval's solutions those of a
HumanEval folder beside it. A code record without a solution is gradable but unverified, and so is every summary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from intentfold.sources import shards_actions, shards_code, shards_database, shards_math, shards_summary, shards_table
from intentfold.sources.loading import LoadReport, Skip, SourceError, answer_alone, checked, read_list
from intentfold.sources.shards import Shards, shards_of, task_id
from intentfold.task import SourceTask

READERS: Mapping[str, Callable[[Shards], SourceTask]] = {
    "code": shards_code.task,
    "database": shards_database.task,
    "actions": shards_actions.task,
    "math": shards_math.task,
    "data2text": shards_table.task,
    "summary": shards_summary.task,
}


def load_lost_in_conversation(folder: Path) -> LoadReport:
    """The tasks of every JSON file in `folder`, file by file; a record that stood before under its id is left out."""
    files = sorted(folder.glob("*.json"))
    if not files:
        raise SourceError(f"{folder}: no JSON file; expected lists of sharded records")
    tasks: list[SourceTask] = []
    unverified: list[SourceTask] = []
    left: dict[str, str] = {}
    answers: list[SourceTask] = []
    seen: set[str] = set()
    for path in files:
        for number, record in enumerate(read_list(path, "sharded records, a JSON list")):
            where = f"{path}: record {number}"
            checked(where, record, {"task": str, "task_id": str})
            if record["task"] not in READERS:
                raise SourceError(f"{where}: field task must be one of {sorted(READERS)}, got {record['task']!r}")
            if (identity := f"{record['task']} {record['task_id']}") in seen:
                left[f"{identity} at {where}"] = "the same record again"
                continue
            seen.add(identity)
            try:
                task = READERS[record["task"]](shards_of(where, record, folder))
            except Skip as reason:
                left[(id := task_id(record))] = f"{record['task']}: {reason}"
                if record["task"] == "math":
                    answers.append(answer_alone(id, "number", {"reference": {"answer": shards_math.answer_of(where, record)}}))
                continue
            (tasks if "program" in task.payload else unverified).append(task)
    return LoadReport(tuple(tasks), left, tuple(unverified), tuple(answers))
