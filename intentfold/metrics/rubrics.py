"""VitaBench's native metrics: a trajectory earns its reward where every rubric is met; averages and passes over repeated runs."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

from intentfold.runtime.checker import Check


def met(check: Check) -> list[bool | None]:
    """By rubric, whether a checker found it met; None where its finding could not be read."""
    return [None if finding.verdict is None else finding.verdict == "met" for finding in check.findings]


def reward(rubrics: Sequence[bool | None]) -> float | None:
    """1 where all rubrics are met, else 0. None where one was not judged and none is known to fail (VitaBench's evaluator)."""
    if not rubrics:
        raise ValueError("a trajectory without rubrics has no reward")
    if False in rubrics:
        return 0.0
    return None if None in rubrics else 1.0


def rubric_score(rubrics: Sequence[bool | None]) -> float | None:
    """The share of the rubrics that is met: LiveAsset's satisfaction with weights of 1. None where one was not judged."""
    if not rubrics:
        raise ValueError("a trajectory without rubrics has no score")
    return None if None in rubrics else sum(map(bool, rubrics)) / len(rubrics)


def average(rewards: Sequence[Sequence[float]]) -> float:
    """Avg@k: the mean over tasks of the mean reward of their runs."""
    return sum(sum(runs) / len(runs) for runs in rewards) / len(rewards)


def pass_at(rewards: Sequence[Sequence[float]], k: int) -> float:
    """Pass@k: how often at least one of k runs of a task succeeds, over its n runs without bias: 1 − C(n − c, k) / C(n, k)."""
    return sum(1 - _share(len(runs) - _successes(runs), len(runs), k) for runs in rewards) / len(rewards)


def pass_all(rewards: Sequence[Sequence[float]], k: int) -> float:
    """Pass^k: how often all of k runs of a task succeed: C(c, k) / C(n, k)."""
    return sum(_share(_successes(runs), len(runs), k) for runs in rewards) / len(rewards)


def _successes(runs: Sequence[float]) -> int:
    return sum(value == 1.0 for value in runs)


def _share(chosen: int, runs: int, k: int) -> float:
    if not 1 <= k <= runs:
        raise ValueError(f"k must be from 1 to the number of runs, {runs}, got {k}")
    return comb(chosen, k) / comb(runs, k)
