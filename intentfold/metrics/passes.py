"""Success over repeated runs of tasks: Avg@k, Pass@k and Pass^k (VitaBench's metrics)."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb


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
