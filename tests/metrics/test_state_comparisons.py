"""Paired differences in what the turns show: of mistakes, fewer is better."""

from __future__ import annotations

from intentfold.graders import Grade
from intentfold.metrics.report import MISTAKES, state_comparisons
from intentfold.metrics.scores import Case


def test_less_of_a_mistake_is_superior_as_more_of_the_rest_is() -> None:
    cases = [Case(f"case-{n}", f"task-{n}", Grade(1.0, True, "")) for n in range(40)]
    better = [{"exact_edits": (9, 10), "wrong_slot": (1, 10)} for _ in cases]
    worse = [{"exact_edits": (2 + n % 2, 10), "wrong_slot": (6 + n % 2, 10)} for n in range(40)]
    found = state_comparisons("gain", better, worse, cases, 0.05)
    assert found.keys() == {"gain, exact_edits", "gain, less wrong_slot"}
    assert found["gain, exact_edits"].verdict == found["gain, less wrong_slot"].verdict == "superior"
    assert abs(found["gain, less wrong_slot"].mean - 0.55) < 1e-9
    assert state_comparisons("loss", worse, better, cases, 0.05)["loss, less wrong_slot"].verdict == "inferior"
    assert "wrong_slot" in MISTAKES
