"""What a launcher started, and whether it is what was asked for: exit code 0 proves nothing.

A launch can go wrong in silence: one process instead of several, DDP instead of DeepSpeed or FSDP, ranks that each think
they are alone. All of these train something; each is refused here before the first step.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import yaml
from accelerate.utils import DistributedType
from accelerate.utils.other import extract_model_from_parallel
from transformers import TrainerCallback

ENGINES = {
    DistributedType.NO: "the bare model",
    DistributedType.MULTI_CPU: "DistributedDataParallel",
    DistributedType.MULTI_GPU: "DistributedDataParallel",
    DistributedType.DEEPSPEED: "DeepSpeedEngine",
    DistributedType.FSDP: "an FSDPModule",
}


class LaunchError(RuntimeError):
    """Processes that do not train together in the way that was asked for."""


def ranks() -> int:
    """How many processes train together, as the launcher says (asking accelerate would set it up too early)."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def asked_processes(command: Sequence[str]) -> int:
    """How many processes the command line of an `accelerate launch` asks for, by flag or by its config file; else 1.

    Raises `LaunchError` for a number of processes that is none.
    """
    if not any(Path(word).name == "accelerate" or word.startswith("accelerate.commands.") for word in command[:4]):
        return 1
    asked: Any = 1
    flags = dict(pair for word, after in zip(command, [*command[1:], ""], strict=True) if (pair := _flag(word, after)))
    if config := flags.get("config-file"):
        asked = (yaml.safe_load(Path(config).read_text(encoding="utf-8")) or {}).get("num_processes", 1)
    asked = flags.get("num-processes", asked)
    if not str(asked).isdecimal():
        raise LaunchError(f"num_processes: expected a number of processes, got {asked!r}")
    return int(asked)


def _flag(word: str, after: str) -> tuple[str, str] | None:
    name, given, value = word.partition("=")
    if not name.startswith("--"):
        return None
    return name.lstrip("-").replace("_", "-"), value if given else after


def launcher() -> list[str]:
    """The command line of the process that started this one."""
    words = Path(f"/proc/{os.getppid()}/cmdline").read_bytes().decode(errors="replace").split("\0")
    return words[:-1]


def asked_engine(environment: Mapping[str, str]) -> DistributedType | None:
    """What accelerate's environment asks for: DeepSpeed, FSDP, or None where plain processes will do."""
    for name, engine in (("DEEPSPEED", DistributedType.DEEPSPEED), ("FSDP", DistributedType.FSDP)):
        if environment.get(f"ACCELERATE_USE_{name}", "false").lower() == "true":
            return engine
    return None


def check_ranks(accelerator: Any) -> None:
    """Raise `LaunchError` where the launch is not what was asked for: processes, engine, or ranks out of one another's reach."""
    asked, started, found = asked_processes(launcher()), ranks(), accelerator.distributed_type
    hint = "see accelerate_configs/ for launches that work"
    if asked > started:
        raise LaunchError(f"the launcher was asked for {asked} processes and started {started}: {hint}")
    if started != accelerator.num_processes or (started > 1 and found == DistributedType.NO):
        found_as = f"{accelerator.num_processes} ({found.value})"
        raise LaunchError(f"the launcher started {started} processes, but they train as {found_as}: {hint}")
    engine = asked_engine(os.environ)
    if engine is not None and found != engine:
        raise LaunchError(f"{engine.value} was asked for, but the processes train as {found.value}: {hint}")
    if started > 1:
        met = accelerator.reduce(torch.ones(1, device=accelerator.device), reduction="sum")
        if int(met) != started:
            raise LaunchError(f"of {started} processes {int(met)} answer one another: {hint}")


class EngineCheck(TrainerCallback):
    """Refuses, before the first step, a model that is not wrapped by the engine that was asked for."""

    def __init__(self, trainer: Any) -> None:
        self.trainer = trainer

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        check_engine(self.trainer.accelerator, self.trainer.model_wrapped)


def check_engine(accelerator: Any, wrapped: Any) -> None:
    """Raise `LaunchError` where `wrapped` is not what its engine wraps a model in, or DeepSpeed's stage is another."""
    wanted, classes = ENGINES[accelerator.distributed_type], {one.__name__ for one in type(wrapped).__mro__}
    if accelerator.distributed_type == DistributedType.NO:
        right = wrapped is extract_model_from_parallel(wrapped)
    else:
        right = wanted.removeprefix("an ") in classes
    if not right:
        raise LaunchError(f"{accelerator.distributed_type.value} wraps a model as {wanted}, found {type(wrapped).__name__}")
    stage = os.environ.get("ACCELERATE_DEEPSPEED_ZERO_STAGE")
    deepspeed = accelerator.distributed_type == DistributedType.DEEPSPEED and stage is not None
    if deepspeed and wrapped.zero_optimization_stage() != int(stage or 0):
        raise LaunchError(f"ZeRO stage {stage} was asked for, the engine runs stage {wrapped.zero_optimization_stage()}")
