"""Agents alone with the dialogue, without a harness: scores once and over samples, and what their thoughts cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from intentfold.graders import Grade
from intentfold.metrics.report import Row, row
from intentfold.metrics.scores import Case
from intentfold.metrics.statistics import interval
from intentfold.records import to_json
from intentfold.runtime.roles import Completion


@dataclass(frozen=True, slots=True)
class Answered:
    """One answer of one agent under one condition: `run` 0 is greedy, from 1 on the samples."""

    arm: str
    condition: str
    run: int
    episode: str
    completion: Completion
    grade: Grade

    def record(self) -> dict[str, Any]:
        """As plain data."""
        where = {"arm": self.arm, "condition": self.condition, "run": self.run, "episode": self.episode}
        said = self.completion
        wrote = {"thought": said.thought, "answer": said.text, "closed": said.closed, "stopped": said.stopped}
        return {**where, **wrote, "tokens": said.completion_tokens, "grade": to_json(self.grade)}


def average(runs: Sequence[Sequence[Case]]) -> list[Case]:
    """Avg@k: each case with the mean value of its graded runs, ungradable where none was graded; full where all runs were."""
    cases = []
    for same in zip(*runs, strict=True):
        values = [case.grade.value for case in same if case.grade.value is not None]
        full = all(case.grade.full for case in same)
        mean = Grade(sum(values) / len(values), full, "") if values else Grade(None, False, same[0].grade.reason)
        cases.append(Case(same[0].id, same[0].cluster, mean))
    return cases


def thinking_rows(arm: str, condition: str, agent: str, answered: Sequence[Answered], clusters: Sequence[str]) -> list[Row]:
    """The share of answers whose thought did not end (they count as wrong), and tokens an answer, the thought's among them."""
    ones = [1.0] * len(answered)
    unended = interval([float(not one.completion.closed) for one in answered], ones, clusters)
    tokens = interval([float(one.completion.completion_tokens) for one in answered], ones, clusters, proportion=False)
    return [row(arm, condition, "unended_thoughts", unended, agent), row(arm, condition, "tokens", tokens, agent)]
