"""Decoding token rows on a local model: what rows begin with alike is computed once, and rows that have stopped leave."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

Choose = Callable[["torch.Tensor", Sequence[int]], "torch.Tensor"]


def continuations(
    model: Any,
    rows: Sequence[Sequence[int]],
    families: Sequence[Sequence[int]],
    max_tokens: int,
    stop: Collection[int],
    choose: Choose,
) -> list[list[int]]:
    """What the model writes after each row, at most `max_tokens` ids, the stop token included where one was written.

    `families` are places in `rows` that share a beginning, every place in exactly one. `choose` takes logits (B, V),
    and the places in `rows` that they belong to, to ids (B,). The model's cache must be one that can be cut into rows (no
    linear attention).
    """
    import torch

    from intentfold.runtime.cache import keys_uncopied

    order = [place for family in families for place in family]
    written: list[list[int]] = [[] for _ in rows]
    active = list(order)
    with torch.inference_mode(), keys_uncopied(model):
        logits_BV, cache, mask_BT, positions_B1 = _begin(model, rows, families)
        for left in range(max_tokens, 0, -1):
            next_B = choose(logits_BV, active)
            for place, token in zip(active, next_B.tolist(), strict=True):
                written[place].append(token)
            going = [n for n, place in enumerate(active) if written[place][-1] not in stop]
            if not going or left == 1:
                break
            if len(going) < len(active):
                keep = torch.tensor(going, device=model.device)
                cache.batch_select_indices(keep)
                next_B, mask_BT, positions_B1 = next_B[keep], mask_BT[keep], positions_B1[keep]
                active = [active[n] for n in going]
            mask_BT = torch.cat([mask_BT, mask_BT.new_ones(len(active), 1)], dim=1)
            positions_B1 = positions_B1 + 1
            logits_BV = _last_logits(model, next_B[:, None], mask_BT, positions_B1, cache)
    return written


def _begin(
    model: Any, rows: Sequence[Sequence[int]], families: Sequence[Sequence[int]]
) -> tuple[torch.Tensor, Any, torch.Tensor, torch.Tensor]:
    """Logits (B, V) after each row, family by family, the cache, its mask (B, T), and the rows' last positions (B, 1)."""
    import torch

    from intentfold.runtime.cache import RoomyCache

    device = model.device
    trunks = [shared_prefix([rows[place] for place in family]) for family in families]
    if all(len(family) == 1 for family in families):
        trunks = [0] * len(families)  # nothing is shared: one forward pass does
    width = max(trunks)
    owner = [number for number, family in enumerate(families) for _ in family]
    order = [place for family in families for place in family]
    rests = [list(rows[place][trunks[number] :]) for place, number in zip(order, owner, strict=True)]
    longest = max(map(len, rests))
    cache = RoomyCache(model.config)
    owner_B = torch.tensor(owner, device=device)
    trunk_mask_FP = torch.tensor([[0] * (width - trunk) + [1] * trunk for trunk in trunks], device=device)
    if width:
        ids = [[0] * (width - n) + list(rows[family[0]][:n]) for family, n in zip(families, trunks, strict=True)]
        positions_FP = (trunk_mask_FP.cumsum(-1) - 1).clamp(min=0)
        _last_logits(model, torch.tensor(ids, device=device), trunk_mask_FP, positions_FP, cache)
        cache.batch_select_indices(owner_B)
    own_mask_BR = torch.tensor([[0] * (longest - len(rest)) + [1] * len(rest) for rest in rests], device=device)
    ids_BR = torch.tensor([[0] * (longest - len(rest)) + rest for rest in rests], device=device)
    mask_BT = torch.cat([trunk_mask_FP[owner_B], own_mask_BR], dim=1)
    positions_BR = (mask_BT.cumsum(-1) - 1)[:, width:].clamp(min=0)
    return _last_logits(model, ids_BR, mask_BT, positions_BR, cache), cache, mask_BT, positions_BR[:, -1:]


def _last_logits(model: Any, ids_BT: torch.Tensor, mask_BT: torch.Tensor, positions_BT: torch.Tensor, cache: Any) -> torch.Tensor:
    output = model(
        input_ids=ids_BT,
        attention_mask=mask_BT,
        position_ids=positions_BT,
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=1,
    )
    return output.logits[:, -1]


def has_linear_attention(model: Any) -> bool:
    """Whether some layers keep a running state: their cache cannot be cut into rows, and they heed no 4-D mask."""
    return "linear_attention" in (getattr(model.config.get_text_config(), "layer_types", None) or ())


def greedy(logits_BV: torch.Tensor, places: Sequence[int]) -> torch.Tensor:
    """The likeliest ids."""
    return logits_BV.argmax(-1)


def sampled(logits_BV: torch.Tensor, places: Sequence[int]) -> torch.Tensor:
    """Ids drawn from the model's own distribution (temperature 1), by torch's global generator."""
    return logits_BV.float().softmax(-1).multinomial(1)[:, 0]


def shared_prefix(rows: Sequence[Sequence[int]]) -> int:
    """How many tokens all rows begin with, leaving each at least one of its own."""
    first, last = min(map(list, rows)), max(map(list, rows))
    shared = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return min(shared, min(map(len, rows)) - 1)
