"""What a grader returns, and how it reads its task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from intentfold.task import SourceTask

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Grade:
    """`value` in [0, 1], or None where nothing can be said (no failure of the model); `full`: full credit."""

    value: float | None
    full: bool
    reason: str

    def __post_init__(self) -> None:
        if self.value is not None and not 0.0 <= self.value <= 1.0:
            raise ValueError(f"grade: value must be in [0, 1] or None, got {self.value!r}")
        if self.full and self.value != 1.0:
            raise ValueError(f"grade: full credit needs value 1.0, got {self.value!r}")


class GoldError(ValueError):
    """A task's own reference cannot be used; the text names the task and the field."""

    def __init__(self, task: SourceTask, field: str, problem: str) -> None:
        super().__init__(f"task {task.id}: payload.{field}: {problem}")


def passed(reason: str = "matches the reference") -> Grade:
    """Full credit."""
    return Grade(1.0, True, reason)


def failed(reason: str) -> Grade:
    """No credit."""
    return Grade(0.0, False, reason)


def gold(task: SourceTask, field: str, kind: type[T]) -> T:
    """The value at a dotted path below the payload; `GoldError` when it is missing, empty or not a `kind`."""
    value: Any = task.payload
    for name in field.split("."):
        if not hasattr(value, "get"):
            raise GoldError(task, field, "is missing")
        value = value.get(name)
    if value is None:
        raise GoldError(task, field, "is missing")
    if not isinstance(value, kind):
        raise GoldError(task, field, f"must be {kind.__name__}, got {type(value).__name__}")
    if not value:
        raise GoldError(task, field, "is empty")
    return value


def unfence(answer: str) -> str:
    """The content of the last ``` block of an answer, or the answer itself; stripped."""
    parts = answer.split("```")
    if len(parts) < 3:
        return answer.strip()
    block = parts[-2] if len(parts) % 2 else parts[-3]
    first, newline, rest = block.partition("\n")
    # The word behind the opening fence names a language.
    return (rest if newline and " " not in first.strip() else block).strip()
