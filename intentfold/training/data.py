"""Reading what mining and construction left, and the order in which rows are trained on."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from torch.utils.data import Sampler

from intentfold.example import Example
from intentfold.records import read_jsonl
from intentfold.trace import Episode

T = TypeVar("T")


class DataError(ValueError):
    """A dataset that is missing, empty or too small; the message names the file."""


def load_examples(folder: Path, split: str) -> list[Example]:
    """The examples of one split of a dataset folder, as data_gen/mine_examples.py writes it."""
    return _read(folder / f"{split}.jsonl", Example)


def load_episodes(folder: Path, split: str) -> list[Episode]:
    """The episodes of one split of a folder of traces, as data_gen/build_traces.py writes it."""
    return _read(folder / f"{split}.jsonl", Episode)


def _read(path: Path, cls: type[T]) -> list[T]:
    if not path.is_file():
        raise DataError(f"{path}: no such file (a folder with <split>.jsonl files was expected)")
    records = read_jsonl(path, cls)
    if not records:
        raise DataError(f"{path}: the dataset is empty")
    return records


def with_privileged(count: int, share: float, rng: random.Random) -> list[tuple[int, bool]]:
    """(row, privileged) for every one of `count` rows, and once more, privileged, right after it for some of them.

    The privileged ones make up `share` of the result: what a frozen adapter needs to have seen to be a
    privileged self-teacher later (design D4).
    """
    if not 0.0 <= share <= 0.5:
        raise ValueError(f"privileged_share must be in [0, 0.5], got {share}")
    again = set(rng.sample(range(count), round(count * share / (1.0 - share))))
    return [(row, privileged) for row in range(count) for privileged in (False, True) if not privileged or row in again]


class StepOrder(Sampler[int]):
    """Rows in a seeded random order, one permutation an epoch, for `steps` optimizer steps of `step_rows` rows.

    `families` are rows that stay together: they share most of their prompt. Within a pool of a few steps families of
    like length are put side by side, `side_by_side` rows at a time (what all ranks take in one forward pass), and these
    groups are shuffled: little of a micro-batch is then padding, and a step still holds short and long ones.
    """

    POOL_STEPS = 8

    def __init__(
        self,
        families: Sequence[Sequence[int]],
        lengths: Sequence[int],
        side_by_side: int,
        step_rows: int,
        steps: int,
        seed: int,
    ) -> None:
        self.families, self.lengths = families, lengths
        self.side_by_side, self.step_rows, self.steps, self.seed = side_by_side, step_rows, steps, seed

    def __len__(self) -> int:
        return self.step_rows * self.steps

    def __iter__(self) -> Iterator[int]:
        rng = random.Random(f"{self.seed}/order")
        order = endless(len(self.families), rng)
        left: list[int] = []  # what of a family did not fit into the pool before
        for start in range(0, self.steps, self.POOL_STEPS):
            wanted = self.step_rows * min(self.POOL_STEPS, self.steps - start)
            drawn = [left]
            while sum(map(len, drawn)) < wanted:
                drawn.append(list(self.families[next(order)]))
            over = sum(map(len, drawn)) - wanted
            left = drawn[-1][len(drawn[-1]) - over :]
            drawn[-1] = drawn[-1][: len(drawn[-1]) - over]
            drawn.sort(key=lambda family: (max((self.lengths[row] for row in family), default=0), family))
            pool = [row for family in drawn for row in family]
            groups = [pool[place : place + self.side_by_side] for place in range(0, len(pool), self.side_by_side)]
            rng.shuffle(groups)
            for group in groups:
                yield from group


def endless(count: int, rng: random.Random) -> Iterator[int]:
    """Places below `count` in a random order, then in another, without end."""
    while True:
        yield from rng.sample(range(count), count)
