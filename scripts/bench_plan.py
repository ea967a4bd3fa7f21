"""How far the estimate of `--dry-run` is right on one thread of a CPU: FLOPs, seconds and saved bytes, estimated and measured.

    OMP_NUM_THREADS=1 python scripts/bench_plan.py

Peaks first (a matrix product, a copy), then a forward and backward pass of a fresh adapter over rows of one length, then decoding
with a KV cache. Seconds are CPU time of this process. The table is that of docs/scaling.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from intentfold.config import parse
from intentfold.training.plan.cost import Rows, Run, activations, parts, sampling
from intentfold.training.plan.machine import DEVICES, Launch
from intentfold.training.plan.shape import shape_of

TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


@dataclass(frozen=True)
class Arguments:
    """What to measure.

    Args:
        base: folder of the model
        rows: rows of one pass
        prompt: tokens of a prompt
        completion: tokens of a completion
    """

    base: Path = Path("models/smollm2-135m-instruct")
    rows: int = 4
    prompt: int = 96
    completion: int = 32


def main(argv: list[str] | None = None) -> None:
    measure(parse(Arguments, argv, __doc__))


def cpu(work: Callable[[], Any]) -> float:
    """CPU seconds of `work`, the better of two after a warm-up."""
    found = []
    for _ in range(3):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return min(found[1:])


def measure(args: Arguments) -> None:
    import torch
    from peft import LoraConfig, get_peft_model
    from torch.utils.flop_counter import FlopCounterMode

    from intentfold.models import load

    torch.set_num_threads(1)
    a, b = torch.randn(1024, 1024), torch.randn(1024, 1024)
    peak = 2 * 1024**3 / cpu(lambda: a @ b)
    large = torch.randn(32 << 20)
    copied = 2 * large.numel() * 4 / cpu(large.clone)
    print(f"peaks of one thread: {peak / 1e9:.0f} GFLOP/s in float32, {copied / 1e9:.1f} GB/s copied")

    shape = shape_of(args.base)
    lengths = Rows(prompt=args.prompt, completion=args.completion, longest_completion=args.completion)
    run = Run(
        student=shape, rank=16, targets=TARGETS, dtype="float32", rows_per_step=args.rows, micro_batch=args.rows,
        max_length=args.prompt + args.completion, checkpointing=False, rows=lengths,
    )  # fmt: skip
    device, one = DEVICES["CPU-thread"], Launch("one", 1, cpu=True)
    forward, backward = parts(run, device, one)
    bare, _ = load(args.base)
    model = get_peft_model(bare, LoraConfig(r=16, target_modules=list(TARGETS), task_type="CAUSAL_LM"))
    ids = torch.randint(3, 1000, (args.rows, args.prompt + args.completion))
    kept: dict[int, int] = {}
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.untyped_storage().data_ptr() not in own:
            kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    def ahead() -> torch.Tensor:
        hidden = model.get_base_model().base_model(input_ids=ids).last_hidden_state[:, args.prompt :]
        return bare.get_output_embeddings()(hidden.flatten(0, 1)).logsumexp(-1).sum()

    with FlopCounterMode(display=False) as counter, torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        loss = ahead()
        counted = [counter.get_total_flops()]
        said = args.rows * args.completion * shape.vocab * 4
        saved = sum(kept.values()) - said
        loss.backward()
        counted.append(counter.get_total_flops() - counted[0])
    seconds = cpu(ahead)
    both = cpu(lambda: ahead().backward())
    bytes_kept = activations(shape, ids.numel(), 4, checkpointing=False)
    line("forward", forward.flops, counted[0], seconds, peak)
    line("backward", backward.flops, counted[1], both - seconds, peak)
    print(f"saved for the backward pass: {bytes_kept / 1e6:.0f} MB estimated, {saved / 1e6:.0f} MB kept by autograd")

    decode = sampling(run, device, one)[1]
    rest = ids[:, : args.prompt]
    with torch.inference_mode():
        cache = model(input_ids=rest, use_cache=True).past_key_values

        def write() -> None:
            for _ in range(args.completion):
                model(input_ids=rest[:, :1], past_key_values=cache, use_cache=True)

        began = time.process_time()
        write()
        seconds = time.process_time() - began
    line("decoding", decode.flops, None, seconds, peak)
    read = args.completion * (shape.active + shape.head) * 4
    print(f"decoding: weights read at {read / seconds / 1e9:.1f} GB/s, {args.rows * args.completion / seconds:.0f} tokens/s")


def line(name: str, estimated: float, counted: float | None, seconds: float, peak: float) -> None:
    """One row: the estimated FLOPs, those that torch counted, and how fast they went."""
    theirs = "" if counted is None else f", {counted / 1e9:.2f} counted by torch"
    rate = f"{estimated / seconds / 1e9:.1f} GFLOP/s, MFU {estimated / seconds / peak:.0%}"
    print(f"{name}: {estimated / 1e9:.2f} GFLOP estimated{theirs}, {seconds:.2f} CPU-s, {rate}")


if __name__ == "__main__":
    main()
