"""What the trainers read, and the order in which they do."""

from __future__ import annotations

import random
from collections import Counter

import pytest

pytest.importorskip("torch")

from intentfold.records import RecordError
from intentfold.training.data import DataError, StepOrder, load_episodes, load_examples, with_privileged
from tests.tiny import tiny_dataset, tiny_examples, tiny_traces


def test_reads_what_mining_and_construction_write(tmp_path):
    assert load_examples(tiny_dataset(tmp_path / "data"), "train") == tiny_examples()
    assert len(load_episodes(tiny_traces(tmp_path / "traces"), "dev")) == 2


def test_missing_empty_and_malformed_datasets_are_named(tmp_path):
    folder = tiny_dataset(tmp_path)
    with pytest.raises(DataError, match=r"test\.jsonl: no such file"):
        load_examples(folder, "test")
    (folder / "test.jsonl").write_text("")
    with pytest.raises(DataError, match=r"test\.jsonl: the dataset is empty"):
        load_examples(folder, "test")
    with (folder / "dev.jsonl").open("a") as file:
        file.write('{"version": 1}\n')
    with pytest.raises(RecordError, match=r"dev\.jsonl:4: .*messages"):
        load_examples(folder, "dev")


def test_privileged_rows_make_up_their_share():
    rows = with_privileged(300, 0.25, random.Random(0))
    assert Counter(privileged for _, privileged in rows) == {False: 300, True: 100}
    assert {row for row, privileged in rows if not privileged} == set(range(300))
    with pytest.raises(ValueError, match=r"privileged_share must be in \[0, 0\.5\], got 0\.7"):
        with_privileged(3, 0.7, random.Random(0))


def test_every_row_comes_once_an_epoch():
    order = list(StepOrder([[n] for n in range(64)], [1] * 64, side_by_side=4, step_rows=8, steps=16, seed=0))
    assert sorted(order[:64]) == list(range(64))
    assert sorted(order[64:]) == list(range(64))
    assert order[:64] != order[64:]


def test_rows_side_by_side_are_of_like_length_and_steps_are_mixed():
    rng = random.Random(0)
    lengths = [rng.randrange(50, 250) for _ in range(512)]

    def padded(order: list[int], size: int) -> float:
        groups = [[lengths[row] for row in order[start : start + size]] for start in range(0, len(order), size)]
        return sum(max(group) * size for group in groups) / sum(map(sum, groups))

    order = list(StepOrder([[n] for n in range(len(lengths))], lengths, side_by_side=8, step_rows=16, steps=32, seed=0))
    assert padded(order, 8) < 1.1 < padded(rng.sample(range(512), 512), 8)
    means = [sum(lengths[row] for row in order[start : start + 128]) / 128 for start in range(0, 512, 128)]
    assert max(means) - min(means) < 30


def test_order_depends_on_the_seed_alone():
    def order(seed: int) -> list[int]:
        return list(StepOrder([[n] for n in range(40)], list(range(40)), 2, 4, 9, seed))

    assert order(1) == order(1) != order(2)
