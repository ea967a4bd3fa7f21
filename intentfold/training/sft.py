"""Supervised fine-tuning on TRL's SFTTrainer: shared beginnings computed once, logits at the completions alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch.utils.data import Sampler
from trl import SFTTrainer
from trl.models.utils import _ForwardRedirection

from intentfold.training.data import StepOrder
from intentfold.training.legs import saving
from intentfold.training.packing import Row, families, pack, packed_hidden
from intentfold.training.weighting import EVEN, Reading, Weighting, mean_one


class CompletionTrainer(SFTTrainer):
    """SFTTrainer that orders rows by `StepOrder` and, on a CPU, computes nothing twice and no logits that are not needed.

    Rows that begin alike are packed (`packing.py`), and only the positions in the loss are projected on the vocabulary:
    TRL does the latter on GPUs, and neither on a CPU (`add_fused_lm_head`). The value is TRL's own (parity test).

    Where the rows have `operations` (what the lines of the completion fold to), the loss is the mean over the tokens of a
    step weighted by `weighting`, on whatever device.
    """

    data_collator: Any

    def __init__(self, *, weighting: Weighting = EVEN, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.weighted = "operations" in self.train_dataset.column_names
        if self.weighted:
            self.data_collator = _WithWeights(self.data_collator, self.processing_class, weighting)

    def _set_signature_columns_if_needed(self) -> None:
        super()._set_signature_columns_if_needed()
        if "operations" not in self._signature_columns:
            self._signature_columns.append("operations")

    def get_batch_samples(self, epoch_iterator: Any, num_batches: int, device: Any) -> tuple[list[Any], Any]:
        """The batches of a step and the number of its tokens, over which the weights are scaled to a mean of 1."""
        batches, count = super().get_batch_samples(epoch_iterator, num_batches, device)
        if self.weighted and batches:
            total = torch.stack([batch["weights"].sum() for batch in batches]).sum().to(device)
            if self.args.average_tokens_across_devices:
                total = self.accelerator.gather(total).sum()
            for batch in batches:
                batch["weights"] = mean_one(batch["weights"].to(device), total, count)
        return batches, count

    def _get_train_sampler(self, train_dataset: Any = None) -> Sampler[int]:
        rows = [_row(ids, labels) for ids, labels in zip(*(self.train_dataset[n] for n in ("input_ids", "labels")), strict=True)]
        side_by_side = self.args.per_device_train_batch_size * self.accelerator.num_processes
        step_rows = side_by_side * self.args.gradient_accumulation_steps
        lengths = [len(row.ids) for row in rows]
        return StepOrder(families(rows), lengths, side_by_side, step_rows, self.args.max_steps, self.args.seed)

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        if not self.weighted and (self.accelerator.device.type != "cpu" or not self.model.training):
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        unwrapped = self.accelerator.unwrap_model(model)
        # The redirection steps around the model's own forward, and with it around accelerate's autocast.
        with self.accelerator.autocast():
            total, hits, count, computed = _ForwardRedirection()(model, unwrapped, _completion_loss, unwrapped, inputs)
        loss = total / (count if num_items_in_batch is None else num_items_in_batch)
        if self.args.average_tokens_across_devices and num_items_in_batch is not None:
            loss = loss * self.accelerator.num_processes
        self._metrics["train"]["mean_token_accuracy"].append(hits / count)
        self._metrics["train"]["computed"].append(computed)
        return loss

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        with saving(Path(str(self.args.output_dir))):
            super()._save_checkpoint(model, trial)


def _completion_loss(model: Any, inputs: dict[str, torch.Tensor]) -> tuple[torch.Tensor, float, int, float]:
    """Sum of the negative log-likelihoods of the labelled tokens, how many were put first, how many there are; share computed."""
    base = model.get_base_model()
    lengths = inputs["attention_mask"].sum(1).tolist()
    rows = [
        _row(ids[:length], labels[:length])
        for ids, labels, length in zip(inputs["input_ids"].tolist(), inputs["labels"].tolist(), lengths, strict=True)
    ]
    computed = 1.0
    if inputs["input_ids"].device.type == "cpu":
        packed = pack(rows, base.base_model)
        computed = packed.computed / packed.apart
        hidden_NH, labels_N = packed_hidden(base.base_model, packed), packed.labels_N
    else:
        shown = {name: inputs[name] for name in ("input_ids", "attention_mask")}
        kept = inputs["labels"][:, 1:] != -100
        hidden_NH = base.base_model(**shown, use_cache=False).last_hidden_state[:, :-1][kept]
        labels_N = inputs["labels"][:, 1:][kept]
    logits_NV = base.get_output_embeddings()(hidden_NH).float()
    if "weights" in inputs:
        each_N = F.cross_entropy(logits_NV, labels_N, reduction="none")
        total = (each_N * inputs["weights"][inputs["labels"] != -100]).sum()
    else:
        total = F.cross_entropy(logits_NV, labels_N, reduction="sum")
    hits = (logits_NV.detach().argmax(-1) == labels_N).sum().item()
    return total, float(hits), int(labels_N.numel()), computed


def _row(ids: list[int], labels: list[int]) -> Row:
    """A row of TRL's: labels are -100 over the prompt and the ids themselves over the completion (`check_rows`)."""
    return Row(ids, next(place for place, label in enumerate(labels) if label != -100))


@dataclass(frozen=True)
class _WithWeights:
    """A collator whose batches also hold the (B, T) `weights` of the tokens: 0 over the prompts."""

    collator: Any
    tokenizer: Any
    weighting: Weighting

    def __call__(self, rows: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
        batch = self.collator(rows)
        labels_BT = batch["labels"]
        batch["weights"] = torch.zeros(labels_BT.shape)
        said = [[id for id in row["labels"] if id != -100] for row in rows]
        readings = [Reading("exact", row["operations"]) for row in rows]
        weights_BC = self.weighting.columns(self.tokenizer, said, readings)["weights"]
        for place, ids in enumerate(said):
            batch["weights"][place, labels_BT[place] != -100] = weights_BC[place, : len(ids)]
        return batch
