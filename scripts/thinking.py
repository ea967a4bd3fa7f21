"""Thinking distillation on a laptop: a small agent learns to think its way through drifting dialogues, without a harness.

    python scripts/thinking.py

traces → right answers → SFT (the agent before) → thoughts of the scripted teacher, graded → thinking distillation →
both agents alone with held-out tasks in held-out wording, drifting and clean, greedy and avg@3. Every stage is a script with a
shipped config; killed and started again, it goes on where it was.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from intentfold.config import parse
from intentfold.metrics.demo import write_demo
from intentfold.metrics.plot import plot_arms
from intentfold.stages import Stages

ROOT = Path(__file__).parent.parent
BASE = "models/smollm2-135m-instruct"
WHAT = (
    "SmolLM2-135M-Instruct answers tool tasks alone: no tracker, no harness. `cold` was trained on right answers to drifting "
    "dialogues and clean requests and answers at once; `distilled` went on from it on thoughts that walk from turn to turn to "
    "what holds now, clean requests among them, and thinks first. `distillation_gain` is distilled − cold, paired by case; a "
    "thought that does not end counts as a wrong answer (`unended_thoughts`)."
)
SHOWN = ("mean_score", "avg@3", "idg", "unended_thoughts", "tokens", "distillation_gain, greedy", "distillation_gain, avg@3")


@dataclass(frozen=True)
class Arguments:
    """What to run.

    Args:
        out: folder of the run
    """

    out: Path = Path("runs/thinking")


def main(argv: list[str] | None = None) -> None:
    out, stages = parse(Arguments, argv, __doc__).out, Stages(ROOT)
    stages.run("traces", "data_gen/build_traces", "thinking", f"--out={out}/traces")
    source, cold = f"--source={out}/traces", f"--init_adapter={out}/cold/adapter"
    stages.run("answers", "data_gen/mine_rationales", "demo_cold", source, f"--out={out}/cold_answers")
    stages.run("thoughts", "data_gen/mine_rationales", "demo", source, f"--out={out}/thoughts")
    stages.run("cold start", "train/sft", "demo_agent", f"--data={out}/cold_answers", f"--out={out}/cold")
    stages.run("distillation", "train/thinking", "demo", f"--thoughts={out}/thoughts", cold, f"--out={out}/distilled")
    agents = {name: {"base": BASE, "adapter": f"{out}/{name}/adapter"} for name in ("cold", "distilled")}
    agents["distilled"]["thinking"] = "plain"
    tested = (f"--episodes={out}/traces/test.jsonl", f"--out={out}/standalone", f"--agents={json.dumps(agents)}")
    stages.run("agents alone", "eval/standalone", "demo", *tested)
    report(ROOT / out, stages.cost())


def report(out: Path, cost: str) -> None:
    rows = json.loads((out / "standalone/results.json").read_text(encoding="utf-8"))
    rest = "All metrics, and the verdicts on the comparisons: standalone/report.md; every thought: standalone/cases.jsonl."
    plot = partial(plot_arms, metric="mean_score")
    write_demo(out, rows, plot, title="Thinking distillation", what=WHAT, shown=SHOWN, cost=cost, rest=rest)


if __name__ == "__main__":
    main()
