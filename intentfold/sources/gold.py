"""Whether every reference answer of a benchmark gets full credit from its own grader, and which exceptions are known.

A loader's tasks are checked, and so are the records of which it can make no dialogue (`LoadReport.answers`). What only a judge
can grade, and what has no reference, is counted and not checked.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml

from intentfold.graders import GoldError, grade, reference_answer
from intentfold.records import RECORD, from_json
from intentfold.sources.loading import LoadReport
from intentfold.task import SourceTask

LIMIT = 0.01  # the share of a source that exceptions may be which are not its own fault
JUDGED = ("summary", "interactive", "state")
TWICE = "the same record again"


@dataclass(frozen=True, slots=True)
class Listed:
    """Known exceptions of one source and their reason; `fault` says whether it lies in the data itself or with the loader."""

    __pydantic_config__ = RECORD

    reason: str
    fault: Literal["data", "loader"]
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Count:
    """One source: its records are the sum of `full`, `exceptions`, `judged`, `without_reference` and `twice`."""

    __pydantic_config__ = RECORD

    source: str
    records: int
    full: int
    judged: int
    without_reference: int
    twice: int
    exceptions: Mapping[str, str]  # id -> what was found


def fault_of(task: SourceTask) -> str | None:
    """Why a reference answer of the task does not get full credit; None where each of them does."""
    try:
        answers = task.payload["reference"]["references"] if task.answer_form == "text" else [reference_answer(task)]
        grades = [grade(task, answer) for answer in answers]
    except GoldError as error:
        return str(error)
    return next((one.reason for one in grades if not one.full), None)


def faults_of(tasks: Sequence[SourceTask]) -> dict[str, str]:
    """Faults by id. For a worker process: it stands back behind others from then on, and keeps its graders."""
    os.nice(max(0, 10 - os.nice(0)))
    return {task.id: fault for task in tasks if (fault := fault_of(task)) is not None}


def checkable(report: LoadReport) -> list[SourceTask]:
    """Everything of a benchmark that code can grade and that holds a reference answer."""
    return [*report.tasks, *report.answers]


def count(source: str, report: LoadReport, faults: Mapping[str, str]) -> Count:
    """The source's line, from the `faults` found among `checkable` (by id); records that were left out are exceptions too."""
    graded = {task.id for task in report.answers}
    left = {id: reason for id, reason in report.left.items() if id not in graded and reason != TWICE}
    judged = sum(task.answer_form in JUDGED for task in report.unverified)
    twice = report.skipped[TWICE]
    checked = len(report.tasks) + len(report.answers)
    return Count(
        source,
        checked + len(report.unverified) + len(left) + twice,
        checked - len(faults),
        judged,
        len(report.unverified) - judged,
        twice,
        {**faults, **left},
    )


def read_listed(path: Path) -> dict[str, list[Listed]]:
    """The known exceptions by source; raises `RecordError` naming what is wrong."""
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {source: [from_json(Listed, one) for one in lists] for source, lists in found.items()}


def complaints(one: Count, listed: Sequence[Listed]) -> list[str]:
    """What is not as it must be: exceptions that are not listed, and more of the loader's own than `LIMIT`."""
    known = {id for entry in listed for id in entry.ids}
    said = [f"{one.source}: {id} is no listed exception: {why}" for id, why in one.exceptions.items() if id not in known]
    own = sum(id in one.exceptions for entry in listed if entry.fault == "loader" for id in entry.ids)
    if own > LIMIT * one.records:
        said.append(f"{one.source}: {own} exceptions by no fault of the data, at most {LIMIT:.0%} of {one.records} may be")
    return said


def reasons(one: Count, listed: Sequence[Listed]) -> Counter[str]:
    """How many of the exceptions each listed reason covers."""
    return Counter({entry.reason: sum(id in one.exceptions for id in entry.ids) for entry in listed})


def chunks(tasks: Sequence[SourceTask], size: int) -> Iterable[Sequence[SourceTask]]:
    """The tasks in pieces for worker processes, which each keep their graders."""
    return (tasks[start : start + size] for start in range(0, len(tasks), size))
