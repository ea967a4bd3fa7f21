"""The built-in families by name, and tasks from several of them in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from intentfold.sources.builtin import arithmetic, code, sql, text, tools
from intentfold.task import SourceTask

FAMILIES: dict[str, Callable[[int, int], SourceTask]] = {
    "tools": tools.task,
    "sql": sql.task,
    "arithmetic": arithmetic.task,
    "text": text.task,
    "code": code.task,
}


def builtin_task(family: str, seed: int, index: int) -> SourceTask:
    """A family's task: it depends on seed and index alone. Raises `ValueError` naming an unknown family."""
    if family not in FAMILIES:
        raise ValueError(f"family must be one of {sorted(FAMILIES)}, got {family!r}")
    return FAMILIES[family](index, seed)


def builtin_tasks(families: Sequence[str], count: int, seed: int) -> Iterator[SourceTask]:
    """`count` tasks, the families in turn."""
    for place in range(count):
        yield builtin_task(families[place % len(families)], seed, place // len(families))
