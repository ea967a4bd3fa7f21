"""What the tokens of a step weigh: each line by the operation that it folds to, each row by how it came out.

A weighted loss is sum(w d) / sum(w) over the tokens of an optimizer step, on all ranks and in all micro-batches. Weights are
therefore scaled to a mean of 1 once a step (`mean_one`), and the loss stays a sum over the number of tokens, as
TRL has it: with all weights 1 it is what it is without them, bit for bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

import torch
from torch.nn.utils.rnn import pad_sequence

from intentfold.codec.edits import LineOperation
from intentfold.training.arguments import RowOutcome

OPERATIONS: tuple[LineOperation, ...] = get_args(LineOperation)


@dataclass(frozen=True)
class Reading:
    """How a sampled row came out, and what each of its lines folds to (nothing where the output is no list of edits)."""

    outcome: RowOutcome
    operations: Sequence[LineOperation] = ()


@dataclass(frozen=True)
class Weighting:
    """Weights by operation and by outcome, 1 where not named; a token's is the product of its line's and its row's."""

    operations: Mapping[LineOperation, float] = field(default_factory=dict)
    outcomes: Mapping[RowOutcome, float] = field(default_factory=dict)

    def columns(
        self, tokenizer: Any, completions: Sequence[Sequence[int]], readings: Sequence[Reading]
    ) -> dict[str, torch.Tensor]:
        """(B, C) `operations` of the completions' tokens (places in `OPERATIONS`, -1 for none) and their `weights`."""
        operations, weights = [], []
        for ids, reading in zip(completions, readings, strict=True):
            places = token_operations(tokenizer, ids, reading.operations)
            row = self.row(reading)
            operations.append(torch.tensor(places))
            weights.append(torch.tensor([row * self.of(place) for place in places]))
        return {
            "operations": pad_sequence(operations, batch_first=True, padding_value=-1),
            "weights": pad_sequence(weights, batch_first=True),
        }

    def row(self, reading: Reading) -> float:
        """The weight of a row by its outcome."""
        return self.outcomes.get(reading.outcome, 1.0)

    def of(self, place: int) -> float:
        """The weight of the operation at a place in `OPERATIONS`, 1 for none."""
        return 1.0 if place < 0 else self.operations.get(OPERATIONS[place], 1.0)


EVEN = Weighting()


def token_operations(tokenizer: Any, ids: Sequence[int], operations: Sequence[LineOperation]) -> list[int]:
    """The place in `OPERATIONS` of what each token's line folds to; -1 throughout where there are no `operations`.

    A line feed belongs to the line that it ends, a token that goes beyond it to the line in which it begins, and the stop
    token to the last line: whether to write on is decided there.
    """
    places = [OPERATIONS.index(operation) for operation in operations] or [-1]
    found, line = [], 0
    for text in tokenizer.batch_decode([[id] for id in ids], skip_special_tokens=True):
        found.append(places[min(line, len(places) - 1)])
        line += text.count("\n")
    return found


def mean_one(weights: torch.Tensor, total: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
    """`weights` scaled so that the step's `count` tokens, whose weights sum to `total`, weigh 1 on average.

    Where all weigh nothing they stay 0: such a step teaches nothing.
    """
    return weights * (count / total) if total > 0 else weights
