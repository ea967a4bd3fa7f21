"""Supervised fine-tuning on TRL's SFTTrainer, with logits for the completions' positions alone."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch.utils.data import Sampler
from trl import SFTTrainer
from trl.models.utils import _ForwardRedirection

from intentfold.training.data import StepOrder


class CompletionTrainer(SFTTrainer):
    """SFTTrainer that orders rows by `StepOrder` and, on a CPU, projects only the positions that are in the loss.

    TRL does that on GPUs; on a CPU it projects every position on the whole vocabulary (`add_fused_lm_head`), which
    for a small model is a good part of the work. The value is TRL's own (parity test).
    """

    def _get_train_sampler(self, train_dataset: Any = None) -> Sampler[int]:
        lengths = [len(ids) for ids in self.train_dataset["input_ids"]]
        side_by_side = self.args.per_device_train_batch_size * self.accelerator.num_processes
        step_rows = side_by_side * self.args.gradient_accumulation_steps
        return StepOrder(lengths, side_by_side, step_rows, self.args.max_steps, self.args.seed)

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
    hidden_BTH = base.base_model(
        input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"], use_cache=False
    ).last_hidden_state
    labels_BT = inputs["labels"][:, 1:]
    wanted = labels_BT != -100
    logits_NV = base.get_output_embeddings()(hidden_BTH[:, :-1][wanted]).float()
    labels_N = labels_BT[wanted]
    total = F.cross_entropy(logits_NV, labels_N, reduction="sum")
    hits = (logits_NV.detach().argmax(-1) == labels_N).sum().item()
    return total, float(hits), int(labels_N.numel())
