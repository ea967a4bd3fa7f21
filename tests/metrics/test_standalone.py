"""Avg@k and the cost of thinking against tables worked by hand."""

from __future__ import annotations

from intentfold.graders import Grade
from intentfold.metrics.scores import Case, mean_score
from intentfold.metrics.standalone import Answered, average, thinking_rows
from intentfold.runtime.roles import Completion


def test_the_average_of_runs_is_taken_case_by_case() -> None:
    grades = [
        [Grade(1.0, True, ""), Grade(0.0, False, ""), Grade(None, False, "down")],
        [Grade(1.0, True, ""), Grade(1.0, True, ""), Grade(None, False, "down")],
        [Grade(1.0, True, ""), Grade(None, False, "down"), Grade(None, False, "down")],
    ]
    found = average([[Case(str(n), "c", one) for n, one in enumerate(run)] for run in grades])
    assert [case.grade for case in found] == [Grade(1.0, True, ""), Grade(0.5, False, ""), Grade(None, False, "down")]
    assert mean_score(found).mean == 0.75  # type: ignore[union-attr]


def test_endless_thoughts_and_tokens() -> None:
    said = [Completion("a", 9, 10, True, thought="t"), Completion("", 9, 40, False, thought="t", closed=False)]
    answered = [Answered("x", "drift", 0, str(n), one, Grade(0.0, False, "")) for n, one in enumerate(said)]
    unended, tokens = thinking_rows("x", "drift", "m", answered, ["a", "b"])
    assert (unended.metric, unended.mean, unended.n) == ("unended_thoughts", 0.5, 2)
    assert (tokens.metric, tokens.mean) == ("tokens", 25.0)
    assert answered[1].record()["closed"] is False
    assert answered[1].record()["thought"] == "t"
