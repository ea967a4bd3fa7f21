"""Runs in several legs: going on from the last whole checkpoint, and stopping when a CPU budget is used up."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import torch
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_callback import ExportableState

_WHOLE = "whole"


class WholeCheckpoints(TrainerCallback):
    """Marks each checkpoint after its last byte, so that one that a kill left half-written is told apart."""

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        if torch.distributed.is_initialized():
            torch.distributed.barrier()  # the other ranks write parts of it too
        if state.is_world_process_zero:
            (Path(str(args.output_dir)) / f"checkpoint-{state.global_step}" / _WHOLE).touch()


def last_checkpoint(folder: Path) -> Path | None:
    """The last whole checkpoint in `folder`; half-written ones are passed over, and written anew in their turn."""
    whole = [checkpoint for checkpoint in folder.glob("checkpoint-*") if (checkpoint / _WHOLE).exists()]
    return max(whole, key=lambda checkpoint: int(checkpoint.name.split("-")[1]), default=None)


class CpuBudget(TrainerCallback, ExportableState):
    """Counts CPU time over all legs of a run (process time, all threads) and stops it after `minutes`, 0 for never."""

    def __init__(self, minutes: float) -> None:
        self.minutes = minutes
        self.seconds = 0.0
        self._last = 0.0

    def state(self) -> dict[str, Any]:
        return {"args": {"minutes": self.minutes}, "attributes": {"seconds": self.seconds}}

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        self._last = time.process_time()

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        now = time.process_time()
        self.seconds += now - self._last
        self._last = now
        if self.minutes and self.seconds >= 60.0 * self.minutes:
            control.should_training_stop = True
