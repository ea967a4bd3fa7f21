"""Sampling behind a trunk that is computed once: the turns of whole dialogues, asked in waves (design D3, D5).

One cache holds all prompts of an optimizer step as a trie, whatever they begin with alike once. A turn asked from the oracle
state waits for nothing; one asked from the student's own state comes in the wave after the turn before it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from intentfold.training.packing import Trie, lay
from intentfold.training.segments import Segment, Segments, attend_by_segments, ranges


@dataclass
class _Writing:
    """The rows of a group that still write: their places in the batch, and `mask_RN`, which of the group's `places` each sees."""

    rows: list[int]
    places: list[int]
    mask_RN: torch.Tensor

    def step(self, first: int) -> Segment:
        """One more token a row, at the places from `first` on, which it alone sees."""
        self.places += range(first, first + len(self.rows))
        self.mask_RN = torch.cat([self.mask_RN, torch.eye(len(self.rows), dtype=torch.bool, device=self.mask_RN.device)], dim=1)
        return Segment(len(self.rows), ranges(self.places), self.mask_RN)

    def keep(self, going: set[int]) -> None:
        kept = [n for n, row in enumerate(self.rows) if row in going]
        self.rows, self.mask_RN = [self.rows[n] for n in kept], self.mask_RN[kept]


class TreeDecoder:
    """Continuations of prompts that share beginnings, with what earlier prompts began with kept (`segmentable` models).

    `choose` takes logits (B, V), and the places in the prompts that they belong to, to ids (B,). The weights must not change
    between calls. `computed` counts the tokens that went through the model, `apart` those that rows one by one would take.
    """

    def __init__(self, model: Any, max_tokens: int, stop: Collection[int], choose: Callable[..., torch.Tensor]) -> None:
        from transformers import DynamicCache

        self.model, self.max_tokens, self.stop, self.choose = model, max_tokens, stop, choose
        self._trie = Trie()
        self._cache = DynamicCache(config=model.config)
        self.computed = self.apart = 0

    @torch.inference_mode()
    def write(self, prompts: Sequence[Sequence[int]], groups: Sequence[int]) -> list[list[int]]:
        """What the model writes after each prompt, the stop token included where one was written.

        Rows of one group (a number a prompt) read all that the group has computed, masked: prompts of one dialogue make one.
        """
        laid = lay(self._trie, [prompt[:-1] for prompt in prompts], self.model.device)
        if laid.parts:
            self._forward(laid.ids_1T, laid.positions_1T, laid.parts)
        paths = laid.paths
        written: list[list[int]] = [[] for _ in prompts]
        writing = [self._writing([n for n, of in enumerate(groups) if of == group], paths) for group in sorted(set(groups))]
        last = [prompt[-1] for prompt in prompts]
        for left in range(self.max_tokens, 0, -1):
            active = [row for group in writing for row in group.rows]
            parts = []
            for group in writing:
                parts.append(group.step(self._trie.size))
                self._trie.size += len(group.rows)
            positions = [len(paths[row]) + len(written[row]) for row in active]
            last_1B = torch.tensor([[last[row] for row in active]], device=self.model.device)
            hidden_BH = self._forward(last_1B, torch.tensor([positions], device=self.model.device), parts)
            next_B = self.choose(self.model.get_output_embeddings()(hidden_BH), active)
            for row, token in zip(active, next_B.tolist(), strict=True):
                written[row].append(token)
                last[row] = token
            going = {row for row in active if last[row] not in self.stop}
            if not going or left == 1:
                break
            for group in writing:
                group.keep(going)
            writing = [group for group in writing if group.rows]
        self.apart += sum(len(prompt) + len(said) - 1 for prompt, said in zip(prompts, written, strict=True))
        return written

    def _writing(self, rows: list[int], paths: Sequence[Sequence[int]]) -> _Writing:
        places = sorted({place for row in rows for place in paths[row]})
        at = {place: n for n, place in enumerate(places)}
        mask_RN = torch.zeros(len(rows), len(places), dtype=torch.bool)
        for n, row in enumerate(rows):
            mask_RN[n, [at[place] for place in paths[row]]] = True
        return _Writing(rows, places, mask_RN.to(self.model.device))

    def _forward(self, ids_1T: torch.Tensor, positions_1T: torch.Tensor, parts: list[Segment]) -> torch.Tensor:
        """(T, H) last hidden states of the tokens, which go into the cache."""
        self.computed += ids_1T.numel()
        inputs = {"input_ids": ids_1T, "position_ids": positions_1T, "past_key_values": self._cache, "use_cache": True}
        return attend_by_segments(body(self.model), Segments(parts), **inputs).last_hidden_state[0]


def body(model: Any) -> Any:
    """The model without its head, with its adapter where it has one."""
    return (model.get_base_model() if hasattr(model, "get_base_model") else model).base_model
