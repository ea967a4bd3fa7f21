"""Scores: ungraded cases are counted, never averaged in or dropped in silence."""

from __future__ import annotations

import pytest

from intentfold.graders import Grade
from intentfold.metrics.report import Row, gap_closed, row, score_rows, table
from intentfold.metrics.scores import Case, car, car_bounds, coverage, idg, mean_score, score_gain
from tests.episodes import house, small_house

FULL, PART, NONE, LOST = Grade(1.0, True, ""), Grade(0.5, False, ""), Grade(0.0, False, ""), Grade(None, False, "sandbox")


def cases(*grades: Grade) -> list[Case]:
    return [Case(str(n), str(n), grade) for n, grade in enumerate(grades)]


def test_an_ungraded_case_earns_no_full_credit_and_no_score() -> None:
    some = cases(FULL, PART, NONE, LOST)
    score, credit, bounds, seen = mean_score(some), car(some), car_bounds(some), coverage(some)
    assert score and credit and bounds and seen
    assert (score.mean, score.n) == (0.5, 3)
    assert (credit.mean, credit.n) == (0.25, 4)
    assert (bounds.mean, bounds.low, bounds.high) == (0.25, 0.25, 0.5)
    assert seen.mean == 0.75
    assert mean_score(cases(LOST)) is None


def test_idg_is_paired_by_case() -> None:
    assert idg(cases(FULL, FULL, PART, FULL), cases(FULL, NONE, PART, LOST), 0.02).mean == 0.5
    with pytest.raises(ValueError, match="must be the same"):
        idg(cases(FULL, FULL), list(reversed(cases(FULL, FULL))), 0.02)


def test_a_gain_is_over_cases_graded_in_both() -> None:
    found = score_gain(cases(FULL, FULL, LOST, PART), cases(NONE, FULL, FULL, LOST), 0.02)
    assert (found.mean, found.n) == (0.5, 2)


def test_the_gap_closed() -> None:
    found = gap_closed(cases(NONE, FULL, NONE, NONE), cases(FULL, FULL, PART, LOST), cases(FULL, FULL, FULL, FULL))
    assert found is not None
    assert (found.mean, found.n) == (0.75, 3)
    assert gap_closed(cases(FULL), cases(NONE), cases(FULL)) is None


def test_rows_by_family_and_load_with_the_macro_average() -> None:
    episodes = [house("a"), house("b"), small_house("c")]
    other = small_house("d")
    object.__setattr__(other.task, "family", "gardens")
    found = {
        r.metric: r
        for r in score_rows("sft", "tracker", "executor", [*episodes, other], cases(FULL, FULL, NONE, NONE), cases(*[FULL] * 4))
    }
    assert found["mean_score"].mean == 0.5
    assert found["mean_score, family houses"].mean == pytest.approx(2 / 3)
    assert found["mean_score, family gardens"].mean == 0.0
    assert found["mean_score, macro"].mean == pytest.approx(1 / 3)
    assert found["mean_score, macro"].n == 4
    assert found["mean_score, load 3"].n == 4
    assert found["idg"].mean == 0.5
    assert {r.agent for r in found.values()} == {"executor"}


def test_a_row_of_nothing_shows_a_dash() -> None:
    empty = row("sft", "tracker", "recovery", None, "executor")
    assert empty == Row("sft", "tracker", "recovery", None, None, None, 0, "executor")
    assert table([empty]).splitlines()[2] == "| sft | tracker | recovery | – | – | 0 | executor |"


def test_nothing_to_compare_where_no_case_is_graded_in_both() -> None:
    assert score_gain(cases(LOST, FULL), cases(FULL, LOST), 0.02) is None
