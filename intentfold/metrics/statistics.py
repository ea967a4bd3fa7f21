"""Clustered intervals and paired comparisons that stay honest at small n and at zero disagreement (design D10).

One estimator for everything: a mean or a ratio of sums over cases, with its cluster-robust variance by
linearisation (Liang and Zeger 1986; for evaluations: Miller 2024, "Adding Error Bars to Evals", sections 2.2 and 4).
Each cluster (all cases of one source task) becomes one pseudo-value whose mean is the estimate. To these, two or four
pseudo-clusters are added before mean and variance are taken, so that the interval never collapses: for a
proportion two at 1 and two at 0 (Agresti and Coull 1998), for a paired difference one at +1 and one at -1 (Bonett and
Price 2012, "Adjusted Wald confidence interval for a difference of binomial proportions based on paired data").
The quantile is Student's, with one degree of freedom less than there are clusters, pseudo-clusters among them.
Means without bounds (log-likelihoods, seconds) get no pseudo-clusters: `paired_means`.

The verdict rests on that interval. Beside it stand, for those who look for them: the exact McNemar test, TOST, and a
bootstrap that resamples clusters. Tests calibrate all of them by simulation.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

import numpy as np
from scipy.special import bdtr, nctdtr, stdtr, stdtrit

from intentfold.records import RECORD

Verdict = Literal["superior", "equivalent", "non-inferior", "inferior", "inconclusive"]
CONFIDENCE = 0.95
POWER = 0.8
MARGIN = 0.02
# The values of the pseudo-clusters.
_PROPORTION = (1.0, 1.0, 0.0, 0.0)
_DIFFERENCE = (1.0, -1.0)


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its 95% interval; `n` is the sum of denominators (cases, turns, edits: what was counted)."""

    __pydantic_config__ = RECORD

    mean: float
    low: float
    high: float
    n: int
    clusters: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """A paired difference a − b with its 95% interval, over `n` cases in `clusters` clusters.

    `mde` is the difference that a comparison as noisy as this one detects with a power of 0.8. `needed_n` is how many
    cases, in clusters as large and as noisy as these, settle the verdict with that power where there is no difference
    (`needed_clusters`; None where one cluster tells no variance). `power` is the probability that a comparison as noisy as
    this one finds a true difference of the margin. `verdict` is the first of these that holds: superior
    (low > 0), equivalent (the interval within ±margin), non-inferior (low > −margin), inferior (high < 0),
    inconclusive.
    """

    __pydantic_config__ = RECORD

    mean: float
    low: float
    high: float
    n: int
    clusters: int
    margin: float
    mde: float
    needed_n: int | None
    power: float
    verdict: Verdict


def interval(
    numerators: Sequence[float], denominators: Sequence[float], clusters: Sequence[Hashable], *, proportion: bool = True
) -> Interval | None:
    """The ratio of sums over cases; a mean where the denominators are ones. None where there is nothing to divide by.

    `proportion`: the ratio lies in [0, 1]; otherwise (tokens, counts) the interval is the plain clustered one, and
    infinitely wide for a single cluster.
    """
    if sum(denominators) == 0:
        return None
    ratio, values_C = _pseudo_values(numerators, denominators, clusters)
    if proportion:
        found = _estimate(values_C, _PROPORTION)
        low, high = max(0.0, found.centre - found.half), min(1.0, found.centre + found.half)
    else:
        found = _estimate(values_C, ())
        low, high = found.centre - found.half, found.centre + found.half
    return Interval(ratio, min(low, ratio), max(high, ratio), round(sum(denominators)), len(values_C))


def paired(a: Sequence[float], b: Sequence[float], clusters: Sequence[Hashable], margin: float) -> Comparison:
    """Compare the means of `a` and `b`, values in [0, 1] of the same cases in the same order."""
    ones = [1.0] * len(a)
    return paired_ratios(a, ones, b, ones, clusters, margin)


