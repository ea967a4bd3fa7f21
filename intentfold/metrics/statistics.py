"""Clustered intervals and paired comparisons that stay honest at small n and at zero disagreement (design D10).

One estimator for everything: a mean or a ratio of sums over cases, with its cluster-robust variance by
linearisation (Liang and Zeger 1986; for evaluations: Miller 2024, "Adding Error Bars to Evals", sections 2.2 and 4).
Each cluster (all cases of one source task) becomes one pseudo-value whose mean is the estimate. To these, two or four
pseudo-clusters are added before mean and variance are taken, so that the interval never collapses: for a
proportion two at 1 and two at 0 (Agresti and Coull 1998), for a paired difference one at +1 and one at -1 (Bonett and
Price 2012, "Adjusted Wald confidence interval for a difference of binomial proportions based on paired data").
The quantile is Student's, with one degree of freedom less than there are clusters, pseudo-clusters among them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import stdtrit

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

    `mde` is the difference that a comparison as noisy as this one detects with a power of 0.8. `verdict` is the
    first of these that holds: superior (low > 0), equivalent (the interval within ±margin), non-inferior
    (low > −margin), inferior (high < 0), inconclusive.
    """

    __pydantic_config__ = RECORD

    mean: float
    low: float
    high: float
    n: int
    clusters: int
    margin: float
    mde: float
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
        centre, half, _ = _spread(values_C, _PROPORTION)
        low, high = max(0.0, centre - half), min(1.0, centre + half)
    else:
        centre, half, _ = _spread(values_C, ())
        low, high = centre - half, centre + half
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
    sizes = {len(numerators_a), len(denominators_a), len(numerators_b), len(denominators_b), len(clusters)}
    if len(sizes) > 1:
        raise ValueError(f"a, b and clusters must be of one length, got {sorted(sizes)}")
    if margin <= 0:
        raise ValueError(f"margin must be above 0, got {margin}")
    if sum(denominators_a) == 0 or sum(denominators_b) == 0:
        raise ValueError("nothing to compare: the denominators sum to 0")
    ratio_a, values_a = _pseudo_values(numerators_a, denominators_a, clusters)
    ratio_b, values_b = _pseudo_values(numerators_b, denominators_b, clusters)
    centre, half, mde = _spread(values_a - values_b, _DIFFERENCE)
    difference = ratio_a - ratio_b
    low, high = min(difference, max(-1.0, centre - half)), max(difference, min(1.0, centre + half))
    return Comparison(difference, low, high, len(clusters), len(values_a), margin, mde, verdict(low, high, margin))


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
    centre, half, _ = _spread(values_C, _PROPORTION)
    mean = float(values_C.mean())
    return Interval(mean, min(mean, max(0.0, centre - half)), max(mean, min(1.0, centre + half)), len(clusters), len(values_C))


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
    centre, half, mde = _spread(values_C, _DIFFERENCE)
    mean = float(values_C.mean())
    low, high = min(mean, max(-1.0, centre - half)), max(mean, min(1.0, centre + half))
    return Comparison(mean, low, high, len(clusters), len(values_C), margin, mde, verdict(low, high, margin))


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


def _spread(values_C: np.ndarray, pseudo: Sequence[float]) -> tuple[float, float, float]:
    """Centre, half width of the interval, and minimum detectable effect, with pseudo-clusters added."""
    values = np.concatenate([values_C, pseudo])
    if len(values) < 2:
        return float(values[0]), float("inf"), float("inf")
    error = float(values.std(ddof=1)) / len(values) ** 0.5
    quantile, powered = stdtrit(len(values) - 1, [(1 + CONFIDENCE) / 2, POWER])
    return float(values.mean()), float(quantile * error), float((quantile + powered) * error)
