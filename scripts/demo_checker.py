"""The checker on a laptop: a small pretrained model learns to judge requirements, and a table shows what each step gave.

    python scripts/demo_checker.py

histories → examples → SFT → OPD, the same SFT continued for OPD's CPU time beside it → verdicts on held-out wording, on
held-out requirements and on a family held out whole. Every stage is a script with a shipped config; killed and started
again, it goes on where it was.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from intentfold.config import parse
from intentfold.metrics.demo import write_demo
from intentfold.metrics.plot import plot_arms
from intentfold.stages import Stages, steps_for_the_cpu_time_of

ROOT = Path(__file__).parent.parent
BASE = "models/smollm2-135m-instruct"
WHAT = (
    "SmolLM2-135M-Instruct judges requirements learned from corrections; users are simulated and the agent is scripted, so "
    "no LLM's work is judged here. Condition `test` is held-out users in held-out wording, `held_out_family` work of a family "
    "that training never saw, `held-out requirements` their questions about requirements that no training history has. "
    "`sft_continued` is the same SFT going on for OPD's CPU time; `opd_gain` is OPD − SFT, `opd_vs_continued` OPD − "
    "`sft_continued`, both paired differences in macro-F1."
)
SHOWN = ("macro_f1", "recall_unmet", "false_unmet", "ece", "sft_gain", "opd_gain", "opd_vs_continued")


@dataclass(frozen=True)
class Arguments:
    """What to run.

    Args:
        out: folder of the run
    """

    out: Path = Path("runs/demo-checker")


def main(argv: list[str] | None = None) -> None:
    out, stages = parse(Arguments, argv, __doc__).out, Stages(ROOT)
    stages.run("histories", "data_gen/build_histories", "demo", f"--out={out}/histories")
    stages.run("examples", "data_gen/mine_checker", "demo", f"--histories={out}/histories", f"--out={out}/examples")
    data, sft = f"--data={out}/examples", f"--init_adapter={out}/sft/adapter"
    stages.run("sft", "train/sft", "demo_checker", data, f"--out={out}/sft")
    stages.run("opd", "train/opd", "demo_checker", data, sft, f"--out={out}/opd")
    steps = steps_for_the_cpu_time_of(ROOT / out / "opd", ROOT / out / "sft")
    more = (data, sft, f"--steps={steps}", f"--out={out}/sft_continued")
    stages.run("sft continued", "train/sft", "demo_checker_continued", *more)
    adapters = {"base": None, **{run: f"{out}/{run}/adapter" for run in ("sft", "sft_continued", "opd")}}
    arms = {arm: {"base": BASE} | ({"adapter": adapter} if adapter else {}) for arm, adapter in adapters.items()}
    judged = (f"--examples={out}/examples", f"--out={out}/checker", f"--arms={json.dumps(arms)}")
    stages.run("checker", "eval/checker", "demo", *judged)
    report(ROOT / out, stages.cost())


def report(out: Path, cost: str) -> None:
    rows = json.loads((out / "checker/results.json").read_text(encoding="utf-8"))
    rest = "All metrics, and the verdicts on the comparisons: checker/report.md; calibration: checker/reliability.png."
    plot = partial(plot_arms, metric="macro_f1")
    write_demo(out, rows, plot, title="The checker's demo", what=WHAT, shown=SHOWN, cost=cost, rest=rest)


if __name__ == "__main__":
    main()
