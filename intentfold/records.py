"""Reading and writing records: strict JSON, content hashes, JSON lines with quarantine, atomic files.

Dataclasses are the schema; pydantic checks types and names the field that does not fit. A record class sets
`__pydantic_config__ = RECORD` so that unknown fields are errors.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

from pydantic import TypeAdapter, ValidationError

RECORD: dict[str, Any] = {"extra": "forbid", "strict": True}
T = TypeVar("T")


class RecordError(ValueError):
    """A record that does not fit its schema; the message names file, line and field where known."""


_adapters: dict[type, TypeAdapter[Any]] = {}


def _adapter(cls: type) -> TypeAdapter[Any]:
    if cls not in _adapters:
        _adapters[cls] = TypeAdapter(cls)
    return _adapters[cls]


def to_json(record: Any) -> dict[str, Any]:
    """The record as plain JSON data."""
    return _adapter(type(record)).dump_python(record, mode="json")


def from_json(cls: type[T], data: str | bytes | dict[str, Any]) -> T:
    """Build a record from JSON text or plain JSON data; raises `RecordError` naming every field at fault."""
    text = data if isinstance(data, str | bytes) else json.dumps(data, ensure_ascii=False)
    try:
        return _adapter(cls).validate_json(text)
    except ValidationError as error:
        faults = "; ".join(
            f"field {'.'.join(map(str, e['loc'])) or '(whole record)'}: {e['msg']}, got {str(e['input'])[:80]!r}"
            for e in error.errors()[:5]
        )
        raise RecordError(f"{cls.__name__}: {faults}") from None


def canonical_json(data: Any) -> str:
    """JSON with sorted keys and no spare spaces: equal data give equal text."""
    return json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def content_hash(text: str) -> str:
    """First 16 hex digits of SHA-256: an identity for content, not a defence against forgery."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@contextmanager
def atomic_writer(path: Path) -> Iterator[IO[str]]:
    """A text file that appears whole under its name, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("w", encoding="utf-8") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a whole text file atomically."""
    with atomic_writer(path) as file:
        file.write(text)


def write_jsonl(path: Path, records: Iterable[Any]) -> int:
    """Write records (or plain JSON data) as canonical JSON lines, atomically; returns how many."""
    count = 0
    with atomic_writer(path) as file:
        for record in records:
            file.write(_line(record))
            count += 1
    return count


def as_jsonl(records: Iterable[Any]) -> str:
    """The text that `write_jsonl` would write."""
    return "".join(map(_line, records))


def _line(record: Any) -> str:
    return canonical_json(record if isinstance(record, dict) else to_json(record)) + "\n"


def read_jsonl(path: Path, cls: type[T]) -> list[T]:
    """Read every record; the first bad line, or the second of an `id`, raises `RecordError` with file and line."""
    records = []
    seen: dict[str, int] = {}
    for number, line in _lines(path):
        try:
            records.append(_first(from_json(cls, line), number, seen))
        except ValueError as error:
            raise RecordError(f"{path}:{number}: {error}") from None
    return records


def read_jsonl_quarantining(path: Path, cls: type[T], quarantine: Path) -> tuple[list[T], int]:
    """Read the good records; write each bad line with its reason to `quarantine`; returns (records, bad lines).

    A record whose `id` stood on an earlier line is a bad line too.
    """
    return parse_quarantining(path, lambda line: from_json(cls, line), quarantine)


def parse_quarantining(path: Path, parse: Callable[[str], T], quarantine: Path, *, withheld: bool = False) -> tuple[list[T], int]:
    """`read_jsonl_quarantining` for lines that are no records yet: a `ValueError` of `parse` is the reason against a line.

    `withheld` lines are set aside without their text, and without what the reason quotes of it.
    """
    records, bad = [], []
    seen: dict[str, int] = {}
    for number, line in _lines(path):
        try:
            records.append(_first(parse(line), number, seen))
        except ValueError as error:
            raw = line.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
            reason = str(error).encode("utf-8", "backslashreplace").decode("utf-8")
            if withheld:
                raw, reason = "", re.split(r", got |'", reason, maxsplit=1)[0]
            bad.append({"file": path.name, "line": number, "reason": reason, "text": raw})
    if bad:
        write_jsonl(quarantine, bad)
    else:
        quarantine.unlink(missing_ok=True)
    return records, len(bad)


def _first(record: T, number: int, seen: dict[str, int]) -> T:
    """The record of line `number`, which must be the first of its id; `seen` holds the line of every id so far."""
    id = getattr(record, "id", None)
    if isinstance(id, str):
        if id in seen:
            raise RecordError(f"the id {id!r} stands on line {seen[id]} already")
        seen[id] = number
    return record


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="\n") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield number, line.rstrip("\n")
