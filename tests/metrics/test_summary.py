"""Coverage times citation against a table worked by hand, with a scripted judge."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from intentfold.metrics.summary import Found, ModelInsightJudge, citations_of, judge_summary, points_of, read_found
from intentfold.prompts.insight_judge import insight_judge_prompt
from intentfold.runtime.scripted import CannedBackend
from intentfold.task import SourceTask

INSIGHTS = [{"text": "Rest.", "documents": [1, 2]}, {"text": "Drink.", "documents": [3]}, {"text": "Walk.", "documents": [4]}]
TASK = SourceTask("s", "summary", "s", "MIT", "", (), "summary", {"reference": {"insights": INSIGHTS}})
SUMMARY = "Advice:\n- Rest well [1, 9]\n- Drink [3]"


class Scripted:
    name = "scripted"

    def __init__(self, *words: Found | None) -> None:
        self.words = words

    def find(self, points: Sequence[str], insights: Sequence[str]) -> list[Found | None]:
        assert list(points) == ["Rest well [1, 9]", "Drink [3]"]
        return list(self.words)


@pytest.mark.parametrize(
    ("words", "value"),
    [
        # F1 of {1, 9} against {1, 2} is 1/2, of {3} against {3} is 1.
        ((Found(1.0, 0), Found(1.0, 1), Found(0.0, None)), (0.5 + 1 + 0) / 3),
        ((Found(0.5, 0), Found(0.5, 1), Found(0.0, None)), (0.25 + 0.5 + 0) / 3),
        ((Found(1.0, 1), Found(1.0, 0), Found(1.0, 1)), 0.0),
        ((Found(1.0, 0), None, Found(0.0, None)), None),
    ],
)
def test_the_score_by_hand(words: tuple[Found | None, ...], value: float | None) -> None:
    grade = judge_summary(TASK, SUMMARY, Scripted(*words))
    assert grade.value == (None if value is None else pytest.approx(value)) and not grade.full


def test_every_insight_said_and_cited_is_full_credit() -> None:
    only = SourceTask("s", "summary", "s", "MIT", "", (), "summary", {"reference": {"insights": INSIGHTS[1:2]}})
    assert judge_summary(only, SUMMARY, Scripted(Found(1.0, 1))).full
    assert judge_summary(only, " \n", Scripted()).value == 0


def test_a_model_judges_one_insight_at_a_time() -> None:
    points = points_of(SUMMARY)
    words = {
        insight_judge_prompt(points, i["text"]): word for i, word in zip(INSIGHTS, ("PARTIAL 1", "FULL 3", "NONE"), strict=True)
    }
    judge = ModelInsightJudge(CannedBackend(words))
    assert judge.find(points, [i["text"] for i in INSIGHTS]) == [Found(0.5, 0), None, Found(0.0, None)], "there is no third point"


@pytest.mark.parametrize("text", ["", "FULL", "full 1", "FULL 0", "FULL 1, 2", "NONE 1", "MAYBE 1"])
def test_what_is_not_the_form_is_not_read(text: str) -> None:
    assert read_found(text, 2) is None


def test_points_and_citations() -> None:
    assert points_of("1. One\n2) Two\ntext") == ["One", "Two"] and points_of("plain") == ["plain"]
    assert citations_of("As said [3][12], and [4; 5] but (6) and [x].") == {3, 12, 4, 5}
