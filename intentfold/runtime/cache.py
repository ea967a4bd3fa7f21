"""Keys and values while a local model decodes: neither copied for every token, nor repeated for every query head."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface, DynamicCache
from transformers.cache_utils import DynamicLayer
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS

ROOM = 128  # tokens
GROUPED = "sdpa_grouped"


class RoomyCache(DynamicCache):
    """The library's cache, whose full-attention layers keep room behind their tokens: the next is written there."""

    layers: list[Any]

    def __init__(self, config: Any) -> None:
        super().__init__(config=config)
        self.layers = [_RoomyLayer() if type(layer) is DynamicLayer else layer for layer in self.layers]


class _RoomyLayer(DynamicLayer):
    """`keys` and `values` are the front of longer tensors, as long as nothing else has replaced them."""

    keys: torch.Tensor
    values: torch.Tensor

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        super().lazy_initialization(key_states, value_states)
        self._rooms: dict[str, torch.Tensor] = {}

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        self.keys = self._appended("keys", self.keys, key_states)
        self.values = self._appended("values", self.values, value_states)
        return self.keys, self.values

    def _appended(self, name: str, old: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
        length = old.shape[-2] if old.numel() else 0
        total = length + new.shape[-2]
        room = self._rooms.get(name)
        if room is None or old.data_ptr() != room.data_ptr() or old.shape[0] != room.shape[0] or room.shape[-2] < total:
            room = new.new_empty(*new.shape[:2], total + ROOM, new.shape[-1])
            if length:
                room[:, :, :length] = old
            self._rooms[name] = room
        room[:, :, length:total] = new
        return room[:, :, :total]


@contextmanager
def keys_uncopied(model: Any) -> Iterator[None]:
    """Within it the model's sdpa attention asks each key head for its group of query heads at once (CPU, one query a row)."""
    config = model.config.get_text_config()
    kept = config._attn_implementation
    if str(kept).startswith("sdpa"):
        config._attn_implementation = GROUPED
    try:
        yield
    finally:
        config._attn_implementation = kept


def _grouped(
    module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attention_mask: Any, **options: Any
) -> tuple[torch.Tensor, None]:
    # The library repeats keys and values for every query head where there is a mask.
    B, H, T, D = query.shape
    K = key.shape[1]
    if T > 1 or query.device.type != "cpu" or attention_mask is None or H == K:
        return sdpa_attention_forward(module, query, key, value, attention_mask, **options)
    out = torch.nn.functional.scaled_dot_product_attention(
        query.view(B, K, H // K, D), key, value, attn_mask=attention_mask, scale=options.get("scaling")
    )
    return out.reshape(B, 1, H, D), None


AttentionInterface.register(GROUPED, _grouped)
AttentionMaskInterface.register(GROUPED, ALL_MASK_ATTENTION_FUNCTIONS["sdpa"])
