"""The arguments that every training script shares. No torch here: `--help` must answer at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

from intentfold.codec.edits import LineOperation
from intentfold.models import Attention, DtypeChoice, chosen_dtype
from intentfold.prompts.tracker import WINDOW, Codec
from intentfold.trace import Load
from intentfold.training.plan.machine import DeviceName

# How a sampled row came out: right; not right, and the task's grader lets it pass or not; not right, and ungraded.
RowOutcome = Literal["exact", "passed", "failed", "wrong"]
OF_LANES = ("codec", "own_state_share", "own_state_share_start", "load_enters", "branches")  # how a tracker's dialogues go
OF_TRACKERS = (*OF_LANES, "window", "operation_weights")
FREE = ("dry_run", "dry_run_launch", "dry_run_device")  # fields that make no other run
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


@dataclass(frozen=True, kw_only=True)
class WeightedArguments(TrainArguments):
    """What counts more in the loss, and what less.

    Args:
        operation_weights: of a tracker that writes edits, weights of a line's tokens by what the line folds to: ADD, REPLACE,
            DELETE, REPRIORITIZE or NONE, and REJECTED for a line that folds to nothing; 1 where not named. The loss is
            the weighted mean over the tokens of a step
    """

    operation_weights: dict[LineOperation, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_table("operation_weights", self.operation_weights, get_args(LineOperation))


@dataclass(frozen=True, kw_only=True)
class Servers:
    """Where vLLM servers are and how they are asked; a run may go on with others.

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
class RolloutServers(Servers):
    """Servers of the student's base, started with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True, that see `out`.

    Args:
        model: the name under which they serve the base
    """

    model: str


@dataclass(frozen=True, kw_only=True)
class Rollouts:
    """How vLLM samples for the student, whose adapter alone is handed over.

    Args:
        sync_every: optimizer steps after which the adapter is handed over again; what is sampled in between lags, and its
            tokens weigh by importance
        max_importance: the most that a token of a lagging sample weighs
        tolerance: what vLLM's and the trainer's log-probabilities of the tokens sampled after a hand-over may differ by at most
            (nats): 1e-3 for float32; bfloat16 needs more
        gpu_memory: without `rollout_servers`, share of the device's memory that vLLM takes (0.3 by default)
    """

    sync_every: int = 1
    max_importance: float = 2.0
    tolerance: float = 1e-3
    gpu_memory: float | None = None

    def __post_init__(self) -> None:
        if self.sync_every < 1 or self.max_importance < 1 or self.tolerance <= 0:
            raise ValueError(
                "sync_every and max_importance must be at least 1 and tolerance above 0, "
                f"got {self.sync_every}, {self.max_importance:g} and {self.tolerance:g}"
            )
        if self.gpu_memory is not None and not 0.0 < self.gpu_memory < 1.0:
            raise ValueError(f"gpu_memory must be between 0 and 1, got {self.gpu_memory:g}")


