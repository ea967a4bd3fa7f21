"""Supervised fine-tuning on TRL's SFTTrainer: shared beginnings computed once, logits at the completions alone."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch.utils.data import Sampler
from trl import SFTTrainer
from trl.models.utils import _ForwardRedirection

from intentfold.runtime.decoding import has_linear_attention
from intentfold.training.data import StepOrder
from intentfold.training.packing import Row, families, pack, packed_hidden


class CompletionTrainer(SFTTrainer):
    """SFTTrainer that orders rows by `StepOrder` and, on a CPU, computes nothing twice and no logits that are not needed.

    Rows that begin alike are packed (`packing.py`), and only the positions in the loss are projected on the vocabulary:
    TRL does the latter on GPUs, and neither on a CPU (`add_fused_lm_head`). The value is TRL's own (parity test).
    """

    def _get_train_sampler(self, train_dataset: Any = None) -> Sampler[int]:
        rows = [_row(ids, labels) for ids, labels in zip(*(self.train_dataset[n] for n in ("input_ids", "labels")), strict=True)]
        side_by_side = self.args.per_device_train_batch_size * self.accelerator.num_processes
        step_rows = side_by_side * self.args.gradient_accumulation_steps
        lengths = [len(row.ids) for row in rows]
        return StepOrder(families(rows), lengths, side_by_side, step_rows, self.args.max_steps, self.args.seed)

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        if self.accelerator.device.type != "cpu" or not self.model.training:
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        unwrapped = self.accelerator.unwrap_model(model)
        # The redirection steps around the model's own forward, and with it around accelerate's autocast.
        with self.accelerator.autocast():
            total, hits, count = _ForwardRedirection()(model, unwrapped, _completion_loss, unwrapped, inputs)
        loss = total / (count if num_items_in_batch is None else num_items_in_batch)
        if self.args.average_tokens_across_devices and num_items_in_batch is not None:
            loss = loss * self.accelerator.num_processes
        self._metrics["train"]["mean_token_accuracy"].append(hits / count)
        return loss


def _completion_loss(model: Any, inputs: dict[str, torch.Tensor]) -> tuple[torch.Tensor, float, int]:
    """Sum of the negative log-likelihoods of the labelled tokens, how many were put first, and how many there are."""
    base = model.get_base_model()
    lengths = inputs["attention_mask"].sum(1).tolist()
    rows = [
        _row(ids[:length], labels[:length])
        for ids, labels, length in zip(inputs["input_ids"].tolist(), inputs["labels"].tolist(), lengths, strict=True)
    ]
    packed = pack(rows, inputs["input_ids"].device, alike=not has_linear_attention(base))
    logits_NV = base.get_output_embeddings()(packed_hidden(base.base_model, packed)).float()
    total = F.cross_entropy(logits_NV, packed.labels_N, reduction="sum")
    hits = (logits_NV.detach().argmax(-1) == packed.labels_N).sum().item()
    return total, float(hits), int(packed.labels_N.numel())


def _row(ids: list[int], labels: list[int]) -> Row:
    """A row of TRL's: labels are -100 over the prompt and the ids themselves over the completion (`check_rows`)."""
    return Row(ids, next(place for place, label in enumerate(labels) if label != -100))
