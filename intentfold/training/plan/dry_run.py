"""`--dry-run` of the training scripts: what a step of the user's own config costs, as text. Pure Python, no torch."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from intentfold.codec.thinking import Thinking, encode_thinking, style_of
from intentfold.dialogue import to_messages
from intentfold.example import Example
from intentfold.mining.examples import oracle_examples
from intentfold.prompts.tracker import Codec
from intentfold.records import from_json
from intentfold.trace import Episode
from intentfold.training.arguments import TrainArguments
from intentfold.training.plan.cost import Part, Rows, Run, memory, parts
from intentfold.training.plan.machine import DEVICES, Device, Launch, launch_of_environment, launch_of_file
from intentfold.training.plan.shape import Shape, shape_of

SHOWN = 256  # rows that lengths are measured on
BYTES_A_TOKEN = 4.0  # assumed where the base's tokenizer is not there


@dataclass(frozen=True, kw_only=True)
class Teaching:
    """On-policy distillation: who teaches, what its prompt holds (the right answer, `worked` examples), the longest completion.

    `model` is the folder (or known name) of a teacher with weights of its own; None for the student's own base, whose frozen
    adapter `adapter` says is held beside the trained one. A `served` one is on other devices, and none of its cost is here, nor
    that of samples drawn `by_vllm`.
    """

    model: Path | None
    adapter: bool
    privileged: bool
    max_completion: int
    worked: int = 0
    served: bool = False
    by_vllm: bool = False


def examples_of(folder: Path, split: str) -> list[Example]:
    """The first examples of a dataset folder; none where it is not there yet."""
    return [from_json(Example, line) for line in _first(folder / f"{split}.jsonl", SHOWN)]


def folds_of(folder: Path, codec: Codec, window: int | None) -> list[Example]:
    """The folds of the first episodes of split train of a folder of traces, as examples; none where it is not there yet."""
    episodes = (from_json(Episode, line) for line in _first(folder / "train.jsonl", SHOWN // 8))
    return list(islice((one for episode in episodes for one in oracle_examples(episode, codec=codec, window=window)), SHOWN))


def _first(file: Path, count: int) -> list[str]:
    if not file.is_file():
        return []
    with file.open(encoding="utf-8") as lines:
        return list(islice(lines, count))


@dataclass(frozen=True)
class Plan:
    """A run's optimizer step, what it is planned for, and how the lengths of its rows were come by."""

    run: Run
    device: Device
    launch: Launch
    measured: str

    @property
    def parts(self) -> list[Part]:
        """The parts of a step."""
        return parts(self.run, self.device, self.launch)


def of_sft(args: Any) -> Plan:
    """The plan of a step of train/sft.py with these arguments."""
    return plan(args, examples_of(args.data, args.split))


def of_thinking(args: Any) -> Plan:
    """The plan of a step of train/thinking.py with these arguments."""
    return plan(args, examples_of(args.thoughts, args.split))


def of_opd(args: Any) -> Plan:
    """The plan of a step of train/opd.py with these arguments.

    Raises `ValueError` for rows that are whole dialogues: most of what they cost is shared, which this does not reckon with.
    """
    tracker = args.role == "tracker"
    if not args.window:
        raise ValueError(f"window must be above 0 in a dry run, got {args.window}: it knows no rows that are whole dialogues")
    shown = folds_of(args.traces, args.codec, args.window or None) if tracker else examples_of(args.data, "train")
    teaching = Teaching(
        model=args.teacher_model,
        adapter=args.teacher == "adapter",
        privileged=args.teacher_sees == "privileged",
        max_completion=args.max_completion,
        worked=args.worked_examples,
        served=args.teacher == "served",
        by_vllm=args.rollouts is not None,
    )
    return plan(args, shown, teaching)


def plan(args: TrainArguments, shown: Sequence[Example], teaching: Teaching | None = None) -> Plan:
    """What one optimizer step of `args` costs on rows like `shown`.

    Raises `ValueError` where the launch does not divide the rows, or its config or the model's shape is not known.
    """
    launch = launch_of_file(args.dry_run_launch) if args.dry_run_launch else launch_of_environment(os.environ)
    device = DEVICES[args.dry_run_device or ("CPU-thread" if launch.cpu else "H200")]
    if args.rows_per_step % (args.micro_batch * launch.ranks):
        raise ValueError(
            f"rows_per_step must be a multiple of micro_batch x ranks ({args.micro_batch} x {launch.ranks}), "
            f"got {args.rows_per_step}"
        )
    student = shape_of(args.base)
    rows, measured = lengths(args, shown, teaching)
    teacher, holds = _teacher(student, teaching)
    rank, targets = _adapter(args)
    run = Run(
        student=student,
        rank=rank,
        targets=targets,
        dtype=args.dtype,
        rows_per_step=args.rows_per_step,
        micro_batch=args.micro_batch,
        max_length=args.max_length,
        checkpointing=args.checkpointing,
        rows=rows,
        samples=teaching is not None,
        by_vllm=teaching is not None and teaching.by_vllm,
        teacher=teacher,
        teacher_holds=holds,
    )
    return Plan(run, device, launch, measured)


