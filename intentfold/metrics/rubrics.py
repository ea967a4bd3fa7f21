"""Interactive tasks judged rubric by rubric (VitaBench): the share of rubrics met, full credit where all are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from intentfold.graders import Grade
from intentfold.prompts.rubric_judge import rubric_judge_prompt
from intentfold.runtime.roles import Backend

MAX_TOKENS = 8


class RubricJudge(Protocol):
    """Judges rubrics; None for one on which no word can be read."""

    @property
    def name(self) -> str: ...

    def met(self, transcript: str, outcome: str, rubrics: Sequence[str]) -> list[bool | None]: ...


class ModelRubricJudge:
    """A model as the judge. Raises `BackendError` where it fails: that is nobody's grade."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    @property
    def name(self) -> str:
        """The identity of the backend."""
        return self.backend.name

    def met(self, transcript: str, outcome: str, rubrics: Sequence[str]) -> list[bool | None]:
        """One word a rubric, in order."""
        completions = self.backend.complete([rubric_judge_prompt(transcript, outcome, rubric) for rubric in rubrics], MAX_TOKENS)
        words = {"MET": True, "UNMET": False}
        return [words.get(one.text.strip().rstrip(".")) if one.stopped else None for one in completions]


def judge_run(rubrics: Sequence[str], transcript: str, outcome: str, judge: RubricJudge) -> Grade:
    """The grade of one run; ungradable where the judge cannot be read on any one rubric."""
    if not rubrics:
        raise ValueError("rubrics: there is nothing to judge")
    met = judge.met(transcript, outcome, rubrics)
    if len(met) != len(rubrics):
        raise ValueError(f"judge {judge.name}: expected a word on each of {len(rubrics)} rubrics, got {len(met)}")
    unread = sum(one is None for one in met)
    if unread:
        return Grade(None, False, f"ungradable: the judge cannot be read on {unread} of {len(rubrics)} rubrics")
    value = sum(map(bool, met)) / len(rubrics)
    return Grade(value, value == 1.0, f"{sum(map(bool, met))} of {len(rubrics)} rubrics met")
