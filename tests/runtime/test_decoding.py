"""Decoding with shared beginnings gives what each row gives alone."""

from __future__ import annotations

import random

import pytest

torch = pytest.importorskip("torch")

from intentfold import models  # noqa: E402
from intentfold.runtime.decoding import continuations, greedy, shared_prefix  # noqa: E402
from tests.tiny import tiny_model  # noqa: E402


def test_families_change_nothing(tmp_path):
    model, _ = models.load(tiny_model(tmp_path), dtype="float64")
    rng = random.Random(0)
    trunks = [[rng.randrange(3, 250) for _ in range(length)] for length in (12, 5)]
    rows = [[*trunks[n % 2], *(rng.randrange(3, 250) for _ in range(1 + n))] for n in range(6)]
    alone = [continuations(model, [row], [[0]], 9, {2}, greedy)[0] for row in rows]
    assert continuations(model, rows, [[0, 2, 4], [1, 3, 5]], 9, {2}, greedy) == alone
    assert continuations(model, rows, [range(6)], 9, {2}, greedy) == alone
    naive = model.generate(torch.tensor([rows[0]]), max_new_tokens=9, do_sample=False, pad_token_id=2)[0, len(rows[0]) :].tolist()
    assert alone[0] == naive[: len(alone[0])]


def test_a_row_ends_with_its_stop_token(tmp_path):
    model, _ = models.load(tiny_model(tmp_path), dtype="float32")
    free = continuations(model, [[5, 6]], [[0]], 8, set(), greedy)[0]
    assert len(free) == 8
    stopped = continuations(model, [[5, 6], [7, 8]], [[0], [1]], 8, {free[3]}, greedy)[0]
    assert stopped == free[: free.index(free[3]) + 1]


@pytest.mark.parametrize(
    ("rows", "shared"),
    [([[1, 2, 3], [1, 2, 4]], 2), ([[1, 2], [1, 2, 3]], 1), ([[1, 2], [1, 2]], 1), ([[1], [1, 2]], 0), ([[5, 6], [1, 6]], 0)],
)
def test_what_is_shared_leaves_every_row_a_token(rows, shared) -> None:
    assert shared_prefix(rows) == shared