def _adapter(args: TrainArguments) -> tuple[int, tuple[str, ...]]:
    """Rank and targets of the adapter: those of `init_adapter` where that is there."""
    file = (args.init_adapter or Path()) / "adapter_config.json"
    if not file.is_file():
        return args.lora_r, tuple(args.lora_targets)
    config = json.loads(file.read_text(encoding="utf-8"))
    return config["r"], tuple(config["target_modules"]) if isinstance(config["target_modules"], list) else tuple(
        args.lora_targets
    )


def _teacher(student: Shape, teaching: Teaching | None) -> tuple[Shape | None, Literal["adapter", "nothing", "weights"]]:
    if teaching is None or teaching.served:
        return None, "nothing"
    if teaching.model is not None:
        return shape_of(teaching.model), "weights"
    return student, "adapter" if teaching.adapter else "nothing"


def lengths(args: TrainArguments, shown: Sequence[Example], teaching: Teaching | None) -> tuple[Rows, str]:
    """Lengths of rows like `shown` in tokens, and how they were come by; without any, rows as long as `args` allows."""
    longest = teaching.max_completion if teaching else args.max_length // 8
    if not shown:
        prompt = float(args.max_length - longest)
        rows = Rows(prompt=prompt, completion=float(longest), longest_completion=float(longest), teacher_prompt=prompt)
        return rows, "there is no data yet: rows as long as max_length allows"
    count, counted = _counter(args.base)
    prompts = [count("\n".join(one["content"] for one in to_messages(example.messages))) for example in shown]
    told = [count("\n".join(one["content"] for one in to_messages(example.privileged))) for example in shown]
    said = [count(_written(example)) + 1 for example in shown]
    completion, teacher_prompt = sum(said) / len(shown), sum(told if teaching and teaching.privileged else prompts) / len(shown)
    rows = Rows(
        prompt=sum(prompts) / len(shown),
        completion=completion,
        longest_completion=float(min(max(said), longest) if teaching else max(said)),
        teacher_prompt=teacher_prompt + (teaching.worked if teaching else 0) * (teacher_prompt + completion),
    )
    return rows, f"{len(shown)} rows, {counted}, the chat template's own tokens and what rows share left out"


def _written(example: Example) -> str:
    """What the model writes: the completion, after its thought where the codec has one."""
    style = style_of(example.provenance.codec)
    return example.completion if style is None else encode_thinking(Thinking(example.thought, example.completion), style)


def _counter(base: Path) -> tuple[Callable[[str], float], str]:
    file = base / "tokenizer.json"
    if not file.is_file():
        return (lambda text: len(text.encode()) / BYTES_A_TOKEN), f"{BYTES_A_TOKEN:g} bytes a token assumed"
    from tokenizers import Tokenizer

    tokenizer: Any = Tokenizer.from_file(str(file))
    return (lambda text: float(len(tokenizer.encode(text).ids))), "counted by the base's tokenizer"


def text(planned: Plan) -> str:
    """The report: parameters, memory, tokens, FLOPs and seconds, each with what it assumes."""
    run, device, launch, found = planned.run, planned.device, planned.launch, planned.parts
    shape, rows, held = run.student, run.rows, memory(run, launch)
    seconds, flops = sum(part.seconds for part in found), sum(part.flops for part in found)
    tokens = run.rows_per_step * rows.row
    room = sum(held.values()) / device.memory
    lines = [
        f"Estimate, not a measurement: {shape.name} on {launch.ranks} x {device.name} ({launch.kind}), {run.dtype}",
        f"  assumed: {device.mfu:.0%} of {device.flops[run.dtype] / 1e12:g} TFLOP/s, {device.reach:.0%} of "
        f"{device.bandwidth / 1e12:g} TB/s, {device.launch * 1e6:g} us a kernel",
        f"  lengths: {planned.measured}",
        "",
        f"parameters   trained {run.trained:,} (LoRA r {run.rank}), frozen {shape.parameters:,}",
        f"tokens       {tokens:,.0f} a step: {run.rows_per_step} rows of {rows.prompt:.0f} + {rows.completion:.0f}",
        "",
        f"memory on one device, rows as long as max_length ({run.max_length}), micro_batch {run.micro_batch}",
        *(f"  {name:<26}{size / 1e9:>9.3f} GB" for name, size in held.items()),
        f"  {'all':<26}{sum(held.values()) / 1e9:>9.3f} GB of {device.memory / 1e9:g} ({room:.0%})",
        "",
        f"{'one optimizer step':<28}{'TFLOP':>10}{'seconds':>10}  bound by",
        *(_line(part) for part in found),
        f"  {'all':<26}{flops / 1e12:>10.3f}{seconds:>10.3f}  {tokens / seconds:,.0f} tokens/s",
    ]
    if run.samples and run.teacher is None:
        lines.append("The served teacher's own step is not in it, nor what waiting for it takes")
    if run.by_vllm:
        lines.append("What vLLM computes and holds to sample is not in it, nor the proof of what it samples")
    if room > 1:
        lines.append(
            f"It does not fit: {sum(held.values()) / 1e9:.1f} GB are more than the {device.memory / 1e9:g} of a {device.name}"
        )
    return "\n".join(lines)


def _line(part: Part) -> str:
    return f"  {part.name:<26}{part.flops / 1e12:>10.3f}{part.seconds:>10.3f}  {part.bound}"
