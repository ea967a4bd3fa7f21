"""Intervals: known values, honesty at small n and at zero disagreement, coverage by simulation, verdicts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intentfold.metrics.statistics import (
    bootstrap,
    interval,
    mcnemar,
    needed_clusters,
    paired,
    paired_means,
    paired_ratios,
    power,
    tost,
    verdict,
)


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


def clustered_cases(rng, clusters, size, difference=0.0):
    """Two arms that are right or wrong on a task as a whole: cases of one cluster always agree."""
    task = np.repeat(np.arange(clusters), size)
    a = (rng.random(clusters) < 0.5 + difference / 2)[task]
    b = (rng.random(clusters) < 0.5 - difference / 2)[task]
    return a.astype(float), b.astype(float), task


def naive_bootstrap(a, b, rng, draws=400):
    """What not to do: cases resampled as if each stood for itself."""
    difference = a - b
    means = difference[rng.integers(len(a), size=(draws, len(a)))].mean(1)
    return np.quantile(means, [0.025, 0.975])


def test_false_positives_stay_at_the_nominal_rate_under_clustering_and_a_naive_bootstrap_fails() -> None:
    rng = np.random.default_rng(5)
    trials = 400
    alarms = {"interval": 0, "bootstrap": 0, "naive": 0}
    for _ in range(trials):
        a, b, task = clustered_cases(rng, clusters=40, size=6)
        found = paired(a, b, task, 0.02)
        alarms["interval"] += found.low > 0 or found.high < 0
        low, high = bootstrap(a, b, task, draws=400)
        alarms["bootstrap"] += low > 0 or high < 0
        low, high = naive_bootstrap(a, b, rng)
        alarms["naive"] += low > 0 or high < 0
    assert 0.02 <= alarms["interval"] / trials <= 0.075
    assert 0.02 <= alarms["bootstrap"] / trials <= 0.09
    assert alarms["naive"] / trials > 0.3


def test_equivalence_is_claimed_falsely_at_most_at_the_nominal_rate() -> None:
    rng = np.random.default_rng(6)
    false = sum(paired(*clustered_cases(rng, 300, 2, difference=0.2), margin=0.2).verdict == "equivalent" for _ in range(300))
    assert false / 300 <= 0.05


@pytest.mark.parametrize(("clusters", "difference"), [(20, 0.5), (60, 0.3), (100, 0.15)])
def test_power_is_what_simulation_finds(clusters, difference) -> None:
    rng = np.random.default_rng(8)
    found = [paired(*clustered_cases(rng, clusters, 3, difference), margin=0.02) for _ in range(400)]
    rate = (0.5 + difference / 2) * (0.5 + difference / 2) + (0.5 - difference / 2) ** 2
    spread = (rate - difference**2) ** 0.5  # of a − b: ±1 with that probability, else 0
    assert power(difference, spread, clusters) == pytest.approx(sum(f.low > 0 for f in found) / 400, abs=0.07)


def test_the_detectable_difference_is_found_with_a_power_of_0_8_and_needed_cases_settle() -> None:
    rng = np.random.default_rng(9)
    pilot = [paired(*clustered_cases(rng, 80, 2), margin=0.15) for _ in range(50)]
    mde = float(np.median([f.mde for f in pilot]))
    found = [paired(*clustered_cases(rng, 80, 2, mde), margin=0.15).low > 0 for _ in range(300)]
    assert 0.7 <= np.mean(found) <= 0.9
    needed = int(np.median([f.needed_n for f in pilot]))
    settled = [paired(*clustered_cases(rng, needed // 2, 2), margin=0.15).verdict == "equivalent" for _ in range(300)]
    assert 0.7 <= np.mean(settled) <= 0.9
    early = [paired(*clustered_cases(rng, needed // 6, 2), margin=0.15).verdict == "equivalent" for _ in range(300)]
    assert np.mean(early) < 0.2


NEEDED = [
    # (t(0.975) + t(0.9))² · spread² / margin² clusters: at 264 degrees of freedom (1.969 + 1.285)² · 25 = 264.7.
    (1.0, 0.2, (), 265),
    (1.0, 0.2, (1.0, -1.0), 263),
    (0.0, 0.02, (), 2),
    # 3.256² · 2 / ((C + 1)(C + 2)) ≤ 0.02²: (C + 1)(C + 2) ≥ 53,000, at 230 degrees of freedom.
    (0.0, 0.02, (1.0, -1.0), 229),
    # 3.42² · 2 / ((C + 1)(C + 2)) ≤ 0.2²: (C + 1)(C + 2) ≥ 585, at 24 degrees of freedom.
    (0.0, 0.2, (1.0, -1.0), 23),
]


@pytest.mark.parametrize(("spread", "margin", "pseudo", "expected"), NEEDED)
def test_needed_clusters(spread, margin, pseudo, expected) -> None:
    assert needed_clusters(spread, margin, pseudo) == expected


@pytest.mark.parametrize("n", [2, 10, 100])
def test_what_settles_does_not_grow_where_nothing_has_disagreed_in_few_cases(n) -> None:
    found = paired([1.0] * n, [1.0] * n, range(n), 0.02)
    assert found.needed_n is not None
    many = found.needed_n
    assert many == 229
    assert paired([1.0] * many, [1.0] * many, range(many), 0.02).verdict == "equivalent"
    assert paired([1.0], [1.0], [0], 0.02).needed_n is None


def test_what_settles_is_the_same_from_small_and_large_pilots() -> None:
    rng = np.random.default_rng(12)
    needed = [
        np.median([n for _ in range(200) if (n := paired(*clustered_cases(rng, size, 2), margin=0.15).needed_n) is not None])
        for size in (20, 80)
    ]
    assert needed[0] == pytest.approx(needed[1], rel=0.1)


MCNEMAR = [
    # gains, losses, both, p: 2 · (tail of the binomial with 1/2)
    (5, 0, 3, 0.0625),
    (1, 5, 0, 2 * 7 / 64),
    (2, 2, 1, 1.0),
    (0, 0, 9, 1.0),
]


@pytest.mark.parametrize(("gains", "losses", "both", "p"), MCNEMAR)
def test_mcnemar_is_the_exact_binomial_on_discordant_cases(gains, losses, both, p) -> None:
    a = [True] * gains + [False] * losses + [True] * both
    b = [False] * gains + [True] * losses + [True] * both
    found = mcnemar(a, b, range(len(a)))
    assert (found.gains, found.losses, found.clustered) == (gains, losses, False)
    assert found.p == pytest.approx(p)
    assert mcnemar(a, b, [0] * len(a)).clustered


def test_tost_agrees_with_the_verdict() -> None:
    rng = np.random.default_rng(10)
    seen = set()
    for clusters in (10, 40, 200, 400):
        for _ in range(20):
            a, b, task = clustered_cases(rng, clusters, 2)
            inside = paired(a, b, task, 0.1)
            inside_margin = inside.low > -0.1 and inside.high < 0.1
            seen.add(inside_margin)
            assert (tost(a, b, task, 0.1) < 0.025) == inside_margin
    assert seen == {True, False}


def test_the_bootstrap_resamples_whole_clusters() -> None:
    a, b, task = [1.0, 1.0, 1.0, 0.0], [0.0] * 4, [1, 1, 1, 2]
    # Two clusters: (3 right of 3) and (0 of 1); a draw of both is 3/4, twice the first 1, twice the second 0.
    assert bootstrap(a, b, task) == (0.0, 1.0)
    assert bootstrap(a, a, task) == (0.0, 0.0)


def test_means_without_bounds_get_the_plain_paired_interval() -> None:
    # Differences 1, 2, 3 of logs: mean 2, error 1/√3, t(2) = 4.3027.
    found = paired_means([5.0, 7.0, 9.0], [4.0, 5.0, 6.0], range(3), 0.5)
    assert (found.mean, found.low, found.high) == pytest.approx((2.0, 2 - 4.3027 / 3**0.5, 2 + 4.3027 / 3**0.5), abs=1e-3)
    assert found.verdict == "non-inferior"
    alone = paired_means([5.0], [4.0], [0], 0.5)
    assert (alone.mean, alone.high, alone.needed_n) == (1.0, float("inf"), None)
