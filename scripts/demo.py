"""The main job on a laptop: a small pretrained model learns to fold intent, and a table shows what each step gave.

    python scripts/demo.py            (built-in tasks)
    python scripts/demo.py --data ../shared/data   (real tasks beside the built-in ones)

traces → examples → SFT → OPD, the same SFT continued for OPD's CPU time beside it → closed loop on held-out tasks in
held-out wording, and how likely held text is to the last two. Every stage is a script with a shipped config; killed and
started again, it goes on where it was.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from intentfold.config import parse
from intentfold.metrics.demo import write_demo
from intentfold.metrics.plot import plot_scores
from intentfold.metrics.report import Row
from intentfold.records import to_json
from intentfold.stages import Stages, steps_for_the_cpu_time_of

ROOT = Path(__file__).parent.parent
BASE = "models/smollm2-135m-instruct"
WHAT = (
    "SmolLM2-135M-Instruct on held-out tasks told in held-out wording; the agent is the state executor, which is no model, "
    "so scores measure the tracker. `sft_continued` is the same SFT going on, on the same traces, for OPD's CPU time."
)
# Nats a token on held text, OPD minus SFT continued: above 0, OPD kept more of its base's general skill.
HELD_TEXT = "held_text_vs_continued"
SHOWN = ("mean_score", "car", "exact_state", "recovery", "obsolete_retention", "opd_gain", "opd_vs_continued", HELD_TEXT)


@dataclass(frozen=True)
class Arguments:
    """What to run.

    Args:
        out: folder of the run
        data: folder with bfcl, spider and gsm8k in their upstream formats; built-in tasks alone without it
    """

    out: Path = Path("runs/demo")
    data: Path | None = None


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    out, stages = args.out, Stages(ROOT)
    traces = ("demo_real", f"--data={args.data}") if args.data is not None else ("demo",)
    stages.run("traces", "data_gen/build_traces", *traces, f"--out={out}/traces")
    stages.run("examples", "data_gen/mine_examples", "demo", f"--traces={out}/traces", f"--out={out}/examples")
    stages.run("sft", "train/sft", "demo", f"--data={out}/examples", f"--out={out}/sft")
    sft = f"--init_adapter={out}/sft/adapter"
    stages.run("opd", "train/opd", "demo", f"--traces={out}/traces", sft, f"--out={out}/opd")
    steps = steps_for_the_cpu_time_of(ROOT / out / "opd", ROOT / out / "sft")
    more = (f"--data={out}/examples", sft, f"--steps={steps}", f"--out={out}/sft_continued")
    stages.run("sft continued", "train/sft", "demo_continued", *more)
    adapters = {"base": None, **{run: f"{out}/{run}/adapter" for run in ("sft", "sft_continued", "opd")}}
    arms = {arm: {"base": BASE} | ({"adapter": adapter} if adapter else {}) for arm, adapter in adapters.items()}
    tested = (f"--episodes={out}/traces/test.jsonl", f"--out={out}/closed_loop", f"--arms={json.dumps(arms)}")
    stages.run("closed loop", "eval/closed_loop", "demo", *tested)
    # General skill kept: which of the two ways on from the cold start leaves the likelier held text.
    both = (f"--adapter={out}/opd/adapter", f"--against={out}/sft_continued/adapter", "--executable=false")
    stages.run("held text", "eval/regression_guard", "demo", *both, f"--out={out}/guard")
    report(ROOT / out, stages.cost())


def report(out: Path, cost: str) -> None:
    rows = json.loads((out / "closed_loop/results.json").read_text(encoding="utf-8"))
    [guard] = json.loads((out / "guard/results.json").read_text(encoding="utf-8"))
    spread = {name: guard[name] for name in ("mean", "low", "high", "n")}
    rows.append(to_json(Row("opd", "held text", HELD_TEXT, **spread, agent="-")))
    rest = "All metrics: closed_loop/report.md."
    write_demo(out, rows, plot_scores, title="Demo", what=WHAT, shown=SHOWN, cost=cost, rest=rest)


if __name__ == "__main__":
    main()
