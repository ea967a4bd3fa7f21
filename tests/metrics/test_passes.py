"""Success over repeated runs, against all draws of k runs."""

from __future__ import annotations

from itertools import combinations

import pytest

from intentfold.metrics.passes import average, pass_all, pass_at


def test_repeated_runs() -> None:
    rewards = [[1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0], [1.0] * 4, [0.0] * 4]
    assert average(rewards) == pytest.approx((0.5 + 0.25 + 1 + 0) / 4)
    for k in (1, 2, 3, 4):
        draws = [list(combinations(runs, k)) for runs in rewards]
        assert pass_at(rewards, k) == pytest.approx(sum(sum(map(any, some)) / len(some) for some in draws) / 4)
        assert pass_all(rewards, k) == pytest.approx(sum(sum(map(all, some)) / len(some) for some in draws) / 4)
    with pytest.raises(ValueError, match="from 1 to the number of runs, 4, got 5"):
        pass_at(rewards, 5)
