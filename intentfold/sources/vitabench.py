"""VitaBench's tasks with their rubrics: a request, a user, an environment, and what a finished trajectory must show.

He et al. 2025, "VitaBench". The format is that of its first release (a file of tasks a domain), known from the delivery
tasks; what LiveAsset evaluates on is VitaBench 2.0, whose format is not at hand. The environment is kept as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from intentfold.asset import ContextualIntent, Requirement
from intentfold.sources.loading import SourceError, checked, expect_file, parsed

LICENSE = "MIT"
_FIELDS = {
    "id": str,
    "domain": str,
    "environment": dict,
    "user_scenario": dict,
    "instructions": str,
    "evaluation_criteria": dict,
}


@dataclass(frozen=True, slots=True)
class RubricTask:
    """One task. `rubrics` are all that is judged, each once, of weight 1; `profile` is what the user is like."""

    id: str
    domain: str
    license: str
    request: str
    rubrics: tuple[str, ...]
    profile: Mapping[str, str] = field(hash=False)
    environment: Mapping[str, Any] = field(hash=False)

    def intents(self) -> tuple[ContextualIntent, ...]:
        """The rubrics as requirements of one intent, for a checker in the judge's place."""
        parts = tuple(Requirement(number, text) for number, text in enumerate(self.rubrics, start=2))
        return (ContextualIntent(1, "", parts),)


def load_tasks(path: Path) -> tuple[RubricTask, ...]:
    """The tasks of one file, in its order. Raises `SourceError` naming the task and the field that does not fit."""
    records = parsed(str(path), expect_file(path, "VitaBench's tasks of a domain").read_text(encoding="utf-8"))
    if not isinstance(records, list):
        raise SourceError(f"{path}: expected a list of tasks, got {str(records)[:80]!r}")
    tasks: dict[str, RubricTask] = {}
    for number, record in enumerate(records):
        task = _task(f"{path}: task {number}", record)
        if task.id in tasks:
            raise SourceError(f"{path}: task {number}: the id {task.id} stands there already")
        tasks[task.id] = task
    return tuple(tasks.values())


def _task(where: str, record: Any) -> RubricTask:
    found = checked(where, record, _FIELDS)
    scenario = checked(f"{where}: user_scenario", found["user_scenario"], {"user_profile": dict})
    return RubricTask(
        id=found["id"],
        domain=found["domain"],
        license=LICENSE,
        request=found["instructions"],
        rubrics=_rubrics(f"{where}: evaluation_criteria", found["evaluation_criteria"]),
        profile={name: str(value) for name, value in scenario["user_profile"].items()},
        environment=found["environment"],
    )


def _rubrics(where: str, criteria: Mapping[str, Any]) -> tuple[str, ...]:
    """Those of every expected state, then the overall ones; the same words count once, as in the benchmark's evaluator."""
    known = checked(where, criteria, {"expected_states": list, "overall_rubrics": list})
    lists = [
        checked(f"{where}: expected_states", state, {"state_rubrics": list})["state_rubrics"]
        for state in known["expected_states"]
    ]
    rubrics = [rubric for some in (*lists, known["overall_rubrics"]) for rubric in some]
    if bad := [rubric for rubric in rubrics if not isinstance(rubric, str)]:
        raise SourceError(f"{where}: a rubric must be a text, got {str(bad[0])[:80]!r}")
    if not rubrics:
        raise SourceError(f"{where}: no rubrics: nothing could be judged")
    return tuple(dict.fromkeys(rubrics))
