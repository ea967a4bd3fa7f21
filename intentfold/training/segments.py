"""Attention over a run of tokens in which each part sees some others alone: no mask over the whole, and nothing computed in vain.

A part's keys are gathered, so that the cost is that of the pairs which see each other. Both of the library's own
attentions are registered once more under names of ours; asked without `segments` they are what they were.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS

Range = tuple[int, int]
_BY_SEGMENTS = {"sdpa": "sdpa_by_segments", "eager": "eager_by_segments"}


@dataclass(frozen=True)
class Segment:
    """M = `length` queries and the ranges of N keys that they see; `mask_MN` is True where one may look at another.

    None where the queries are the keys themselves, and each sees those up to its own place.
    """

    length: int
    sees: tuple[Range, ...]
    mask_MN: torch.Tensor | None


@dataclass
class Segments:
    """Segments that tile the queries in their order; `layers` counts who has heeded them."""

    parts: Sequence[Segment]
    layers: set[int] = field(default_factory=set)


def segmentable(model: Any) -> bool:
    """Whether every layer's attention is over all tokens and of a kind that takes segments.

    Layers that keep a running state (linear attention) or see a window of the last tokens do not.
    """
    config = model.config.get_text_config()
    kinds = set(getattr(config, "layer_types", None) or ())
    if kinds - {"full_attention"} or (not kinds and getattr(config, "sliding_window", None)):
        return False
    return config._attn_implementation in (*_BY_SEGMENTS, *_BY_SEGMENTS.values())


def attend_by_segments(model: Any, segments: Segments, **inputs: Any) -> Any:
    """The output of a model's body over one sequence (1, T) whose queries see what `segments` say.

    Raises RuntimeError where a layer did not heed them: its output would be wrong.
    """
    config = model.config.get_text_config()
    # It stays so: recomputed activations (checkpointing) look it up again in the backward pass.
    config._attn_implementation = _BY_SEGMENTS.get(config._attn_implementation, config._attn_implementation)
    # A mask of four dimensions goes through as it is: none is built.
    segments.layers.clear()
    unread = torch.zeros(1, 1, 1, 1, device=inputs["input_ids"].device)
    output = model(attention_mask=unread, segments=segments, **inputs)
    if len(segments.layers) != config.num_hidden_layers:
        raise RuntimeError(
            f"{type(model).__name__}: {len(segments.layers)} of {config.num_hidden_layers} layers heeded which tokens see which"
        )
    return output


def ranges(places: Sequence[int]) -> tuple[Range, ...]:
    """Rising places as runs [start, stop)."""
    found: list[list[int]] = []
    for place in places:
        if found and found[-1][1] == place:
            found[-1][1] = place + 1
        else:
            found.append([place, place + 1])
    return tuple((start, stop) for start, stop in found)


class _Gather(torch.autograd.Function):
    """Ranges of a (1, K, T, D) tensor, one tensor for each element of `sees`.

    Autograd's own backward would add up a tensor of the whole length for each slice.
    """

    @staticmethod
    def forward(ctx: Any, whole: torch.Tensor, sees: Sequence[tuple[Range, ...]]) -> tuple[torch.Tensor, ...]:
        ctx.sees, ctx.shape = sees, whole.shape
        return tuple(torch.cat([whole[:, :, start:stop] for start, stop in seen], dim=2) for seen in sees)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None]:
        total = grads[0].new_zeros(ctx.shape)
        for seen, grad in zip(ctx.sees, grads, strict=True):
            at = 0
            for start, stop in seen:
                total[:, :, start:stop] += grad[:, :, at : at + stop - start]
                at += stop - start
        return total, None


def _by_segments(attend: Any) -> Any:
    def attention(
        module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attention_mask: Any, **options: Any
    ) -> tuple[torch.Tensor, None]:
        segments = options.pop("segments", None)
        if segments is None:
            return attend(module, query, key, value, attention_mask, **options)
        segments.layers.add(module.layer_idx)
        sees = [part.sees for part in segments.parts]
        if sees == [((0, key.shape[2]),)]:
            return attend(module, query, key, value, _of_all_heads(segments.parts[0].mask_MN), **options)
        parts = zip(
            segments.parts,
            query.split([part.length for part in segments.parts], dim=2),
            _Gather.apply(key, sees),
            _Gather.apply(value, sees),
            strict=True,
        )
        outs = [attend(module, q, k, v, _of_all_heads(part.mask_MN), **options)[0] for part, q, k, v in parts]
        return torch.cat(outs, dim=1), None

    return attention


def _of_all_heads(mask_MN: torch.Tensor | None) -> torch.Tensor | None:
    return None if mask_MN is None else mask_MN[None, None]


def _eager(module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: Any, **options: Any) -> Any:
    """The eager attention of the model's own file, which adds its mask."""
    if mask is None:
        mask = query.new_ones(query.shape[2], key.shape[2], dtype=torch.bool).tril(key.shape[2] - query.shape[2])[None, None]
    if mask.dtype == torch.bool:
        mask = torch.zeros(mask.shape, dtype=query.dtype, device=query.device).masked_fill(~mask, torch.finfo(query.dtype).min)
    return sys.modules[type(module).__module__].eager_attention_forward(module, query, key, value, mask, **options)


for _name, _attend in (("sdpa", sdpa_attention_forward), ("eager", _eager)):
    AttentionInterface.register(_BY_SEGMENTS[_name], _by_segments(_attend))
    AttentionMaskInterface.register(_BY_SEGMENTS[_name], ALL_MASK_ATTENTION_FUNCTIONS[_name])
