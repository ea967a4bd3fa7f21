"""Runs in several legs: going on from the last whole checkpoint, and what ends a leg: a CPU budget, a signal, a fault."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import torch
from accelerate.utils import gather_object
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_callback import ExportableState

from intentfold.runtime.roles import BackendError

T = TypeVar("T")
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


def goes_on(folder: Path) -> str:
    """What starting the same command again does, for the messages of a run that ended early."""
    checkpoint = last_checkpoint(folder)
    return f"start the same command again, and the run {'starts anew' if checkpoint is None else f'goes on from {checkpoint}'}"


class SaveError(RuntimeError):
    """A part of a run that could not be written."""


@contextmanager
def saving(folder: Path) -> Iterator[None]:
    """What goes wrong inside is a `SaveError` that says how much room there is and how the run in `folder` goes on."""
    try:
        yield
    except Exception as error:  # each writer has its own kind for a full disk; tokenizers' is a plain Exception
        free = shutil.disk_usage(folder).free / 2**20
        raise SaveError(
            f"{folder}: could not save ({error}); {free:.1f} MiB are free there. "
            f"Nothing of it counts; make room, {goes_on(folder)}"
        ) from error


@contextmanager
def ended_by_sigterm(folder: Path) -> Iterator[None]:
    """SIGTERM inside ends the program and says how the run in `folder` goes on; a half-written checkpoint does not count."""

    def end(*_: Any) -> None:
        raise SystemExit(f"{folder}: ended by SIGTERM; {goes_on(folder)}")

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def agreed(ask: Callable[[], T]) -> T:
    """What `ask` returns; a `BackendError` of one rank is one of all, and none waits for the others."""
    answer, failed = None, []
    try:
        answer = ask()
    except BackendError as error:
        failed = [str(error)]
    if reasons := gather_object(failed):
        raise BackendError(reasons[0])
    return answer  # type: ignore[return-value]


class NotFiniteError(RuntimeError):
    """Training that has lost its weights."""


class FiniteWeights(TrainerCallback):
    """Ends a run whose trained weights are no longer finite, before anything of them is saved."""

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, model: Any = None, **_: Any
    ) -> None:
        trained = [(name, _own_part(weight)) for name, weight in model.named_parameters() if weight.requires_grad]
        finite = torch.stack([torch.isfinite(weight).all() for _, weight in trained])
        if not finite.all():
            name = next(name for (name, _), sound in zip(trained, finite.tolist(), strict=True) if not sound)
            raise NotFiniteError(
                f"step {state.global_step}: the loss or its gradient was NaN or infinite, and so are the weights now ({name}). "
                f"Nothing of this step is saved. Lower learning_rate (now {args.learning_rate:g}) or train in float32, in "
                f"another `out`; with the same arguments, {goes_on(Path(str(args.output_dir)))}"
            )


def _own_part(weight: Any) -> torch.Tensor:
    """What this rank holds of a weight that may be sharded (ZeRO-3, FSDP2)."""
    weight = getattr(weight, "ds_tensor", weight.detach())
    return weight.to_local() if hasattr(weight, "to_local") else weight


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
