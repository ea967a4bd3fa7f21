"""Memory, tokens, FLOPs and seconds of one optimizer step, from the model's shape and the machine's peaks.

The adapter alone is trained: the backward pass goes through the frozen weights (one forward's FLOPs, for the gradient of what
enters them) but makes no gradient of theirs. Seconds are a part's FLOPs, bytes or kernel launches, whichever takes longest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from intentfold.training.plan.machine import BYTES, Device, Launch
from intentfold.training.plan.shape import Shape

Bound = Literal["FLOPs", "memory bandwidth", "kernel launches", "link"]
TILE = 4096 * 32_768 * 4  # bytes of a tile of logits in TRL's fused head (trl/kernels): tokens x vocabulary x float32
LAYER_KERNELS, TARGET_KERNELS = 35, 6  # assumed: kernels of a decoder layer without fusion, and of an adapter on one matrix


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Lengths of the rows in tokens: means of prompt and completion, and the longest completion; a teacher's mean prompt."""

    prompt: float
    completion: float
    longest_completion: float
    teacher_prompt: float = 0.0

    @property
    def row(self) -> float:
        """Mean tokens of a row."""
        return self.prompt + self.completion


@dataclass(frozen=True, kw_only=True)
class Run:
    """One optimizer step. `samples`: the student writes the completions itself, and a teacher judges them; `by_vllm`: for it.

    `teacher` is None where nothing teaches on these devices (SFT, a served teacher); `teacher_holds` is what it has beside the
    student's base here.
    """

    student: Shape
    rank: int
    targets: Sequence[str]
    dtype: str
    rows_per_step: int
    micro_batch: int
    max_length: int
    checkpointing: bool
    rows: Rows
    samples: bool = False
    by_vllm: bool = False
    teacher: Shape | None = None
    teacher_holds: Literal["adapter", "nothing", "weights"] = "nothing"

    @property
    def decodes(self) -> bool:
        """Whether the trainer's own model writes."""
        return self.samples and not self.by_vllm

    @property
    def trained(self) -> int:
        """Weights of the adapter."""
        return self.student.adapter(self.rank, self.targets)


@dataclass(frozen=True)
class Part:
    """A part of a step: its FLOPs on all devices together, its seconds, and what bounds them."""

    name: str
    flops: float
    seconds: float
    bound: Bound


def memory(run: Run, launch: Launch) -> dict[str, float]:
    """Bytes on one device, by what they hold; rows as long as `max_length` allows. CUDA's own (about 1 GB) is not in it."""
    shape, each, share = run.student, BYTES[run.dtype], launch.ranks
    weights = shape.parameters * each
    held = {"weights": weights / share if launch.shares_weights else float(weights)}
    if launch.shares_weights:
        # A layer computes on whole weights, and the next is fetched meanwhile; embedding and head belong to the root.
        layer = (shape.parameters - shape.head * (1 if shape.tied else 2)) / shape.layers
        held["weights gathered"] = (2 * layer + shape.head * (1 if shape.tied else 2)) * each
        if run.decodes:
            held["weights gathered"] = float(weights)  # ZeRO-3 samples from gathered weights
    split = share if launch.shares_optimizer else 1
    held["adapter"] = 4.0 * run.trained
    held["gradients"] = 4.0 * run.trained / split
    held["optimizer"] = 8.0 * run.trained / split
    if run.teacher_holds == "adapter":
        held["teacher"] = 4.0 * run.trained
    elif run.teacher_holds == "weights" and run.teacher is not None:
        held["teacher"] = run.teacher.parameters * each / (share if launch.shares_weights else 1)
    tokens = run.micro_batch * run.max_length
    held["activations"] = activations(shape, tokens, each, run.checkpointing)
    said = run.micro_batch * run.rows.longest_completion * shape.vocab * 4
    held["logits"] = min(said * 3, 2.0 * TILE) if _tiled(run, launch) else said * 3
    if run.decodes:
        rows = run.rows_per_step // share
        held["KV cache"] = float(shape.cache(rows * run.max_length, rows, each))
    return held


def _tiled(run: Run, launch: Launch) -> bool:
    """Whether logits are there a tile at a time, and computed twice: not in SFT on a CPU, nor beside a served teacher."""
    return run.teacher is not None if run.samples else not launch.cpu


def activations(shape: Shape, tokens: int, each: int, checkpointing: bool) -> float:
    """Bytes that `tokens` tokens keep for the backward pass of an adapter on all linear layers.

    What autograd saves a layer and token, counted by hand: twice 2 hidden for norm and residual, what enters and leaves
    attention, and 4 ffn (gate, its activation, up, their product). With checkpointing one hidden a layer, and one layer.
    """
    query, kv = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    linear = 2 * shape.linear_key_heads * shape.linear_head_dim + 3 * shape.linear_value_heads * shape.linear_head_dim
    full = (3 if shape.gated else 2) * query + 2 * kv
    mixing = (full * shape.full_layers + linear * shape.linear_layers) / shape.layers
    ffn = shape.ffn * (shape.experts_used + 1 if shape.experts else 1)
    layer = tokens * each * (4 * shape.hidden + mixing + 4 * ffn)
    return shape.layers * tokens * each * shape.hidden + layer if checkpointing else shape.layers * layer