def paired_ratios(
    numerators_a: Sequence[float],
    denominators_a: Sequence[float],
    numerators_b: Sequence[float],
    denominators_b: Sequence[float],
    clusters: Sequence[Hashable],
    margin: float,
) -> Comparison:
    """Compare two ratios of sums, each in [0, 1], over the same cases in the same order."""
    ratio_a, ratio_b, values_C = _differences(numerators_a, denominators_a, numerators_b, denominators_b, clusters, margin)
    found = _estimate(values_C, _DIFFERENCE)
    difference = ratio_a - ratio_b
    low = min(difference, max(-1.0, found.centre - found.half))
    high = max(difference, min(1.0, found.centre + found.half))
    return _comparison(difference, low, high, len(clusters), values_C, margin, found, _DIFFERENCE)


def paired_means(a: Sequence[float], b: Sequence[float], clusters: Sequence[Hashable], margin: float) -> Comparison:
    """Compare the means of values without bounds (log-likelihoods, seconds) of the same cases in the same order.

    The plain clustered interval, without pseudo-clusters: it does collapse where no case differs.
    """
    ones = [1.0] * len(a)
    mean_a, mean_b, values_C = _differences(a, ones, b, ones, clusters, margin)
    found = _estimate(values_C, ())
    low, high = found.centre - found.half, found.centre + found.half
    return _comparison(mean_a - mean_b, low, high, len(clusters), values_C, margin, found, ())


Ratios = Sequence[tuple[Sequence[float], Sequence[float]]]


def mean_ratio(ratios: Ratios, clusters: Sequence[Hashable]) -> Interval | None:
    """The plain mean of several ratios of sums in [0, 1] over the same cases (a macro average), with its interval.

    Each is (numerators, denominators), a value a case. A ratio without anything to divide by is left out; None where that
    leaves none. `n` counts cases.
    """
    values = [_pseudo_values(top, size, clusters)[1] for top, size in ratios if sum(size)]
    if not values:
        return None
    values_C = np.mean(values, axis=0)
    found = _estimate(values_C, _PROPORTION)
    mean = float(values_C.mean())
    low, high = max(0.0, found.centre - found.half), min(1.0, found.centre + found.half)
    return Interval(mean, min(mean, low), max(mean, high), len(clusters), len(values_C))


def paired_mean_ratios(a: Ratios, b: Ratios, clusters: Sequence[Hashable], margin: float) -> Comparison:
    """Compare two macro averages, first − second, over the same cases in the same order.

    Only ratios that have something to divide by on both sides count, so that both average over the same.
    """
    if len(a) != len(b):
        raise ValueError(f"a and b must hold the same ratios, got {len(a)} and {len(b)}")
    both = [(one, other) for one, other in zip(a, b, strict=True) if sum(one[1]) and sum(other[1])]
    if not both:
        raise ValueError("nothing to compare: the denominators sum to 0")
    differences = [_pseudo_values(*one, clusters)[1] - _pseudo_values(*other, clusters)[1] for one, other in both]
    values_C = np.mean(differences, axis=0)
    found = _estimate(values_C, _DIFFERENCE)
    mean = float(values_C.mean())
    low, high = min(mean, max(-1.0, found.centre - found.half)), max(mean, min(1.0, found.centre + found.half))
    return _comparison(mean, low, high, len(clusters), values_C, margin, found, _DIFFERENCE)


def verdict(low: float, high: float, margin: float) -> Verdict:
    """The first that holds, in `Comparison`'s order."""
    if low > 0:
        return "superior"
    if low > -margin:
        return "equivalent" if high < margin else "non-inferior"
    return "inferior" if high < 0 else "inconclusive"


