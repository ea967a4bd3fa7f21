"""Decoding on a tree of prompts, wave by wave, gives what each prompt gives alone."""

# ruff: noqa: E402
from __future__ import annotations

import random

import pytest

torch = pytest.importorskip("torch")

from intentfold import models
from intentfold.runtime.decoding import continuations, greedy
from intentfold.training.tree_decoding import TreeDecoder
from tests.tiny import tiny_model


@pytest.fixture
def model(tmp_path):
    return models.load(tiny_model(tmp_path), dtype="float64")[0].eval()


def turns(rng, trunk, forks):
    return [[*trunk[:fork], *(rng.randrange(3, 250) for _ in range(rng.randint(1, 9)))] for fork in forks]


def test_waves_of_dialogues_change_nothing(model):
    rng = random.Random(0)
    start = [rng.randrange(3, 250) for _ in range(6)]
    trunks = [[*start, *(rng.randrange(3, 250) for _ in range(60))] for _ in range(2)]
    waves = [
        (turns(rng, trunks[0], (8, 30)) + turns(rng, trunks[1], (9, 20, 33)), [0, 0, 1, 1, 1]),
        (turns(rng, trunks[1], (40,)) + turns(rng, trunks[0], (30, 50)), [1, 0, 0]),
    ]
    free = [continuations(model, [row], [[0]], 9, set(), greedy)[0] for row in waves[0][0]]
    stop = {free[1][3], free[4][0]}  # so that some rows leave early, one at once
    decoder = TreeDecoder(model, 9, stop, greedy)
    apart = computed = 0
    for rows, groups in waves:
        alone = [continuations(model, [row], [[0]], 9, stop, greedy)[0] for row in rows]
        assert decoder.write(rows, groups) == alone
        apart += sum(len(row) + len(said) - 1 for row, said in zip(rows, alone, strict=True))
        assert decoder.apart == apart
        assert computed < decoder.computed < apart
        computed = decoder.computed
    longest = 33 + 30 + 40 + 50 - 30 - 33 - 6  # of each trunk what was read of it, the common start once
    branches = sum(len(row) for rows, _ in waves for row in rows) - sum((8, 30, 9, 20, 33, 40, 30, 50))
    written = apart - sum(len(row) - 1 for rows, _ in waves for row in rows)
    assert computed == 50 + 40 - 6 + branches - 8 + written, longest


def test_prompts_known_already_are_asked_again(model):
    rng = random.Random(1)
    prompt = [rng.randrange(3, 250) for _ in range(12)]
    decoder = TreeDecoder(model, 4, set(), greedy)
    [once] = decoder.write([prompt], [0])
    assert decoder.write([prompt, prompt[:5], prompt], [0, 0, 0])[0::2] == [once, once]
    assert decoder.computed == 11 + 4 + 3 * 4


def test_choices_belong_to_their_rows(model):
    rows = [[5, 6, 7], [5, 6, 8, 9], [5, 4]]

    def by_place(logits_BV, places):
        return torch.tensor([10 + place for place in places])

    decoder = TreeDecoder(model, 3, {11}, by_place)
    assert decoder.write(rows, [1, 0, 1]) == [[10, 10, 10], [11], [12, 12, 12]]
