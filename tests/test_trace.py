"""Correction steps of a learning history: the result after a correction is the next delivery."""

from __future__ import annotations

import pytest

from intentfold.dialogue import Output
from intentfold.trace import Exchange, LearningHistory

# What the exchanges are (r request, c correction, a answer) and whether each output is a delivery or a question (d, q),
# the correction asked about, and the exchange whose output is the result after it (None: nothing was delivered).
STEPS = [
    ("rc", "dd", 1, 1),
    ("rca", "dqd", 1, 2),
    ("rcaa", "dqqd", 1, 3),
    ("rcac", "dqdd", 1, 2),
    ("rcac", "dqdd", 3, 3),
    ("rcc", "ddd", 1, 1),
    ("rc", "dq", 1, None),
    ("rcaa", "dqqq", 1, None),
]


@pytest.mark.parametrize(("acts", "outputs", "number", "after"), STEPS)
def test_the_result_after_a_correction(acts: str, outputs: str, number: int, after: int | None) -> None:
    names = {"r": "request", "c": "correction", "a": "answer"}
    made = [Output(f"Result {n}." if kind == "d" else f"Which {n}?") for n, kind in enumerate(outputs)]
    exchanges = tuple(Exchange(names[act], f"said {n}", made[n]) for n, act in enumerate(acts))  # type: ignore[arg-type]
    step = LearningHistory(1, "h", "u", "f", "CC0-1.0", "train", "train", exchanges, "").step(number)
    assert step.after == (Output("") if after is None else made[after])
    assert (step.before, step.correction) == (made[number - 1], f"said {number}")
    assert list(step.messages) == [f"h:{n}" for n in range(number + 1)]
