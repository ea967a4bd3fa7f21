"""The arguments that every training script shares. No torch here: `--help` must answer at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from intentfold.models import Attention, DtypeChoice, chosen_dtype
from intentfold.training.plan.machine import DeviceName

FREE = ("dry_run", "dry_run_launch", "dry_run_device")  # fields that make no other run
Schedule = Literal["constant", "constant_with_warmup", "linear", "cosine"]


@dataclass(frozen=True, kw_only=True)
class TrainArguments:
    """Model, adapter, optimizer and housekeeping.

    Args:
        base: folder of the base model
        out: folder of the run; a run that was killed goes on from its last checkpoint here
        init_adapter: folder of a LoRA adapter to start from; a fresh one by default
        dtype: of the base weights (with bfloat16 the forward runs under autocast, the adapter stays in float32); auto
            is bfloat16 on a CPU that multiplies it in hardware, else float32
        attention: attention implementation
        lora_r: rank of a fresh adapter
        lora_alpha: scale of a fresh adapter (the update is multiplied by alpha / r)
        lora_targets: names of the linear layers that carry the adapter
        learning_rate: peak learning rate of AdamW
        schedule: course of the learning rate after the warm-up
        warmup_steps: optimizer steps of linear warm-up
        weight_decay: of AdamW
        max_grad_norm: gradients are clipped to this norm
        rows_per_step: rows in one optimizer step, over all ranks
        micro_batch: rows in one forward pass of one rank
        chat_template_kwargs: what the chat template takes besides the messages, the same as in serving
        max_length: prompt and completion together have at most so many tokens; a longer row is an error
        checkpointing: recompute activations in the backward pass (memory for time)
        max_cpu_minutes: stop after so much CPU time of this process over all its legs, 0 for no limit
        save_steps: optimizer steps between checkpoints
        log_steps: optimizer steps between log lines
        seed: of data order, adapter initialisation and sampling
        dry_run: print what a step costs (memory, tokens, FLOPs, seconds: an estimate) and train nothing
        dry_run_launch: accelerate config that the estimate is for; by default what launched this process
        dry_run_device: device that the estimate is for; by default a CPU thread where the launch says CPU, else an H200
    """

    base: Path
    out: Path
    init_adapter: Path | None = None
    dtype: DtypeChoice = "auto"
    attention: Attention = "sdpa"
    lora_r: int = 16
    lora_alpha: int = 32
    lora_targets: list[str] = field(
        default_factory=lambda: ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    )
    learning_rate: float = 1e-4
    schedule: Schedule = "constant_with_warmup"
    warmup_steps: int = 0
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    rows_per_step: int = 32
    micro_batch: int = 8
    chat_template_kwargs: dict[str, bool] = field(default_factory=dict)
    max_length: int = 1024
    checkpointing: bool = False
    max_cpu_minutes: float = 0.0
    save_steps: int = 50
    log_steps: int = 10
    seed: int = 0
    dry_run: bool = False
    dry_run_launch: Path | None = None
    dry_run_device: DeviceName | None = None

    def __post_init__(self) -> None:
        # What is recorded, and compared when a run goes on, is the dtype itself.
        object.__setattr__(self, "dtype", chosen_dtype(self.dtype))
        for name in ("lora_r", "lora_alpha", "rows_per_step", "micro_batch", "max_length", "save_steps", "log_steps"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.rows_per_step % self.micro_batch:
            raise ValueError(f"rows_per_step must be a multiple of micro_batch ({self.micro_batch}), got {self.rows_per_step}")
        if not self.lora_targets:
            raise ValueError("lora_targets must name at least one layer")
