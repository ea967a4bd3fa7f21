"""One sharded record: its shards in order, and the folders around its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from intentfold.sources.loading import Skip, SourceError, checked
from intentfold.task import Goal

SPLIT = "test"  # a benchmark to evaluate on: `construct.build` trains on none of its records


@dataclass(frozen=True, slots=True)
class Shards:
    """A record, `where` it stands, and the texts of its shards in the order of their ids."""

    where: str
    record: Mapping[str, Any]
    texts: tuple[str, ...]
    folder: Path

    @property
    def id(self) -> str:
        """The task's id."""
        return task_id(self.record)

    def field(self, name: str, kind: type) -> Any:
        """A field of the record; raises `SourceError` where it is missing or of another type."""
        return checked(self.where, self.record, {name: kind})[name]

    def beside(self, name: str) -> Path | None:
        """The folder `name` in the record's folder or beside it, if there is one."""
        return next((path for path in (self.folder / name, self.folder.parent / name) if path.is_dir()), None)


def task_id(record: Mapping[str, Any]) -> str:
    """The id of a record's task."""
    return f"lost_in_conversation/{record['task_id'].removeprefix('sharded-')}"


def shards_of(where: str, record: Mapping[str, Any], folder: Path) -> Shards:
    """The record once its shards are known to be numbered from 1 (a summary's from 0).

    Raises `Skip` where a shard has no text.
    """
    first = 0 if record["task"] == "summary" else 1  # the texts of a summary's shards are its documents
    texts = []
    for position, shard in enumerate(checked(where, record, {"shards": list})["shards"]):
        one = checked(f"{where}: shard {position}", shard, {"shard_id": int, "shard": str})
        if one["shard_id"] != first + position:
            raise SourceError(f"{where}: shard {position}: field shard_id must be {first + position}, got {one['shard_id']}")
        if first and not one["shard"].strip():
            raise Skip("a blank shard")
        texts.append(" ".join(one["shard"].split()))
    if not texts:
        raise SourceError(f"{where}: field shards is empty")
    return Shards(where, record, tuple(texts), folder)


def as_goals(texts: Sequence[str]) -> tuple[Goal, ...]:
    """A goal for every text."""
    return tuple(Goal(f"g{n}", text) for n, text in enumerate(texts, start=1))
