"""Answering and grading the same episodes under many conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tqdm import tqdm

from intentfold.graders import Grade
from intentfold.graders import grade as grade_answer
from intentfold.metrics.report import Protocol, Row, row, score_rows, under
from intentfold.metrics.scores import Case, score_gain
from intentfold.metrics.statistics import Comparison, interval
from intentfold.records import to_json
from intentfold.runtime.conditions import answers
from intentfold.runtime.journal import Journal, journaled_grade
from intentfold.runtime.roles import Agent, View
from intentfold.task import SourceTask
from intentfold.trace import Episode


class Bench:
    """The same episodes, agent and grader for every condition; it collects cases, rows and records.

    `scores` holds the cases by name of the condition, `records` answers and grades as plain data. Grades are journaled;
    what could not be graded is counted, and tried again in the next run.
    """

    def __init__(
        self,
        episodes: Sequence[Episode],
        agent: Agent,
        grades: Journal,
        protocol: Protocol,
        grade: Callable[[SourceTask, str], Grade] = grade_answer,
    ) -> None:
        self.episodes, self.agent, self.grades, self.protocol, self.grade = list(episodes), agent, grades, protocol, grade
        self.clusters = [episode.task.origin for episode in self.episodes]
        self.scores: dict[str, list[Case]] = {}
        self.rows: list[Row] = []
        self.records: list[dict[str, Any]] = []

    def run(self, name: str, arm: str, condition: str, views: Sequence[View], *, gate: bool = True) -> list[Case]:
        """Answer and grade one view an episode. The first condition that is run is `clean`: gaps are against it."""
        cases = []
        gated = answers(self.agent, views, gate=gate)
        for episode, one in tqdm(list(zip(self.episodes, gated, strict=True)), desc=f"{name}: grades"):
            found = journaled_grade(self.grades, episode.task, one.answer, self.grade)
            cases.append(Case(episode.id, episode.task.origin, found))
            case = {"arm": arm, "condition": condition, "episode": episode.id}
            self.records.append({**case, **to_json(one), "grade": to_json(found)})
        self.scores[name] = cases
        self.add(score_rows(arm, condition, self.agent.name, self.episodes, cases, self.scores["clean"]))
        return cases

    def add(self, rows: Sequence[Row]) -> None:
        """Rows of this bench's protocol."""
        self.rows += under(self.protocol, rows)

    def share(self, arm: str, condition: str, metric: str, counts: Sequence[tuple[float, float]]) -> None:
        """A row of a share, from one (count, of how many) an episode."""
        found = interval([count for count, _ in counts], [size for _, size in counts], self.clusters)
        self.add([row(arm, condition, metric, found, self.agent.name)])

    def compare(self, a: str, b: str, margin: float) -> Comparison | None:
        """The paired difference in mean score of two conditions that were run, first − second; None with no case in common."""
        return score_gain(self.scores[a], self.scores[b], margin)
