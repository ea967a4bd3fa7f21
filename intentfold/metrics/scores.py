"""Scores over cases: mean score, CAR, coverage and IDG (IntentFlux, section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from intentfold.graders import Grade
from intentfold.metrics.statistics import MARGIN, Comparison, Interval, interval, paired


@dataclass(frozen=True, slots=True)
class Case:
    """One episode under one condition: its identity, the cluster (origin of the source task), and the grade."""

    id: str
    cluster: str
    grade: Grade


def mean_score(cases: Sequence[Case]) -> Interval | None:
    """The mean value over graded cases; meaningful within a fixed composition of tasks only. None where none is graded."""
    graded = [case for case in cases if case.grade.value is not None]
    return interval([case.grade.value or 0.0 for case in graded], [1.0] * len(graded), [case.cluster for case in graded])


def car(cases: Sequence[Case]) -> Interval | None:
    """The share of all cases with full task-native credit: an ungraded case earns none."""
    return interval([float(case.grade.full) for case in cases], [1.0] * len(cases), [case.cluster for case in cases])


def car_bounds(cases: Sequence[Case]) -> Interval | None:
    """CAR with the bounds that coverage implies: every ungraded case without, and with, full credit."""
    if not cases:
        return None
    full = sum(case.grade.full for case in cases) / len(cases)
    ungraded = sum(case.grade.value is None for case in cases) / len(cases)
    return Interval(full, full, full + ungraded, len(cases), len({case.cluster for case in cases}))


def coverage(cases: Sequence[Case]) -> Interval | None:
    """The share of cases that could be graded."""
    graded = [float(case.grade.value is not None) for case in cases]
    return interval(graded, [1.0] * len(cases), [case.cluster for case in cases])


def idg(clean: Sequence[Case], drift: Sequence[Case], margin: float = MARGIN) -> Comparison:
    """The intent-drift gap: case-paired clean − drift in full credit. The two must hold the same cases in the same order."""
    _same_cases(clean, drift)
    return paired(
        [float(case.grade.full) for case in clean],
        [float(case.grade.full) for case in drift],
        [case.cluster for case in clean],
        margin,
    )


def score_gain(a: Sequence[Case], b: Sequence[Case], margin: float) -> Comparison | None:
    """The paired difference a − b in mean score, over the cases that are graded in both. None where there are none."""
    _same_cases(a, b)
    both = [
        (one.grade.value, other.grade.value, one.cluster)
        for one, other in zip(a, b, strict=True)
        if one.grade.value is not None and other.grade.value is not None
    ]
    if not both:
        return None
    return paired([x for x, _, _ in both], [y for _, y, _ in both], [cluster for _, _, cluster in both], margin)


def _same_cases(a: Sequence[Case], b: Sequence[Case]) -> None:
    if [case.id for case in a] != [case.id for case in b]:
        raise ValueError("paired cases must be the same, in the same order")
