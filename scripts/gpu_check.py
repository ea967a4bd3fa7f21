"""What scripts/gpu_check.sh runs: pack for a machine without a network, or train on one device and print what it reached.

    python scripts/gpu_check.py --stage pack|gpu|tiny

`gpu` and `tiny` run train/sft.py, train/opd.py (the frozen SFT adapter teaches) and train/export_adapter.py in this process, time
their steps and set them beside the estimate of `--dry-run`. Weights drawn at random are no teacher: for them there is no gate.
"""

from __future__ import annotations

import gc
import json
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch

from intentfold.config import parse
from intentfold.training.plan.dry_run import Plan, of_opd, of_sft

MODEL = Path("models/smollm2-135m-instruct")
# Beside what such a machine has: TRL and datasets with what they need, peft, and what reads this project's records and arguments.
WHEELS = (
    "trl==1.16.0", "datasets==5.2.0", "peft==0.21.2", "dill==0.4.1", "multiprocess==0.70.19", "jsonargparse==4.53.0",
    "pydantic==2.14.4", "pydantic-core==2.50.5", "annotated-types==0.8.0", "typing-inspection==0.4.5", "sqlglot==30.30.0",
)  # fmt: skip
LIMIT = 56 << 20  # bytes of the pack: the checkout travels with it, 64 MiB in all


@dataclass(frozen=True)
class Arguments:
    """What to do, and where.

    Args:
        stage: `pack` collects what travels, `gpu` is the check itself, `tiny` the same in a few seconds on a CPU
        pack: folder of what travels
        out: folder of the runs
    """

    stage: Literal["pack", "gpu", "tiny"]
    pack: Path = Path(".gpu")
    out: Path = Path("runs/gpu-check")


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    if args.stage == "pack":
        pack(args.pack)
        return
    if not (args.pack / "traces").is_dir():
        raise SystemExit(f"{args.pack}: no pack here: scripts/gpu_check.sh --pack makes it where there is a package registry")
    check(args)


def pack(folder: Path) -> None:
    """Wheels for Python 3.12 without their needs, config and tokenizer of the model, and rows for some steps."""
    shutil.rmtree(folder, ignore_errors=True)
    platforms = [word for name in ("_2_28", "_2_17", "2014") for word in ("--platform", f"manylinux{name}_x86_64")]
    fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--python-version", "3.12"]
    subprocess.run([*fetch, "--implementation", "cp", *platforms, "--dest", str(folder / "wheels"), *WHEELS], check=True)
    (folder / "base").mkdir()
    for file in MODEL.iterdir():
        if file.suffix != ".safetensors":
            shutil.copy(file, folder / "base")
    traces = ["--out", folder / "traces", "--families", '{"tools": 200}', "--loads", "[1]", "--seed", "11"]
    style = ["--style", '{"chat": 0.08, "several": 0.3, "priorities": 0.0, "conclusions": 0.0, "branches": 1}']
    subprocess.run([sys.executable, "data_gen/build_traces.py", *map(str, traces), *style], check=True)
    examples = ["--traces", folder / "traces", "--out", folder / "examples"]
    subprocess.run([sys.executable, "data_gen/mine_examples.py", *map(str, examples)], check=True, stdout=subprocess.DEVNULL)
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    if size > LIMIT:
        raise SystemExit(f"{folder}: {size / 2**20:.1f} MiB are more than the {LIMIT >> 20} that may travel")
    print(f"{folder}: {size / 2**20:.1f} MiB")


