"""Rows that begin alike, computed together: the shared beginning once, then each row's own part (design D5).

A packed sequence is a trunk and its branches side by side. A branch sees the trunk and itself, and its positions go on
from the trunk's, so that every row's hidden states are those that it has alone (test: equal loss and gradients).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from intentfold.runtime.decoding import shared_prefix


@dataclass(frozen=True)
class Row:
    """A prompt and its completion as one run of ids; the first `prompt` of them are the prompt."""

    ids: Sequence[int]
    prompt: int


@dataclass(frozen=True)
class Packed:
    """B packed sequences of T places for N completion tokens, row after row.

    `mask_B1TT` is True where a place (third axis) may look at another (fourth). `before_N` are the places in the
    flattened (B * T) from which the completion tokens `labels_N` are predicted.
    """

    ids_BT: torch.Tensor
    positions_BT: torch.Tensor
    mask_B1TT: torch.Tensor
    before_N: torch.Tensor
    labels_N: torch.Tensor


def families(rows: Sequence[Row]) -> list[list[int]]:
    """Runs of neighbouring rows that cost fewer tokens together than apart, as places in `rows`."""
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


def pack(rows: Sequence[Row], device: torch.device | str = "cpu", *, alike: bool = True) -> Packed:
    """The rows as one sequence a family; as one sequence a row where they are not to be taken as `alike`.

    A model with linear attention (`has_linear_attention`) heeds no mask between branches: for it rows are not alike.
    """
    together = families(rows) if alike else [[place] for place in range(len(rows))]
    sequences = [_sequence([rows[place] for place in family]) for family in together]
    longest = max(len(ids) for ids, *_ in sequences)
    ids_BT = torch.zeros(len(sequences), longest, dtype=torch.long)
    positions_BT = torch.zeros(len(sequences), longest, dtype=torch.long)
    branch_BT = torch.full((len(sequences), longest), -1, dtype=torch.long)
    before: list[int] = []
    labels: list[int] = []
    for place, (ids, positions, branches, predicting) in enumerate(sequences):
        ids_BT[place, : len(ids)] = torch.tensor(ids)
        positions_BT[place, : len(ids)] = torch.tensor(positions)
        branch_BT[place, : len(ids)] = torch.tensor(branches)
        before += [place * longest + where - 1 for where in predicting]
        labels += [ids[where] for where in predicting]
    # The trunk is branch 0. Padding (-1) sees itself alone: a row without anything to see would be NaN.
    same_BTT = branch_BT[:, :, None] == branch_BT[:, None, :]
    mask_BTT = (same_BTT | (branch_BT[:, None, :] == 0) & (branch_BT[:, :, None] > 0)).tril()
    return Packed(
        ids_BT.to(device),
        positions_BT.to(device),
        mask_BTT[:, None].to(device),
        torch.tensor(before, device=device),
        torch.tensor(labels, device=device),
    )


def packed_hidden(model: torch.nn.Module, packed: Packed) -> torch.Tensor:
    """(N, H) last hidden states from which the N completion tokens are predicted, row after row.

    `model` is the body without its head; its attention must take a 4-D mask (eager or sdpa).
    """
    blocked = torch.finfo(torch.float32).min
    mask_B1TT = torch.zeros(packed.mask_B1TT.shape, device=packed.ids_BT.device).masked_fill(~packed.mask_B1TT, blocked)
    output = model(
        input_ids=packed.ids_BT,
        attention_mask=mask_B1TT.to(next(model.parameters()).dtype),
        position_ids=packed.positions_BT,
        use_cache=False,
    )
    return output.last_hidden_state.flatten(0, 1)[packed.before_N]


def _sequence(rows: Sequence[Row]) -> tuple[list[int], list[int], list[int], list[int]]:
    """Ids, positions and branch of every place, and the places of completion tokens, row after row."""
    first = rows[0].ids
    # A prompt's last token predicts the completion's first: it belongs to the branch.
    trunk = min(min(shared_prefix([first, row.ids]), row.prompt - 1) for row in rows) if len(rows) > 1 else 0
    ids, positions, branches = list(first[:trunk]), list(range(trunk)), [0] * trunk
    predicting: list[int] = []
    for number, row in enumerate(rows, start=1):
        predicting += range(len(ids) + row.prompt - trunk, len(ids) + len(row.ids) - trunk)
        ids += row.ids[trunk:]
        positions += range(trunk, len(row.ids))
        branches += [number] * (len(row.ids) - trunk)
    return ids, positions, branches, predicting
