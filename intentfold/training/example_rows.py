"""Mined examples as the rows of on-policy distillation: a checker's judgements, a learner's steps (design D3, D5).

Nothing rolls forward from one to the next. Examples that share an output stand side by side: their trunk is computed once.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch.utils.data import Sampler

from intentfold.codec.verdict import decode_verdict
from intentfold.dialogue import to_messages
from intentfold.example import Example
from intentfold.prompts.templates import Role
from intentfold.training.data import endless, load_examples
from intentfold.training.preflight import check_one_template, check_size
from intentfold.training.row_source import Supply
from intentfold.training.weighting import Reading


@dataclass(frozen=True, slots=True)
class AskedExample:
    """The example at `place` of its dataset."""

    example: Example
    place: int

    @property
    def name(self) -> str:
        """History and exchange, and the place: several questions are about one output."""
        where = self.example.provenance
        return f"{where.episode}:{where.turn} (row {self.place})"

    @property
    def shared(self) -> tuple[str, int]:
        """What examples with the same trunk have in common: history and exchange."""
        return self.example.provenance.episode, self.example.provenance.turn

    def prompt(self) -> list[dict[str, str]]:
        """The student's messages, and the runtime's."""
        return to_messages(self.example.messages)

    def privileged_prompt(self) -> list[dict[str, str]]:
        """The same with the right answer in it."""
        return to_messages(self.example.privileged)

    def completion(self) -> str:
        """The right answer."""
        return self.example.completion

    def exact(self, output: str) -> bool:
        """Whether an output is right: of a judgement its verdict, else every word."""
        if self.example.provenance.codec != "verdict":
            return output.strip() == self.completion()
        right, said = decode_verdict(self.completion()), decode_verdict(output)
        return right is not None and said is not None and right.verdict == said.verdict


class GroupOrder(Sampler[int]):
    """Places of examples, `rows` a step, each step's `repeat` times over; the `groups` in a seeded order without end.

    A group that does not fit into a step is finished in the next.
    """

    def __init__(self, groups: Sequence[Sequence[int]], rows: int, steps: int, repeat: int, seed: int) -> None:
        self.groups, self.rows, self.steps, self.repeat, self.seed = groups, rows, steps, repeat, seed

    def __len__(self) -> int:
        return self.rows * self.steps * self.repeat

    def __iter__(self) -> Iterator[int]:
        order = endless(len(self.groups), random.Random(f"{self.seed}/groups"))
        waiting: list[int] = []
        for _ in range(self.steps):
            while len(waiting) < self.rows:
                waiting += self.groups[next(order)]
            step, waiting = waiting[: self.rows], waiting[self.rows :]
            for _ in range(self.repeat):
                yield from step


class ExampleRows:
    """Examples as rows; the student's outputs are compared with the right ones and lead nowhere."""

    whole_dialogues = False

    def __init__(self, examples: Sequence[Example]) -> None:
        self.asked = [AskedExample(example, place) for place, example in enumerate(examples)]

    def rows(self) -> list[dict[str, int]]:
        """One row an example: its place."""
        return [{"example": one.place} for one in self.asked]

    def order(self, rows: int, steps: int, repeat: int, seed: int) -> GroupOrder:
        """Examples that share an output side by side."""
        groups: dict[tuple[str, int], list[int]] = {}
        for one in self.asked:
            groups.setdefault(one.shared, []).append(one.place)
        return GroupOrder(list(groups.values()), rows, steps, repeat, seed)

    def begin(self, rows: Sequence[dict[str, Any]], step: int, rank: int) -> list[AskedExample]:
        """The examples of the rows."""
        return [self.asked[row["example"]] for row in rows]

    def more(self) -> list[AskedExample]:
        """Nothing: no example waits for another."""
        return []

    def together(self, asked: Sequence[AskedExample]) -> list[int]:
        """Those that share an output have one number."""
        numbers: dict[tuple[str, int], int] = {}
        return [numbers.setdefault(one.shared, len(numbers)) for one in asked]

    def from_oracle(self, asked: AskedExample) -> AskedExample:
        """The same: the student has written nothing of a prompt."""
        return asked

    def readings(self, asked: Sequence[AskedExample], outputs: Sequence[str]) -> list[Reading]:
        """A judgement is exact with the right verdict, whatever its reason; anything else with the right words."""
        return [Reading("exact" if one.exact(output) else "wrong") for one, output in zip(asked, outputs, strict=True)]

    def finish(self, asked: Sequence[AskedExample], outputs: Sequence[str]) -> dict[str, list[float]]:
        """Whether each output is the right one; of judgements also whether the verdict is, and whether it was read."""
        pairs = list(zip(asked, outputs, strict=True))
        seen = {"exact": [float(output.strip() == one.completion()) for one, output in pairs]}
        if all(one.example.provenance.codec == "verdict" for one in asked):
            seen["right_verdict"] = [float(one.exact(output)) for one, output in pairs]
            seen["not_assessed"] = [float(decode_verdict(output) is None) for output in outputs]
        return seen

    def state(self) -> dict[str, Any]:
        """Nothing: a run goes on from the order alone."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Nothing to restore."""


def load_example_rows(folder: Path, least: int, role: Role) -> Supply:
    """A role's rows: split train of a dataset folder, the same one by one, and the examples of split dev.

    Raises `DataError` for a bad folder, `PreflightError` where they are for another role or template, or fewer than `least`.
    """
    examples, held = load_examples(folder, "train"), load_examples(folder, "dev")
    check_one_template([*examples, *held], role)
    check_size(len(examples), least, f"{folder}, split train")
    rows = ExampleRows(examples)
    return Supply(rows, rows.asked, ExampleRows(held).asked)
