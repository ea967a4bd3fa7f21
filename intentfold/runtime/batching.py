"""Which rows to compute together: those that begin alike stay side by side, and batches are of like length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from intentfold.runtime.decoding import shared_prefix

Rows = Sequence[Sequence[Any]]


def batches(rows: Rows, size: int) -> list[list[int]]:
    """Places of the rows (token ids, or characters) in batches of at most `size`, short rows first.

    A family of at most `size` rows is not cut: what it begins with is computed once.
    """
    found: list[list[int]] = [[]]
    for family in sorted(families(rows), key=lambda some: (max(len(rows[place]) for place in some), some)):
        if len(found[-1]) + len(family) > size >= len(family):
            found.append([])
        for place in family:
            if len(found[-1]) == size:
                found.append([])
            found[-1].append(place)
    return [batch for batch in found if batch]


def families(rows: Rows) -> list[list[int]]:
    """Places of rows that share a beginning of at least half of the longest of them; short rows first in each."""
    found: list[list[int]] = []
    trunk = longest = 0
    for place in sorted(range(len(rows)), key=lambda place: cast(Any, rows[place])):
        row = rows[place]
        if found:
            shared = min(trunk, _alike(rows[found[-1][-1]], row))
            if 2 * shared >= max(longest, len(row)):
                found[-1].append(place)
                trunk, longest = shared, max(longest, len(row))
                continue
        found.append([place])
        trunk = longest = len(row)
    return [sorted(family, key=lambda place: (len(rows[place]), place)) for family in found]


def cheapest(rows: Sequence[Sequence[int]]) -> list[list[int]]:
    """The families of one batch, or the whole batch as one: whichever computes fewer tokens, padding included."""
    return min(([list(range(len(rows)))], families(rows)), key=lambda some: _tokens(rows, some))


def _tokens(rows: Sequence[Sequence[int]], some: Sequence[Sequence[int]]) -> int:
    """As `decoding.continuations` computes them before it decodes: trunks, then what each row has of its own."""
    trunks = [shared_prefix([rows[place] for place in family]) if len(some) < len(rows) else 0 for family in some]
    own = max(len(rows[place]) - trunk for family, trunk in zip(some, trunks, strict=True) for place in family)
    return len(some) * max(trunks) + len(rows) * own


def _alike(a: Sequence[Any], b: Sequence[Any]) -> int:
    return next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