def check(args: Arguments) -> None:
    import torch

    tiny = args.stage == "tiny"
    if not tiny and not torch.cuda.is_available():
        raise SystemExit("no GPU here: scripts/gpu_check.sh --cpu runs the same in a tiny size")
    began = time.monotonic()
    names = ("torch", "transformers", "trl", "peft", "accelerate", "datasets", "pyarrow")
    print(", ".join(f"{name} {installed(name)}" for name in names), f"Python {sys.version.split()[0]}", sep=", ")
    shutil.rmtree(args.out, ignore_errors=True)
    base, drawn = model_in(args)
    size = {"rows_per_step": 4, "micro_batch": 2} if tiny else {"rows_per_step": 64, "micro_batch": 32}
    common = {"base": base, "dtype": "float32" if tiny else "bfloat16", **size, "log_steps": 1, "save_steps": 1000}
    common["dry_run_device"] = "CPU-thread" if tiny else "H200"
    sft, opd = args.out / "sft", args.out / "opd"
    learned = {"data": args.pack / "examples", "steps": 4 if tiny else 60, "learning_rate": 1e-3}
    lines = [watched("train/sft.py", {**common, **learned, "out": sft}, of_sft, gate=True)]
    taught: dict[str, Any] = {"init_adapter": sft / "adapter", "traces": args.pack / "traces"}
    taught |= {"max_completion": 4, "steps": 3} if tiny else {"max_completion": 48, "steps": 12}
    lines.append(watched("train/opd.py", {**common, **taught, "out": opd}, of_opd, gate=not drawn))
    # In bfloat16 another device's kernels alone move a logit by some tenths: the effect on the base must be larger.
    exported = {"run": opd, "out": args.out / "adapter", "name": "check", "tolerance": 1e-4 if tiny else 0.5}
    script("train/export_adapter.py").main(flags(exported))
    print(*lines, sep="\n")
    if drawn:
        print("the weights were drawn at random: no gate, and losses mean nothing")
    print(f"{time.monotonic() - began:.0f} s in all")


def flags(values: Mapping[str, Any]) -> list[str]:
    return [f"--{name}={value}" for name, value in values.items()]


def watched(path: str, values: Mapping[str, Any], plan: Callable[[Any], Plan], *, gate: bool) -> str:
    """Run a training script with its steps timed; returns what it reached, beside what `plan` makes of its arguments.

    The first step compiles and allocates: it is left out. `gate` off leaves out the teacher's gate.
    """
    import torch
    from transformers import TrainerCallback

    from intentfold.training import opd, runs

    ends, on_gpu = [time.perf_counter()], torch.cuda.is_available()

    class Stopwatch(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if on_gpu:
                torch.cuda.synchronize()
            ends.append(time.perf_counter())

    callbacks, module, trainer = runs.callbacks, script(path), opd.OnPolicyTrainer
    if on_gpu:
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    with (
        patch.object(runs, "callbacks", lambda args: [*callbacks(args), Stopwatch()]),
        nullcontext() if gate else patch.object(trainer, "check_teacher", lambda self: None),
    ):
        module.main(flags(values))
    planned = plan(parse(module.Arguments, flags(values), None))
    log = json.loads((Path(values["out"]) / "metrics.json").read_text(encoding="utf-8"))["log"]
    if said := [entry["rollout/tokens"] for entry in log if "rollout/tokens" in entry]:
        rows = replace(planned.run.rows, completion=statistics.mean(said))
        planned = replace(planned, run=replace(planned.run, rows=rows))
    step = statistics.median([after - before for before, after in pairwise(ends)][1:])
    flops, expected = sum(part.flops for part in planned.parts), sum(part.seconds for part in planned.parts)
    tokens, share = planned.run.rows_per_step * planned.run.rows.row, flops / step / planned.device.flops[planned.run.dtype]
    peak = torch.cuda.max_memory_allocated() if on_gpu else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    bounds = ", ".join(sorted({part.bound for part in planned.parts}))
    return (
        f"{Path(path).stem}: {step:.3f} s a step ({expected:.3f} estimated: {bounds}), {tokens / step:,.0f} tokens/s, "
        f"peak {peak / 2**30:.2f} GiB, MFU {share:.1%} of {planned.device.flops[planned.run.dtype] / 1e12:g} TFLOP/s"
    )


def installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


def model_in(args: Arguments) -> tuple[Path, bool]:
    """The model's folder, and whether its weights had to be drawn (always in the tiny size, with two layers)."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    if args.stage == "gpu" and (MODEL / "model.safetensors").is_file():
        return MODEL, False
    base = args.out / "base"
    shutil.copytree(args.pack / "base", base)
    config = AutoConfig.from_pretrained(base)
    if args.stage == "tiny":
        config.num_hidden_layers, config.hidden_size, config.intermediate_size = 2, 64, 128
        config.num_attention_heads, config.num_key_value_heads, config.head_dim = 2, 1, 32
    torch.manual_seed(0)
    AutoModelForCausalLM.from_config(config, dtype=torch.float32).save_pretrained(base)
    return base, True


def script(path: str) -> Any:
    """A script of this checkout as a module."""
    import importlib.util

    spec = importlib.util.spec_from_file_location(Path(path).stem + "_checked", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
