"""Rubrics by a scripted judge: the share that is met, and what cannot be read."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from intentfold.metrics.rubrics import ModelRubricJudge, judge_run
from intentfold.prompts.rubric_judge import rubric_judge_prompt
from intentfold.runtime.scripted import CannedBackend


class Scripted:
    name = "scripted"

    def __init__(self, *met: bool | None) -> None:
        self.words = met

    def met(self, transcript: str, outcome: str, rubrics: Sequence[str]) -> list[bool | None]:
        return list(self.words)


@pytest.mark.parametrize(
    ("met", "value", "full"),
    [((True, True, True), 1.0, True), ((True, False, True), 2 / 3, False), ((True, None, True), None, False)],
)
def test_the_share_of_rubrics(met: tuple[bool | None, ...], value: float | None, full: bool) -> None:
    grade = judge_run(["a", "b", "c"], "talk", "orders", Scripted(*met))
    assert (grade.value, grade.full) == (value, full)


def test_a_judge_must_speak_to_every_rubric() -> None:
    with pytest.raises(ValueError, match="expected a word on each of 2 rubrics, got 1"):
        judge_run(["a", "b"], "talk", "orders", Scripted(True))
    with pytest.raises(ValueError, match="nothing to judge"):
        judge_run([], "talk", "orders", Scripted())


def test_a_model_judges_one_rubric_at_a_time_and_only_plain_words_count() -> None:
    words = {
        rubric_judge_prompt("talk", "orders", r): word for r, word in zip("abc", ("MET", "UNMET.", "Probably met"), strict=True)
    }
    assert ModelRubricJudge(CannedBackend(words)).met("talk", "orders", ["a", "b", "c"]) == [True, False, None]
