"""A CPU miniature of the tracker-scale curve: SmolLM2-135M whole and cut to fewer layers, distilled, the whole one as reference.

    python scripts/scale.py            (make scale)

The demo's traces and cold start → the whole model with its adapter merged, as the teacher → cuts of it, tuned and distilled
→ eval/tracker_scale.py. Every stage is a script with a shipped config and leaves what is complete as it is: from trained
adapters only the evaluation runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from intentfold.config import parse
from intentfold.stages import Stages

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
    stages = Stages(ROOT)
    stages.run("traces", "data_gen/build_traces", "demo")
    stages.run("examples", "data_gen/mine_examples", "demo")
    stages.run("cold start of the whole model", "train/sft", "demo")
    cut(stages, BASE, LAYERS, TEACHER, "--adapter=runs/demo/sft/adapter")
    for layers in CUTS:
        cut(stages, TEACHER, layers, f"runs/scale/models/cut{layers}")
        stages.run(f"{layers} layers: cold start", "train/sft", f"scale_cut{layers}")
        stages.run(f"{layers} layers: distillation", "train/opd", f"scale_cut{layers}")
    stages.run("tracker scale", "eval/tracker_scale", args.evaluation)
    print(f"{stages.cost()} Report: runs/scale/report.html")


def cut(stages: Stages, base: str, layers: int, out: str, *flags: str) -> None:
    """A model folder with fewer layers."""
    what = (f"--base={base}", f"--layers={layers}", f"--out={out}")
    stages.start(f"{layers} layers", "scripts/cut_model.py", *what, *flags)


if __name__ == "__main__":
    main()