def _pseudo_values(
    numerators: Sequence[float], denominators: Sequence[float], clusters: Sequence[Hashable]
) -> tuple[float, np.ndarray]:
    """The ratio of sums, and one value a cluster with that mean: ratio + C · (N_c − ratio · D_c) / D."""
    index = {cluster: place for place, cluster in enumerate(dict.fromkeys(clusters))}
    place_N = np.array([index[cluster] for cluster in clusters])
    sums_C = np.bincount(place_N, weights=np.asarray(numerators, dtype=float))
    sizes_C = np.bincount(place_N, weights=np.asarray(denominators, dtype=float))
    ratio = float(sums_C.sum() / sizes_C.sum())
    return ratio, ratio + len(index) * (sums_C - ratio * sizes_C) / sizes_C.sum()


def _differences(
    numerators_a: Sequence[float],
    denominators_a: Sequence[float],
    numerators_b: Sequence[float],
    denominators_b: Sequence[float],
    clusters: Sequence[Hashable],
    margin: float,
) -> tuple[float, float, np.ndarray]:
    """The two ratios, and (C,) values of the clusters with their difference as mean."""
    sizes = {len(numerators_a), len(denominators_a), len(numerators_b), len(denominators_b), len(clusters)}
    if len(sizes) > 1:
        raise ValueError(f"a, b and clusters must be of one length, got {sorted(sizes)}")
    if margin <= 0:
        raise ValueError(f"margin must be above 0, got {margin}")
    if sum(denominators_a) == 0 or sum(denominators_b) == 0:
        raise ValueError("nothing to compare: the denominators sum to 0")
    ratio_a, values_a = _pseudo_values(numerators_a, denominators_a, clusters)
    ratio_b, values_b = _pseudo_values(numerators_b, denominators_b, clusters)
    return ratio_a, ratio_b, values_a - values_b


@dataclass(frozen=True, slots=True)
class _Estimate:
    """Centre, standard error and degrees of freedom, pseudo-clusters among the values."""

    centre: float
    error: float
    df: int

    @property
    def half(self) -> float:
        """Half width of the interval."""
        return float(_quantile(self.df) * self.error) if self.df else float("inf")

    @property
    def detectable(self) -> float:
        """The difference that is found with a power of 0.8."""
        return float((_quantile(self.df) + stdtrit(self.df, POWER)) * self.error) if self.df else float("inf")


def _estimate(values_C: np.ndarray, pseudo: Sequence[float]) -> _Estimate:
    values = np.concatenate([values_C, pseudo])
    if len(values) < 2:
        return _Estimate(float(values[0]), float("inf"), 0)
    return _Estimate(float(values.mean()), float(values.std(ddof=1)) / len(values) ** 0.5, len(values) - 1)


def _quantile(df: int) -> float:
    return float(stdtrit(df, (1 + CONFIDENCE) / 2))


def _comparison(
    difference: float,
    low: float,
    high: float,
    n: int,
    values_C: np.ndarray,
    margin: float,
    found: _Estimate,
    pseudo: Sequence[float],
) -> Comparison:
    clusters = len(values_C)
    needed_n = None
    if clusters > 1:
        needed_n = ceil(needed_clusters(float(values_C.std(ddof=1)), margin, pseudo) * n / clusters)
    chance = _power(margin / found.error, found.df) if found.df and found.error else float(found.df > 0)
    said = verdict(low, high, margin)
    return Comparison(difference, low, high, n, clusters, margin, found.detectable, needed_n, chance, said)


def power(difference: float, spread: float, clusters: int) -> float:
    """Probability that the 95% interval of `clusters` paired differences lies on the right side of 0.

    `difference` is the true one, `spread` the standard deviation of one cluster's difference (a noncentral t).
    """
    if clusters < 2 or spread <= 0:
        raise ValueError(f"power needs at least 2 clusters and a spread above 0, got {clusters} and {spread}")
    return _power(abs(difference) * clusters**0.5 / spread, clusters - 1)


def _power(shift: float, df: int) -> float:
    """The upper tail beyond the quantile, where the truth lies `shift` standard errors from 0."""
    return float(1 - nctdtr(df, shift, _quantile(df)))


