"""VitaBench's metrics against tables worked by hand, and against all draws of k runs."""

from __future__ import annotations

from itertools import combinations

import pytest

from intentfold.metrics.rubrics import average, met, pass_all, pass_at, reward, rubric_score
from intentfold.runtime.checker import Check, Finding

TABLE = [
    # rubrics, reward, score
    ([True, True], 1.0, 1.0),
    ([True, False], 0.0, 0.5),
    ([True, None], None, None),
    ([False, None], 0.0, None),  # whatever the other is, not all are met
    ([False], 0.0, 0.0),
]


@pytest.mark.parametrize(("rubrics", "earned", "share"), TABLE)
def test_all_rubrics_earn_the_reward(rubrics: list, earned: float | None, share: float | None) -> None:
    assert reward(rubrics) == earned
    assert rubric_score(rubrics) == share
    with pytest.raises(ValueError, match="without rubrics"):
        reward([])


def test_a_checker_may_judge_and_only_met_is_met() -> None:
    verdicts = ("met", "unmet", "not_applicable", None)
    check = Check(tuple(Finding(1, n, "x", verdict) for n, verdict in enumerate(verdicts)))  # type: ignore[arg-type]
    assert met(check) == [True, False, False, None]


def test_repeated_runs() -> None:
    rewards = [[1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0], [1.0] * 4, [0.0] * 4]
    assert average(rewards) == pytest.approx((0.5 + 0.25 + 1 + 0) / 4)
    for k in (1, 2, 3, 4):
        draws = [list(combinations(runs, k)) for runs in rewards]
        assert pass_at(rewards, k) == pytest.approx(sum(sum(map(any, some)) / len(some) for some in draws) / 4)
        assert pass_all(rewards, k) == pytest.approx(sum(sum(map(all, some)) / len(some) for some in draws) / 4)
    with pytest.raises(ValueError, match="from 1 to the number of runs, 4, got 5"):
        pass_at(rewards, 5)
