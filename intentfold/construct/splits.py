"""Splits by origin (design D7): one origin is never parted, whole families can be held out."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from intentfold.records import content_hash
from intentfold.trace import Split

SHARES: tuple[tuple[Split, float], ...] = (("train", 0.8), ("dev", 0.1), ("test", 0.1))


# The papers' named pools (IntentFlux, section 3.2). Those of executable tasks are ranges of the origin's place; the interactive
# one has all tasks that only a judge can grade, and no other: no two can overlap.
POOLS: dict[str, tuple[float, float]] = {
    "calibration": (0.0, 0.45),
    "training": (0.45, 0.85),
    "general_test": (0.85, 1.0),
}
INTERACTIVE_POOL = "interactive_test"


def split_of(origin: str, family: str, held_out: Sequence[str] = (), shares: Sequence[tuple[Split, float]] = SHARES) -> Split:
    """The split of an origin: a fixed function of family and origin, so that every build agrees.

    Each family is cut at the same shares, so the split is stratified by family.
    """
    if family in held_out:
        return "held_out_family"
    place = _place("split", family, origin)
    edge = 0.0
    for split, share in shares:
        edge += share
        if place < edge:
            return split
    return shares[-1][0]


def in_pool(origin: str, family: str, pool: str) -> bool:
    """Whether the origin belongs to one of the named pools of executable tasks; raises KeyError for an unknown pool."""
    low, high = POOLS[pool]
    return low <= _place("pool", family, origin) < high


def _place(what: str, family: str, origin: str) -> float:
    return int(content_hash(f"{what}/{family}/{origin}"), 16) / 16**16


def check_pool(pool: str | None, tasks: int, families: Collection[str]) -> None:
    """Raise `ValueError` for a pool that there is not, one that cannot hold the built-in `families`, or a size of none."""
    pools = sorted({*POOLS, INTERACTIVE_POOL})
    if pool is not None and pool not in pools:
        raise ValueError(f"pool must be one of {pools}, got {pool!r}")
    if pool == INTERACTIVE_POOL and families:
        raise ValueError(f"families: code grades all of {sorted(families)}, and {INTERACTIVE_POOL} holds none such")
    if tasks and pool is None:
        raise ValueError(f"pool_tasks: {tasks} tasks of which pool? `pool` is not given")