def needed_clusters(spread: float, margin: float, pseudo: Sequence[float] = ()) -> int:
    """How many clusters show two equal arms to be equivalent within ±margin with a power of 0.8.

    The interval must lie inside ±margin, so the estimate may stray by margin − half: t(0.975) + t(0.9) standard errors
    make a margin. A true difference of a whole margin is then found with more than that power. `spread` is the standard
    deviation of the clusters' own differences. The comparison adds the `pseudo` values, whose sum is 0, however many
    clusters there are: they need not be run, and weigh less the more clusters stand beside them. The variance of C
    clusters with p such values is ((C − 1) · spread² + Σ pseudo²) / (C + p − 1).
    """
    if margin <= 0 or spread < 0:
        raise ValueError(f"margin must be above 0 and spread at least 0, got {margin} and {spread}")
    added = sum(value**2 for value in pseudo)

    def enough(clusters: int) -> bool:
        values = clusters + len(pseudo)
        error = (((clusters - 1) * spread**2 + added) / (values - 1) / values) ** 0.5
        return (_quantile(values - 1) + stdtrit(values - 1, (1 + POWER) / 2)) * error <= margin

    high = 2
    while not enough(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def tost(a: Sequence[float], b: Sequence[float], clusters: Sequence[Hashable], margin: float) -> float:
    """p of two one-sided tests that the means of `a` and `b`, values in [0, 1], differ by `margin` or more (Schuirmann 1987).

    The larger of the two, on the clustered estimate with its pseudo-clusters. Below (1 − 0.95) / 2 = 0.025 the 95%
    interval lies within ±margin: stricter than the usual 90% interval, so that one interval carries every verdict.
    """
    ones = [1.0] * len(a)
    _, _, values_C = _differences(a, ones, b, ones, clusters, margin)
    found = _estimate(values_C, _DIFFERENCE)
    return float(max(stdtr(found.df, (side * found.centre - margin) / found.error) for side in (1, -1)))


@dataclass(frozen=True, slots=True)
class Mcnemar:
    """Discordant cases (`gains`: a alone right, `losses`: b alone) and the exact two-sided p that they are even.

    The test takes cases to be independent. With `clustered` they are not (several cases of one source task): p is then
    too small, and the clustered interval decides.
    """

    __pydantic_config__ = RECORD

    gains: int
    losses: int
    p: float
    clustered: bool


def mcnemar(a: Sequence[bool], b: Sequence[bool], clusters: Sequence[Hashable]) -> Mcnemar:
    """The exact test of paired yes or no outcomes, such as full credit (McNemar 1947; CAR)."""
    gains = sum(x and not y for x, y in zip(a, b, strict=True))
    losses = sum(y and not x for x, y in zip(a, b, strict=True))
    p = min(1.0, 2 * float(bdtr(min(gains, losses), gains + losses, 0.5))) if gains + losses else 1.0
    return Mcnemar(gains, losses, p, len(set(clusters)) < len(clusters))


def bootstrap(
    a: Sequence[float], b: Sequence[float], clusters: Sequence[Hashable], draws: int = 2000, seed: int = 0
) -> tuple[float, float]:
    """95% percentile interval of the paired difference in means, whole clusters resampled (Efron and Tibshirani 1993, 13).

    A second opinion for many clusters: it collapses to a point where no case differs, and is narrow where few do.
    """
    index = {cluster: place for place, cluster in enumerate(dict.fromkeys(clusters))}
    place_N = np.array([index[cluster] for cluster in clusters])
    sums_C = np.bincount(place_N, weights=np.asarray(a, dtype=float) - np.asarray(b, dtype=float))
    sizes_C = np.bincount(place_N)
    drawn_DC = np.random.default_rng(seed).integers(len(index), size=(draws, len(index)))
    means_D = sums_C[drawn_DC].sum(1) / sizes_C[drawn_DC].sum(1)
    low, high = np.quantile(means_D, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)
