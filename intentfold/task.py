"""Source tasks: executable tasks with a grader, before any dialogue is made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from intentfold.records import RECORD, canonical_json, content_hash, to_json

# A summary and what an interactive agent does are judged, never executed; with state alone there is nothing to answer: only
# trackers are scored.
AnswerForm = Literal["calls", "sql", "number", "code", "text", "summary", "interactive", "state"]
GoalKind = Literal["goal", "format"]
Priority = Literal["must", "preferred", "optional"]


@dataclass(frozen=True, slots=True)
class Goal:
    """One atomic natural-language requirement of a source task (IntentFlux, section 3.1).

    `slot` and `value` name the task parameter that the goal sets, where there is one; `depends_on` holds
    ids of goals of the same task that must be stated before this one makes sense.
    """

    __pydantic_config__ = RECORD

    id: str
    text: str
    slot: str | None = None
    value: str | None = None
    kind: GoalKind = "goal"
    scope: str | None = None
    priority: Priority | None = None
    depends_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceTask:
    """An executable task.

    `origin` is the benchmark's own identity of the underlying problem: splits never part one origin.
    `request` opens the dialogue and states no goal. `payload` holds, as plain JSON data,
    `parameters` (slot -> type, other values, how it is spoken of), `program` (how an answer is made from
    slot values; read by `intentfold.runtime.executor`) and `reference` (what the grader compares with).
    """

    __pydantic_config__ = RECORD

    id: str
    family: str
    origin: str
    license: str
    request: str
    goals: tuple[Goal, ...]
    answer_form: AnswerForm
    payload: Mapping[str, Any] = field(hash=False)

    def __post_init__(self) -> None:
        if self.answer_form not in get_args(AnswerForm):
            raise ValueError(f"task {self.id}: answer_form must be one of {get_args(AnswerForm)}, got {self.answer_form!r}")
        ids = [goal.id for goal in self.goals]
        if len(set(ids)) != len(ids):
            raise ValueError(f"task {self.id}: goal ids must be unique, got {ids}")
        for position, goal in enumerate(self.goals):
            for needed in goal.depends_on:
                if needed not in ids[:position]:
                    raise ValueError(f"task {self.id}: goal {goal.id} depends on {needed!r}, which is not an earlier goal")

    def hash(self) -> str:
        """Identity of the canonical content."""
        return content_hash(canonical_json(to_json(self)))
