"""Summaries judged insight by insight: coverage times citation (Laban et al. 2024, "Summary of a Haystack").

A judge says for every reference insight whether one of the summary's bullet points says it wholly (1), partly (0.5) or not
(0), and which. The citation score of a found insight is the F1 between the documents that this point cites in
brackets and those that carry the insight; an insight that is not found scores 0. The summary's score is the mean of coverage
× citation over its insights, and full credit needs 1 for every one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from intentfold.graders import Grade
from intentfold.graders.grade import gold
from intentfold.prompts.insight_judge import insight_judge_prompt
from intentfold.runtime.roles import Backend
from intentfold.task import SourceTask

MAX_TOKENS = 16
_COVERAGE = {"FULL": 1.0, "PARTIAL": 0.5}


@dataclass(frozen=True, slots=True)
class Found:
    """A judge's word on one insight: coverage 1, 0.5 or 0, and the point (from 0) that it found; None where there is none."""

    coverage: float
    point: int | None


class InsightJudge(Protocol):
    """Judges insights; None for one on which no word can be read."""

    @property
    def name(self) -> str: ...

    def find(self, points: Sequence[str], insights: Sequence[str]) -> list[Found | None]: ...


class ModelInsightJudge:
    """A model as the judge. Raises `BackendError` where it fails: that is nobody's grade."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    @property
    def name(self) -> str:
        """The identity of the backend."""
        return self.backend.name

    def find(self, points: Sequence[str], insights: Sequence[str]) -> list[Found | None]:
        """One word an insight, in order."""
        completions = self.backend.complete([insight_judge_prompt(points, insight) for insight in insights], MAX_TOKENS)
        return [read_found(one.text, len(points)) if one.stopped else None for one in completions]


def read_found(text: str, points: int) -> Found | None:
    """What the judge wrote: `NONE`, or `FULL` or `PARTIAL` with the number of one of the points."""
    match = re.fullmatch(r"(?:(FULL|PARTIAL) (\d{1,4})|NONE)\.?", text.strip())
    if match is None or (match[2] is not None and not 1 <= int(match[2]) <= points):
        return None
    return Found(0.0, None) if match[1] is None else Found(_COVERAGE[match[1]], int(match[2]) - 1)


def judge_summary(task: SourceTask, answer: str, judge: InsightJudge) -> Grade:
    """The grade of a summary; ungradable where the judge cannot be read on any one insight."""
    insights = gold(task, "reference.insights", list)
    points = points_of(answer)
    if not points:
        return Grade(0.0, False, "no points")
    found = judge.find(points, [insight["text"] for insight in insights])
    unread = sum(one is None for one in found)
    if unread:
        return Grade(None, False, f"ungradable: the judge cannot be read on {unread} of {len(insights)} insights")
    scores = []
    for insight, one in zip(insights, found, strict=True):
        assert one is not None
        cited = set() if one.point is None else citations_of(points[one.point])
        scores.append(one.coverage * f1(cited, set(insight["documents"])))
    value = sum(scores) / len(scores)
    return Grade(value, value == 1.0, f"{sum(score > 0 for score in scores)} of {len(scores)} insights found and cited")


def points_of(answer: str) -> list[str]:
    """The bullet points of a summary: its lines that begin with a bullet or a number, all its lines where none does."""
    lines = [line.strip() for line in answer.splitlines() if line.strip()]
    marked = [match[1] for line in lines if (match := re.match(r"(?:[-*•]|\d+[.)])\s+(.*)", line))]
    return marked or lines


def citations_of(point: str) -> set[int]:
    """The numbers in brackets: `[3]`, `[3, 12]`, `[3][12]`."""
    return {int(number) for group in re.findall(r"\[([\d\s,;]+)\]", point) for number in re.findall(r"\d+", group)}


def f1(cited: set[int], right: set[int]) -> float:
    """2·|both| / (|cited| + |right|); 0 where nothing is cited or nothing carries the insight."""
    return 2 * len(cited & right) / (len(cited) + len(right)) if cited and right else 0.0
