"""The texts of training data and evaluation sets, from traces, examples, conversations, benchmarks and any records at all."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from intentfold.mining.contamination import Text
from intentfold.sources.hub import PREFIX
from intentfold.sources.loading import SourceError, expect_file, read_lines, read_list
from intentfold.sources.real import LOADERS, load
from intentfold.task import SourceTask

_SPEAKER = re.compile(r"^(User|Agent): ")


def read_texts(name: str, path: Path) -> Iterator[Text]:
    """Every text of a file of records (.jsonl, .jsonl.gz, .json, .csv), or of a benchmark under its loader's name.

    A benchmark is a folder or `hub:ORG/DATASET`. A record is a trace, an example, a list of messages, or an object whose texts
    are those of all its fields. Its id is its `id`, else file and line. Raises `SourceError` (naming file and line)
    where it cannot be read.
    """
    if path.is_dir() or str(path).startswith(PREFIX):
        if name not in LOADERS:
            raise SourceError(f"{path}: a folder is read as the benchmark of its name, one of {sorted(LOADERS)}, got {name!r}")
        report = load(name, path)
        for task in (*report.tasks, *report.unverified):
            yield from _of_task(name, task)
        return
    for where, record in _records(path):
        yield from _of_record(name, where, record)


def _records(path: Path) -> Iterator[tuple[str, Any]]:
    expect_file(path, "records, or a benchmark's folder")
    if path.suffix == ".csv":
        csv.field_size_limit(sys.maxsize)  # a text may be longer than the 131,072 characters that are the default
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            try:
                for row in reader:
                    yield f"{path}:{reader.line_num}", row
            except (UnicodeDecodeError, csv.Error) as error:
                raise SourceError(f"{path}: not readable after line {reader.line_num}: {error}") from None
    elif path.suffix == ".json":
        yield from ((f"{path}: record {n}", record) for n, record in enumerate(read_list(path, "records, a JSON list")))
    elif path.name.endswith((".jsonl", ".jsonl.gz")):
        yield from read_lines(path, "records, one JSON object a line", {})
    else:
        raise SourceError(f"{path}: expected a name ending in .jsonl, .jsonl.gz, .json or .csv")


def _of_task(name: str, task: SourceTask) -> Iterator[Text]:
    goals = [goal.text for goal in task.goals]
    yield Text(name, task.id, " ".join(goals), True)
    answer = task.payload.get("reference", {})
    yield from (Text(name, task.id, text, False) for text in (*goals, *_leaves(answer)))


def _of_record(name: str, where: str, record: Any) -> Iterator[Text]:
    known = isinstance(record, Mapping)
    id = record["id"] if known and isinstance(record.get("id"), str) else where
    parts = list(_parts(record))
    # One text that is the whole record counts however short it is.
    yield Text(name, id, " ".join(parts), True)
    if len(parts) > 1:
        yield from (Text(name, id, part, False) for part in parts)


def _parts(record: Any) -> Iterator[str]:
    match record:
        case {"turns": list(turns), "task": dict()} if all(map(_is_turn, turns)):
            # A trace: what its user says, on the branches too. Its states and the task's own fields follow from those.
            for turn in turns:
                yield turn["user"]
                yield from (branch["user"] for branch in turn.get("branches", ()))
        case {"messages": list(messages), "completion": str(completion), "provenance": dict()} if all(map(_is_message, messages)):
            # An example: the lines of its prompt without the names before them, and what should be written.
            for message in messages:
                if message["role"] == "user":
                    yield from (_SPEAKER.sub("", line) for line in message["content"].split("\n"))
            yield completion
        case {"messages": list(messages)} | {"dialogue": list(messages)}:
            yield from (text for message in messages for text in _leaves(_content(message)))
        case _:
            yield from _leaves(record)


def _is_turn(turn: Any) -> bool:
    match turn:
        case {"user": str(), **rest}:
            branches = rest.get("branches", [])
            return isinstance(branches, list) and all(_is_turn(branch) for branch in branches)
    return False


def _is_message(message: Any) -> bool:
    match message:
        case {"role": str(), "content": str()}:
            return True
    return False


def _content(message: Any) -> Any:
    """What a message says; all of it where it is of another shape."""
    return message["content"] if isinstance(message, Mapping) and "content" in message else message


def _leaves(data: Any) -> Iterator[str]:
    """Every text in plain JSON data."""
    match data:
        case str():
            yield data
        case dict():
            for value in data.values():
                yield from _leaves(value)
        case list() | tuple():
            for value in data:
                yield from _leaves(value)