@dataclass(frozen=True, kw_only=True)
class RolloutArguments(WeightedArguments):
    """What on-policy distillation samples on (a tracker's dialogues or other roles' mined examples), and what rows weigh.

    Args:
        role: what is trained
        traces: of a tracker, folder of {train,dev}.jsonl as data_gen/build_traces.py leaves it
        data: of the other roles, dataset folder as data_gen/mine_checker.py leaves it
        codec: of a tracker, delta (edits) or full (the whole state)
        window: of a tracker, last messages of the dialogue that the prompt shows; 0 shows all, and a row is then a whole dialogue
        branches: of a tracker, other turns that the user might have taken, sampled beside each turn (the traces' style.branches)
        outcome_weights: weights of a row by what its sample leads to: `exact` (the right state, or verdict), else
            `wrong`; where `passed` or `failed` is named, a tracker's wrong rows are told apart by whether the state executor
            still earns full credit at the episode's end when every later turn is folded right (never those of `branches`,
            behind which no end stands: they are `wrong`). 1 where not named; what weighs 0 is sampled and not trained on
        own_state_share: of a tracker, probability that a fold starts from the student's own state, not the oracle's
        own_state_share_start: the same in the first step, from where it goes linearly to `own_state_share` in the last;
            constant by default
        load_enters: of a tracker, optimizer steps from which episodes of stale load 1, 3 and 5 are drawn; 0 where not named
        rollouts: how vLLM samples; the trainer samples itself by default
        rollout_servers: where vLLM samples; by default each rank runs one beside itself, on its own device
    """

    role: Literal["tracker", "checker", "learner"] = "tracker"
    traces: Path | None = None
    data: Path | None = None
    codec: Codec = "delta"
    window: int = WINDOW
    branches: int = 0
    outcome_weights: dict[RowOutcome, float] = field(default_factory=dict)
    own_state_share: float = 0.5
    own_state_share_start: float | None = None
    load_enters: dict[Load, int] = field(default_factory=dict)
    rollouts: Rollouts | None = None
    rollout_servers: RolloutServers | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rollout_servers is not None and (self.rollouts is None or self.rollouts.gpu_memory is not None):
            raise ValueError("rollout_servers goes with rollouts, and with no gpu_memory in it")
        if self.rollouts is not None and self.save_steps % self.rollouts.sync_every:
            raise ValueError(
                f"save_steps must be a multiple of rollouts.sync_every ({self.rollouts.sync_every}), for a run that goes on "
                f"hands the adapter over first, got {self.save_steps}"
            )
        needed, refused = ("traces", "data") if self.role == "tracker" else ("data", "traces")
        if getattr(self, needed) is None or getattr(self, refused) is not None:
            raise ValueError(f"role {self.role} takes {needed} (and no {refused}), got traces {self.traces}, data {self.data}")
        for name in OF_TRACKERS if self.role != "tracker" else ():
            declared = next(one for one in fields(RolloutArguments) if one.name == name)
            default = declared.default if declared.default_factory is MISSING else declared.default_factory()
            if getattr(self, name) != default:
                raise ValueError(f"{name}: only a tracker has one, got {getattr(self, name)} for a {self.role}")
        if self.operation_weights and self.codec == "full":
            raise ValueError("operation_weights: a whole state is no list of edits, codec must be delta")
        if self.role != "tracker" and (told := {"passed", "failed"}.intersection(self.outcome_weights)):
            raise ValueError(f"outcome_weights: only a tracker's rows are graded, got {sorted(told)} for a {self.role}")
        if self.branches < 0 or (self.window and self.micro_batch % (1 + self.branches)):
            raise ValueError(f"micro_batch must be a multiple of 1 + branches, got {self.micro_batch} and {self.branches}")
        check_table("outcome_weights", self.outcome_weights, get_args(RowOutcome))
        check_table("load_enters", self.load_enters, get_args(Load))
        for name in ("own_state_share", "own_state_share_start"):
            share = getattr(self, name)
            if share is not None and not 0.0 <= share <= 1.0:
                raise ValueError(f"{name} must be in [0, 1], got {share}")


def check_table(name: str, table: Mapping[Any, float], keys: tuple[Any, ...]) -> None:
    """Raise ValueError for a key that is none of `keys`, or a value that is not a finite number from 0 on."""
    for key, value in table.items():
        if key not in keys:
            raise ValueError(f"{name}: expected keys out of {list(keys)}, got {key!r}")
        if not 0.0 <= value < float("inf"):
            raise ValueError(f"{name}: expected finite numbers from 0 on, got {value} for {key}")


@dataclass(frozen=True, kw_only=True)
class Served:
    """What a served teacher is and what is learned from it.

    Args:
        model: the name under which the servers serve it
        top_k: the teacher's likeliest tokens at each place that it is asked for (vLLM: --max-logprobs)
        loss: `divergence` (see beta) between the distributions over those, the sampled token and "any other", or the clipped
            `policy_gradient` of the sampled tokens, whose advantage is the teacher's log-probability less the student's
        clip: of the policy gradient, the importance ratio is held within 1 - clip and 1 + clip (it is 1 where no rollout
            lags)
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
