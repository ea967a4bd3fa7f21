"""Rows that begin alike stay together, and nothing is lost or doubled."""

from __future__ import annotations

import random

import pytest

from intentfold.runtime.batching import batches, cheapest, families

ROWS = ["b" * 90 + "1", "a" * 40 + "2", "b" * 90 + "3", "short", "a" * 40 + "4", "b" * 90 + "55"]


def test_rows_of_one_beginning_are_a_family() -> None:
    assert sorted(families(ROWS)) == [[0, 2, 5], [1, 4], [3]]
    # Half of the longest must be shared.
    assert len(families(["aaab", "aaacc"])) == 1
    assert len(families(["aab", "aacccc"])) == 2
    assert families([]) == []
    assert families(["a", "a"]) == [[0, 1]]


def test_batches_are_short_first_and_do_not_cut_a_family() -> None:
    assert batches(ROWS, 4) == [[3, 1, 4], [0, 2, 5]]
    # One that is larger than a batch is cut.
    assert batches(ROWS, 2) == [[3], [1, 4], [0, 2], [5]]
    assert batches([], 2) == []


@pytest.mark.parametrize("size", [1, 3, 8, 100])
def test_every_row_is_in_one_batch(size: int) -> None:
    rng = random.Random(size)
    rows = [[rng.randrange(2) for _ in range(rng.randrange(1, 30))] for _ in range(60)]
    found = batches(rows, size)
    assert sorted(place for batch in found for place in batch) == list(range(60))
    assert max(map(len, found)) <= size


def test_a_batch_is_split_where_that_computes_fewer_tokens() -> None:
    long = [[1] * 50 + [n, n] for n in (3, 4)] + [[2] * 50 + [n, n] for n in (3, 4)]
    # Two trunks of 50 and four rows of 2, against four rows of 52.
    assert cheapest(long) == [[0, 1], [2, 3]]
    # What all share is computed once: 6 and four rows of 2 or 3, against single rows of up to 9.
    unlike = [[9] * 6 + [n] * (2 + n % 2) for n in (1, 2, 3, 4)]
    assert cheapest(unlike) == [[0, 1, 2, 3]]
