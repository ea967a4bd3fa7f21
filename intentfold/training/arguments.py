"""The arguments that every training script shares. No torch here: `--help` must answer at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from intentfold.models import Attention, DtypeChoice, chosen_dtype

Schedule = Literal["constant", "constant_with_warmup", "linear", "cosine"]
Sees = Literal["plain", "privileged"]
ServedLoss = Literal["divergence", "policy_gradient"]


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


@dataclass(frozen=True, kw_only=True)
class Servers:
    """Where a served teacher is and how it is asked; a run may go on with others.

    Args:
        endpoints: addresses of vLLM servers of the same weights, as http://localhost:8000/v1; rows are spread over them
        in_flight: at most so many requests of one rank at a time, over all endpoints
        timeout: seconds until a request counts as failed
        retries: so many more tries, with growing pauses, of a request that failed
        api_key_variable: environment variable that holds the servers' key, where they ask for one
    """

    endpoints: list[str]
    in_flight: int = 32
    timeout: float = 600.0
    retries: int = 5
    api_key_variable: str | None = None

    def __post_init__(self) -> None:
        if bad := [url for url in self.endpoints or [""] if not url.startswith(("http://", "https://"))]:
            raise ValueError(f"endpoints must be addresses (http://host:port/v1), got {bad[0]!r}")
        if self.in_flight < 1 or self.timeout <= 0 or self.retries < 0:
            raise ValueError(
                "in_flight must be at least 1, timeout above 0 and retries not negative, "
                f"got {self.in_flight}, {self.timeout} and {self.retries}"
            )


@dataclass(frozen=True, kw_only=True)
class Served:
    """What a served teacher is and what is learned from it.

    Args:
        model: the name under which the servers serve it
        top_k: the teacher's likeliest tokens at each place that it is asked for (vLLM: --max-logprobs)
        loss: `divergence` (see beta) between the distributions over those, the sampled token and "any other", or the clipped
            `policy_gradient` of the sampled tokens, whose advantage is the teacher's log-probability less the student's
        clip: of the policy gradient, the importance ratio is held within 1 - clip and 1 + clip
        tolerance: what log-probabilities of the same tokens may differ by (nats): 1e-3 for float32; bfloat16 and fp8 need more
    """

    model: str
    top_k: int = 64
    loss: ServedLoss = "divergence"
    clip: float = 0.2
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        if self.top_k < 1:
            raise ValueError(f"top_k must be at least 1, got {self.top_k}")
        if not 0.0 < self.clip < 1.0:
            raise ValueError(f"clip must be between 0 and 1, got {self.clip}")
        if self.tolerance <= 0:
            raise ValueError(f"tolerance must be above 0, got {self.tolerance}")


@dataclass(frozen=True, kw_only=True)
class TeacherArguments(TrainArguments):
    """Whom to learn from.

    Args:
        teacher: `adapter` is the frozen `teacher_adapter` (or `init_adapter`) on the student's base, `base` the base
            alone, `model` the model in `teacher_model`, `served` the one behind `servers`
        teacher_adapter: adapter folder of the self-teacher; `init_adapter` by default
        teacher_model: folder of a larger model with the same vocabulary; of a served teacher its weights, where they
            are at hand: it must then score a few rows as they do
        teacher_sees: the student's prompt (`plain`) or that with the right answer in it (`privileged`)
        worked_examples: finished rows shown to the teacher before the question
        served: what the served teacher is
        servers: where the served teacher is
    """

    teacher: Literal["adapter", "base", "model", "served"] = "adapter"
    teacher_adapter: Path | None = None
    teacher_model: Path | None = None
    teacher_sees: Sees = "privileged"
    worked_examples: int = 0
    served: Served | None = None
    servers: Servers | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.teacher == "adapter" and self.teacher_adapter is None and self.init_adapter is None:
            raise ValueError("teacher 'adapter' needs teacher_adapter or init_adapter")
        allowed = {"model": self.teacher_model is not None, "served": True}.get(self.teacher, self.teacher_model is None)
        if not allowed:
            raise ValueError("teacher_model goes with teacher 'model', which needs it, or 'served', and with no other")
        for name in ("served", "servers"):
            if (self.teacher == "served") != (getattr(self, name) is not None):
                raise ValueError(f"{name} goes with teacher 'served', and with no other")
