"""Intervals: known values, honesty at small n and at zero disagreement, coverage by simulation, verdicts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intentfold.metrics.statistics import interval, paired, paired_ratios, verdict


def test_a_proportion_is_agresti_and_coulls_with_students_quantile() -> None:
    # 7 of 10: centre 9/14, variance 9/14 · 5/14 · 14/13, t(13) = 2.1604.
    found = interval([1.0] * 7 + [0.0] * 3, [1.0] * 10, range(10))
    half = 2.1604 * (9 / 14 * 5 / 14 / 13) ** 0.5
    assert found is not None
    assert (found.mean, found.n, found.clusters) == (0.7, 10, 10)
    assert (found.low, found.high) == pytest.approx((9 / 14 - half, 9 / 14 + half), abs=1e-4)


def test_a_paired_difference_is_bonett_and_prices_with_students_quantile() -> None:
    # 3 gains, 1 loss in 8: of ten values four +1, two -1, four 0; t(9) = 2.2622.
    a, b = [1, 1, 1, 0, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1, 0, 0]
    found = paired(a, b, range(8), 0.1)
    half = 2.2622 * ((6 - 0.4) / 9 / 10) ** 0.5
    assert found.mean == 0.25
    assert (found.low, found.high) == pytest.approx((0.2 - half, 0.2 + half), abs=1e-4)
    assert found.mde > half


def test_a_mean_is_the_plain_clustered_interval() -> None:
    found = interval([2.0, 4.0, 6.0], [1.0] * 3, range(3), proportion=False)
    assert found is not None
    assert (found.mean, found.low, found.high) == pytest.approx((4.0, 4 - 4.3027 * 2 / 3**0.5, 4 + 4.3027 * 2 / 3**0.5), abs=1e-3)


def test_cases_of_one_cluster_are_not_counted_as_independent() -> None:
    values, ones = [1.0, 0.0] * 10, [1.0] * 40
    apart = interval(sorted(values * 2), ones, range(40))
    together = interval(sorted(values * 2), ones, [n // 4 for n in range(40)])
    assert apart is not None and together is not None
    assert together.high - together.low > 1.6 * (apart.high - apart.low)
    assert together.clusters == 10


@pytest.mark.parametrize("n", [1, 2, 5, 20, 200])
def test_zero_disagreement_is_no_certainty(n) -> None:
    found = paired([1.0] * n, [1.0] * n, range(n), 0.02)
    # As wide as the exact 95% bound on how many could disagree all the same, shared by both directions, asks for.
    assert found.high >= 0.7 * (1 - 0.05 ** (1 / n))
    assert found.low == -found.high
    assert found.verdict == ("equivalent" if n == 200 else "inconclusive")
    all_right = interval([1.0] * n, [1.0] * n, range(n))
    assert all_right is not None
    assert all_right.high == 1.0
    assert all_right.low <= 0.05 ** (1 / n)


@pytest.mark.parametrize(
    ("n", "gain", "loss"), [(10, 0.2, 0.0), (30, 0.1, 0.05), (60, 0.04, 0.0), (200, 0.02, 0.0), (30, 0.9, 0.0)]
)
def test_paired_intervals_cover(n, gain, loss) -> None:
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(600):
        difference = rng.choice([1.0, -1.0, 0.0], p=[gain, loss, 1 - gain - loss], size=n)
        found = paired(np.maximum(difference, 0.0), np.maximum(-difference, 0.0), range(n), 0.02)
        covered += found.low <= gain - loss <= found.high
    assert covered / 600 >= 0.93


@pytest.mark.parametrize(("clusters", "rate"), [(12, 0.5), (40, 0.97), (40, 0.2)])
def test_clustered_proportions_cover(clusters, rate) -> None:
    # Turns of one episode lean the same way; episodes differ in length.
    rng = np.random.default_rng(11)
    covered = 0
    for _ in range(600):
        sizes = rng.integers(4, 12, size=clusters)
        rates = rng.beta(4 * rate, 4 * (1 - rate), size=clusters)
        found = interval(rng.binomial(sizes, rates), sizes, range(clusters))
        assert found is not None
        covered += found.low <= rate <= found.high
    assert covered / 600 >= 0.92


def test_nothing_to_divide_by() -> None:
    assert interval([0.0, 0.0], [0.0, 0.0], [1, 2]) is None
    with pytest.raises(ValueError, match="denominators sum to 0"):
        paired([], [], [], 0.02)
    with pytest.raises(ValueError, match="one length"):
        paired([1.0], [1.0, 0.0], [1, 2], 0.02)
    with pytest.raises(ValueError, match=r"margin must be above 0, got 0\.0"):
        paired([1.0], [1.0], [1], 0.0)


VERDICTS = [
    (0.01, 0.05, "superior"),
    (0.001, 0.01, "superior"),
    (-0.01, 0.01, "equivalent"),
    (-0.015, -0.005, "equivalent"),
    (-0.01, 0.05, "non-inferior"),
    (-0.05, -0.01, "inferior"),
    (-0.05, 0.0, "inconclusive"),
    (-0.05, 0.05, "inconclusive"),
]


@pytest.mark.parametrize(("low", "high", "expected"), VERDICTS)
def test_verdicts_in_their_order(low, high, expected) -> None:
    assert verdict(low, high, 0.02) == expected


cases = st.lists(
    st.tuples(st.floats(0, 1), st.floats(0, 1), st.integers(1, 5), st.integers(1, 5), st.integers(0, 4)), min_size=1, max_size=30
)


@given(cases)
def test_intervals_hold_their_mean_and_a_swap_mirrors(rows) -> None:
    a, b, size_a, size_b, clusters = map(list, zip(*rows, strict=True))
    counts_a = [x * n for x, n in zip(a, size_a, strict=True)]
    counts_b = [x * n for x, n in zip(b, size_b, strict=True)]
    one = paired_ratios(counts_a, size_a, counts_b, size_b, clusters, 0.1)
    other = paired_ratios(counts_b, size_b, counts_a, size_a, clusters, 0.1)
    assert -1 <= one.low <= one.mean <= one.high <= 1
    assert (one.mean, one.low, one.high) == pytest.approx((-other.mean, -other.high, -other.low))
    found = interval(counts_a, size_a, clusters)
    assert found is not None
    assert -1e-12 <= found.low <= found.mean <= found.high <= 1 + 1e-12
