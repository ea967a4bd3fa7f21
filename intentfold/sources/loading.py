"""What every loader of a benchmark shares: its report, its errors, and reading its files."""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from intentfold.records import canonical_json
from intentfold.task import AnswerForm, SourceTask

T = TypeVar("T")


class SourceError(ValueError):
    """A benchmark's file that is missing or malformed; the message names file, line and field."""


class Skip(Exception):
    """A record that is well-formed but makes no task, with the reason (counted by the loader)."""


@dataclass(frozen=True, slots=True)
class LoadReport:
    """The tasks of a benchmark, and the records that made none: `left` says of each, by its id, why.

    `unverified` are tasks whose consequences nothing can execute: those that only a judge can grade, and those that come
    with tests but without a solution. `answers` are records of which no dialogue can be made, with nothing but their
    reference, which their grader can check all the same (`sources/gold.py`). No episode is made of either.
    """

    tasks: tuple[SourceTask, ...]
    left: Mapping[str, str]
    unverified: tuple[SourceTask, ...] = ()
    answers: tuple[SourceTask, ...] = ()

    @property
    def skipped(self) -> Counter[str]:
        """How many records made no task, by reason."""
        return Counter(self.left.values())


def answer_alone(id: str, form: AnswerForm, payload: Mapping[str, Any]) -> SourceTask:
    """A record of which no dialogue can be made, for its grader alone."""
    family = id.partition("/")[0]
    return SourceTask(id, family, id, "", "", (), form, payload)


def expect_file(path: Path, what: str) -> Path:
    """The path itself; raises `SourceError` saying what should have been there."""
    if not path.is_file():
        raise SourceError(f"{path}: no such file; expected {what}")
    return path


def read_lines(path: Path, what: str, fields: Mapping[str, type]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(`file:line`, record) for every JSON line, each with `fields` of the given types; a name that ends in `.gz` is gzipped."""
    read = gzip.open if path.suffix == ".gz" else open
    number = 0
    try:
        with read(expect_file(path, what), "rt", encoding="utf-8-sig") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    where = f"{path}:{number}"
                    yield where, checked(where, parsed(where, line), fields)
    except (UnicodeDecodeError, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise SourceError(f"{path}: not readable after line {number}: {error}") from None


def read_list(path: Path, what: str) -> list[Any]:
    """The JSON list that a file holds."""
    data = parsed(str(path), expect_file(path, what).read_bytes())
    if not isinstance(data, list):
        raise SourceError(f"{path}: expected {what}, got {type(data).__name__}")
    return data


def parsed(where: str, text: str | bytes) -> Any:
    """JSON data whose texts can be written again, a byte order mark before it or not; raises `SourceError` with the place."""
    try:
        data = json.loads(text if isinstance(text, str) else text.decode("utf-8-sig"))
        canonical_json(data).encode("utf-8")  # an escaped lone surrogate is no text
        return data
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{where}: not JSON: {error}") from None


def checked(where: str, record: Any, fields: Mapping[str, type]) -> dict[str, Any]:
    """The record, once it is known to be an object that holds `fields` of the given types."""
    if not isinstance(record, dict):
        raise SourceError(f"{where}: expected an object, got {str(record)[:80]!r}")
    for name, kind in fields.items():
        if name not in record:
            raise SourceError(f"{where}: field {name} is missing")
        if not isinstance(record[name], kind):
            raise SourceError(f"{where}: field {name} must be {kind.__name__}, got {str(record[name])[:80]!r}")
    return record


def listed(where: str, name: str, values: Any, kind: type[T]) -> list[T]:
    """The field's list, once every member is known to be of that type; a truth value is no number."""
    good = isinstance(values, list) and all(isinstance(one, kind) and (kind is bool) == isinstance(one, bool) for one in values)
    if not good:
        raise SourceError(f"{where}: field {name} must list {kind.__name__}s, got {str(values)[:80]!r}")
    return values