def parts(run: Run, device: Device, launch: Launch) -> list[Part]:
    """The parts of one optimizer step, in order."""
    shape, rows, count = run.student, run.rows, run.rows_per_step
    tokens, said = count * rows.row, count * rows.completion
    forward = 2 * tokens * (shape.active + run.trained) + shape.mixing(int(tokens), rows.row / 2)
    passes = count / run.micro_batch / launch.ranks
    found: list[Part] = []
    if run.decodes:
        found += sampling(run, device, launch)
    if run.teacher is not None:
        theirs = count * (rows.teacher_prompt + rows.completion)
        flops = 2 * theirs * run.teacher.active + run.teacher.mixing(int(theirs), (rows.teacher_prompt + rows.completion) / 2)
        flops += 2 * 2 * said * run.teacher.head  # its tiles of logits are computed twice: for the sums, and for the gradient
        if run.teacher_holds == "adapter":
            flops += 2 * theirs * run.trained
        found.append(_part("teacher", flops, 0.0, passes * _kernels(run, run.teacher), run.dtype, device, launch.ranks))
    ours = forward + 2 * said * shape.head
    found.append(_part("student forward", ours, 0.0, passes * _kernels(run, shape), run.dtype, device, launch.ranks))
    back = 2 * tokens * shape.active + 4 * tokens * run.trained + 2 * shape.mixing(int(tokens), rows.row / 2)
    again = forward if run.checkpointing else 0.0
    back += again + (2 if _tiled(run, launch) else 1) * 2 * said * shape.head
    kernels = passes * _kernels(run, shape) * (3 if run.checkpointing else 2)
    found.append(_part("student backward", back, 0.0, kernels, run.dtype, device, launch.ranks))
    if launch.ranks > 1:
        seconds = exchanged(run, launch) / device.link
        found.append(Part("exchange between devices", 0.0, seconds, "link"))
    return found


def sampling(run: Run, device: Device, launch: Launch) -> list[Part]:
    """Writing the completions with a KV cache: the prompts at once, then a token a row and step until the longest has ended."""
    shape, rows, each = run.student, run.rows, BYTES[run.dtype]
    asked = run.rows_per_step * rows.prompt
    flops = 2 * asked * (shape.active + run.trained) + shape.mixing(int(asked), rows.prompt / 2)
    begin = _part("rollout: prompts", flops, 0.0, _kernels(run, shape), run.dtype, device, launch.ranks)
    steps, here = rows.longest_completion, run.rows_per_step / launch.ranks
    context = rows.prompt + rows.longest_completion / 2
    # A decoding step reads all weights once and the cache of every row.
    read = (shape.active + shape.head) * each + 4 * run.trained + shape.cache(int(here * context), int(here), each)
    written = run.rows_per_step * steps
    flops = 2 * written * (shape.active + run.trained + shape.head) + shape.mixing(int(written), context)
    decode = _part("rollout: decoding", flops, steps * read, steps * _kernels(run, shape), run.dtype, device, launch.ranks)
    return [begin, decode]


def exchanged(run: Run, launch: Launch) -> float:
    """Bytes that one device sends in a step: the adapter's gradients, and the weights of each pass where they are shared."""
    ring = (launch.ranks - 1) / launch.ranks
    sent = 2 * ring * 4.0 * run.trained
    if launch.shares_weights:
        passes = run.rows_per_step / run.micro_batch / launch.ranks
        weights = ring * run.student.parameters * BYTES[run.dtype]
        times = 2 * passes + (1 if run.decodes else 0) + (passes if run.teacher is run.student else 0)
        sent += times * weights
    return sent


def _kernels(run: Run, shape: Shape) -> float:
    adapted = sum(one.used for one in shape.matrices if one.name in run.targets)
    return LAYER_KERNELS * shape.layers + TARGET_KERNELS * adapted


def _part(name: str, flops: float, bytes_each: float, kernels: float, dtype: str, device: Device, ranks: int) -> Part:
    """`flops` are of all ranks together, `bytes_each` and `kernels` of one."""
    times: dict[Bound, float] = {
        "FLOPs": flops / ranks / (device.flops[dtype] * device.mfu),
        "memory bandwidth": bytes_each / (device.bandwidth * device.reach),
        "kernel launches": kernels * device.launch,
    }
    bound = max(times, key=lambda name: times[name])
    return Part(name, flops, times[bound], bound)
