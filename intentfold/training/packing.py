"""Rows that begin alike, computed together: the shared beginning once, then each row's own part (design D5).

The rows of a batch stand side by side as one run of tokens, a trie laid flat: a dialogue's turns leave its trunk each at
its own place, other turns from one state and questions about one output at the same. A token sees what stands before it in
its row, and its position is that in its row, so that every row's hidden states are those that it has alone (test: equal loss
and gradients).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from transformers.utils import logging

from intentfold.runtime.decoding import shared_prefix
from intentfold.training.segments import Segment, Segments, attend_by_segments, ranges, segmentable

logger = logging.get_logger(__name__)


@dataclass(frozen=True)
class Row:
    """A prompt and its completion as one run of ids; the first `prompt` of them are the prompt."""

    ids: Sequence[int]
    prompt: int


class Trie:
    """Where the tokens of rows lie, those that rows begin with alike at the same place; `size` places are taken."""

    def __init__(self) -> None:
        self.size = 0
        self._after: dict[tuple[int, int], int] = {}

    def add(self, ids: Sequence[int]) -> list[int]:
        """The places of a row's tokens, rising; those that were not there are the next free ones."""
        path: list[int] = []
        last = -1
        for id in ids:
            place = self._after.get((last, id))
            if place is None:
                place = self._after[last, id] = self.size
                self.size += 1
            path.append(place)
            last = place
        return path


@dataclass(frozen=True)
class Laid:
    """T tokens that a trie had not held, their positions in their rows, what they see, and the places of every row's tokens."""

    ids_1T: torch.Tensor
    positions_1T: torch.Tensor
    parts: list[Segment]
    paths: list[list[int]]


def lay(trie: Trie, rows: Sequence[Sequence[int]], device: torch.device | str = "cpu") -> Laid:
    """Add rows to a trie."""
    ids: list[int] = []
    positions: list[int] = []
    parts: list[Segment] = []
    paths: list[list[int]] = [[] for _ in rows]
    # The longest row first: it lays down the trunk in one piece.
    for place in sorted(range(len(rows)), key=lambda place: (-len(rows[place]), place)):
        size, row = trie.size, rows[place]
        path = paths[place] = trie.add(row)
        own = trie.size - size
        if own:
            ids += row[-own:]
            positions += range(len(row) - own, len(row))
            mask_MN = torch.ones(own, len(row), dtype=torch.bool, device=device).tril(len(row) - own)
            parts.append(Segment(own, ranges(path), None if own == len(row) else mask_MN))
    return Laid(torch.tensor([ids], device=device), torch.tensor([positions], device=device), parts, paths)


@dataclass(frozen=True)
class Packed:
    """B sequences of T places for N completion tokens, row after row: one sequence by `segments`, or without them one a row.

    `before_N` are the places in the flattened (B * T) from which the completion tokens `labels_N` are predicted.
    `apart` is how many tokens the rows have one by one, `computed` how many of them are computed.
    """

    ids_BT: torch.Tensor
    positions_BT: torch.Tensor
    segments: Segments | None
    before_N: torch.Tensor
    labels_N: torch.Tensor
    computed: int
    apart: int


def families(rows: Sequence[Row]) -> list[list[int]]:
    """Runs of neighbouring rows that cost fewer tokens with one common trunk than apart, as places in `rows`."""
    found: list[list[int]] = []
    trunk = 0
    for place, row in enumerate(rows):
        if found:
            family = found[-1]
            first = rows[family[0]]
            shared = min(shared_prefix([first.ids, row.ids]), first.prompt - 1, row.prompt - 1)
            if len(family) > 1:
                shared = min(shared, trunk)
            # A shorter trunk costs the members that it has; sharing a mere template is not worth a longer sequence.
            lost = len(family) * (trunk - shared) if len(family) > 1 else row.prompt // 4
            if shared > lost:
                family.append(place)
                trunk = shared
                continue
        found.append([place])
    return found


def pack(rows: Sequence[Row], model: torch.nn.Module) -> Packed:
    """The rows as the model takes them: as one run, or one beside the other where its layers cannot see by segments."""
    device = next(model.parameters()).device
    if not segmentable(model):
        logger.warning_once(
            f"{type(model).__name__}: its layers keep a running state, see a window of tokens, or attend by another "
            "implementation than eager or sdpa; what rows begin with alike is computed for each of them"
        )
        return side_by_side(rows, device)
    laid = lay(Trie(), [row.ids for row in rows], device)
    before = [path[at] for row, path in zip(rows, laid.paths, strict=True) for at in range(row.prompt - 1, len(row.ids) - 1)]
    return Packed(
        laid.ids_1T,
        laid.positions_1T,
        Segments(laid.parts),
        torch.tensor(before, device=device),
        torch.tensor([id for row in rows for id in row.ids[row.prompt :]], device=device),
        laid.ids_1T.numel(),
        sum(len(row.ids) for row in rows),
    )


def side_by_side(rows: Sequence[Row], device: torch.device | str = "cpu") -> Packed:
    """The rows one by one, padded behind."""
    longest = max(len(row.ids) for row in rows)
    before = [place * longest + where - 1 for place, row in enumerate(rows) for where in range(row.prompt, len(row.ids))]
    count = sum(len(row.ids) for row in rows)
    return Packed(
        torch.tensor([[*row.ids, *[0] * (longest - len(row.ids))] for row in rows], device=device),
        torch.arange(longest, device=device).expand(len(rows), -1),
        None,
        torch.tensor(before, device=device),
        torch.tensor([id for row in rows for id in row.ids[row.prompt :]], device=device),
        count,
        count,
    )


def packed_hidden(model: torch.nn.Module, packed: Packed) -> torch.Tensor:
    """(N, H) last hidden states from which the N completion tokens are predicted, row after row.

    `model` is the body without its head.
    """
    inputs = {"input_ids": packed.ids_BT, "position_ids": packed.positions_BT, "use_cache": False}
    # Padding stands behind a row: none of its tokens sees it.
    output = model(**inputs) if packed.segments is None else attend_by_segments(model, packed.segments, **inputs)
    return output.last_hidden_state.flatten(0, 1)[packed.before_N]
