"""A CPU miniature of the tracker-scale curve: SmolLM2-135M whole and cut to fewer layers, distilled, the whole one as reference.

    python scripts/scale.py            (make scale)

The demo's traces and cold start → the whole model with its adapter merged, as the teacher → cuts of it, tuned and distilled
→ eval/tracker_scale.py. Every stage is a script with a shipped config and leaves what is complete as it is: from trained
adapters only the evaluation runs.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from intentfold.config import parse

ROOT = Path(__file__).parent.parent
BASE = "models/smollm2-135m-instruct"
TEACHER = "runs/scale/models/teacher"
LAYERS = 30  # of the whole model
CUTS = (10, 20)


@dataclass(frozen=True)
class Arguments:
    """What to run.

    Args:
        evaluation: config of the evaluation, under configs/eval/tracker_scale
    """

    evaluation: str = "smollm2"


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    python = [sys.executable]
    launch = [*python, "-m", "accelerate.commands.launch", "--config_file", "accelerate_configs/cpu.yaml"]
    stage("traces", python, "data_gen/build_traces", "demo")
    stage("examples", python, "data_gen/mine_examples", "demo")
    stage("cold start of the whole model", launch, "train/sft", "demo")
    cut(BASE, LAYERS, TEACHER, "--adapter=runs/demo/sft/adapter")
    for layers in CUTS:
        cut(TEACHER, layers, f"runs/scale/models/cut{layers}")
        stage(f"{layers} layers: cold start", launch, "train/sft", f"scale_cut{layers}")
        stage(f"{layers} layers: distillation", launch, "train/opd", f"scale_cut{layers}")
    stage("tracker scale", python, "eval/tracker_scale", args.evaluation)
    print("report: runs/scale/report.html")


def stage(name: str, start: list[str], script: str, config: str) -> None:
    """Run a script with one of its shipped configs."""
    run(name, [*start, f"{script}.py", "--config", f"configs/{script}/{config}.yaml"])


def cut(base: str, layers: int, out: str, *flags: str) -> None:
    """A model folder with fewer layers."""
    what = ["scripts/cut_model.py", f"--base={base}", f"--layers={layers}", f"--out={out}", *flags]
    run(f"{layers} layers", [sys.executable, *what])


def run(name: str, command: list[str]) -> None:
    """Run a stage, and say what CPU time it took."""
    print(f"\n== {name}: {' '.join(command[1:])}", flush=True)
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_WAIT_POLICY": "PASSIVE", "TOKENIZERS_PARALLELISM": "false"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, cwd=ROOT, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"== {name}: {spent / 60:.1f} CPU-minutes", flush=True)


if __name__ == "__main__":
    main()
