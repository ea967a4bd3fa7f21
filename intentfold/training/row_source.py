"""What on-policy distillation needs of the rows that it samples on, whatever they are (design D3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from torch.utils.data import Sampler

from intentfold.training.weighting import Reading


class Asked(Protocol):
    """One row: what the student is asked, what a privileged teacher is asked, and the right answer."""

    @property
    def name(self) -> str:
        """Where it comes from, for messages."""
        ...

    def prompt(self) -> list[dict[str, str]]:
        """The student's messages, and the runtime's."""
        ...

    def privileged_prompt(self) -> list[dict[str, str]]:
        """The same with the right answer in it."""
        ...

    def completion(self) -> str:
        """The right answer."""
        ...


A = TypeVar("A", bound=Asked)


class RowSource(Protocol[A]):
    """Where the rows of each step come from, on one rank; takes back what the student made of them.

    Dialogues rolled forward on the student's own states for a tracker (`rollouts.Rollout`; whole ones at once in
    `rollouts.Dialogues`), mined examples for the roles that have nothing to roll forward (`example_rows.ExampleRows`).
    """

    whole_dialogues: bool
    """Whether one of `rows()` is a whole dialogue, of which much is asked; else it is one thing to ask."""

    def rows(self) -> list[dict[str, int]]:
        """A row of plain numbers for each thing that can be asked: the trainer's dataset."""
        ...

    def order(self, rows: int, steps: int, repeat: int, seed: int) -> Sampler[int]:
        """Places in `rows()`: `rows` of them for each of `steps` steps, each step's `repeat` times over."""
        ...

    def begin(self, rows: Sequence[dict[str, Any]], step: int, rank: int) -> list[A]:
        """What is asked in a step, or first in it."""
        ...

    def more(self) -> list[A]:
        """What can be asked in this step now that the outputs so far are in (`finish`); empty at its end."""
        ...

    def together(self, asked: Sequence[A]) -> list[int]:
        """A number for each row of a step; neighbours of one number share most of their prompt and stay side by side."""
        ...

    def from_oracle(self, asked: A) -> A:
        """The same without anything that the student wrote, for a prompt that has grown too long."""
        ...

    def readings(self, asked: Sequence[A], outputs: Sequence[str]) -> list[Reading]:
        """How each output came out, and what its lines fold to: what it weighs depends on that."""
        ...

    def finish(self, asked: Sequence[A], outputs: Sequence[str]) -> dict[str, list[float]]:
        """Take the student's outputs; returns what happened, a number a row."""
        ...

    def state(self) -> dict[str, Any]:
        """What a run that goes on must know, as JSON data."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from `state`."""
        ...


@dataclass(frozen=True)
class Supply:
    """Everything a run samples on: the source, all that it can ask one by one, and held-out rows for the gate."""

    source: RowSource[Any]
    asked: Sequence[Asked]
    gate: Sequence[Asked]
