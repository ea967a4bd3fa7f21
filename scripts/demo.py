"""The main job on a laptop: a small pretrained model learns to fold intent, and a table shows what each step gave.

    python scripts/demo.py            (built-in tasks)
    python scripts/demo.py --data ../shared/data   (real tasks beside the built-in ones)

traces → examples → SFT → OPD, the same SFT continued for OPD's CPU time beside it → closed loop on held-out tasks in
held-out wording. Every stage is a script with a shipped config; killed and started again, it goes on where it was.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from intentfold.config import parse
from intentfold.metrics.plot import plot_scores
from intentfold.metrics.report import Row, table
from intentfold.records import from_json, write_text

ROOT = Path(__file__).parent.parent
BASE = "models/smollm2-135m-instruct"
WHAT = (
    "SmolLM2-135M-Instruct on held-out tasks told in held-out wording; the agent is the state executor, which is no model, "
    "so scores measure the tracker. `sft_continued` is the same SFT going on, on the same traces, for OPD's CPU time."
)
SHOWN = ("mean_score", "car", "exact_state", "recovery", "obsolete_retention", "opd_gain", "opd_vs_continued")


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
    out = args.out
    python = [sys.executable]
    launch = [*python, "-m", "accelerate.commands.launch", "--config_file", "accelerate_configs/cpu.yaml"]
    config = "demo_real" if args.data is not None else "demo"
    data = [f"--data={args.data}"] if args.data is not None else []
    spent: dict[str, float] = {}

    def stage(name: str, command: list[str]) -> None:
        print(f"\n== {name}: {' '.join(command[1:])}", flush=True)
        before, started = cpu_seconds(), time.monotonic()
        subprocess.run(command, check=True, cwd=ROOT, env=environment())
        spent[name] = cpu_seconds() - before
        print(f"== {name}: {spent[name] / 60:.1f} CPU-minutes, {(time.monotonic() - started) / 60:.1f} minutes", flush=True)

    def configured(script: str, *flags: str, config: str = "demo") -> list[str]:
        return [f"{script}.py", "--config", f"configs/{script}/{config}.yaml", *flags]

    traces = configured("data_gen/build_traces", f"--out={out}/traces", *data, config=config)
    stage("traces", python + traces)
    stage("examples", python + configured("data_gen/mine_examples", f"--traces={out}/traces", f"--out={out}/examples"))
    stage("sft", launch + configured("train/sft", f"--data={out}/examples", f"--out={out}/sft"))
    sft = f"{out}/sft/adapter"
    stage("opd", launch + configured("train/opd", f"--traces={out}/traces", f"--init_adapter={sft}", f"--out={out}/opd"))
    # The budget in steps, from what the finished runs took: a run by steps ends the same after a kill, one by the clock does not.
    cost = {run: json.loads((ROOT / out / run / "metrics.json").read_text(encoding="utf-8")) for run in ("sft", "opd")}
    steps = max(1, round(cost["opd"]["cpu_seconds"] / (cost["sft"]["cpu_seconds"] / cost["sft"]["steps"])))
    flags = [f"--data={out}/examples", f"--init_adapter={sft}", f"--steps={steps}", f"--out={out}/sft_continued"]
    stage("sft continued", launch + configured("train/sft", *flags, config="demo_continued"))
    adapters = {"base": None, **{run: f"{out}/{run}/adapter" for run in ("sft", "sft_continued", "opd")}}
    arms = {arm: {"base": BASE} | ({"adapter": adapter} if adapter else {}) for arm, adapter in adapters.items()}
    flags = [f"--episodes={out}/traces/test.jsonl", f"--out={out}/closed_loop", f"--arms={json.dumps(arms)}"]
    stage("closed loop", python + configured("eval/closed_loop", *flags))
    report(ROOT / out, spent)


def environment() -> dict[str, str]:
    """Offline, and with threads that sleep while they wait: on a shared machine, spinning costs many times its use."""
    return {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_WAIT_POLICY": "PASSIVE", "TOKENIZERS_PARALLELISM": "false"}


def cpu_seconds() -> float:
    """CPU time of all finished stages."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def report(out: Path, spent: dict[str, float]) -> None:
    """results.json, scores.png and report.md in the run's folder, and the table on the screen."""
    shutil.copy(out / "closed_loop/results.json", out / "results.json")
    rows = json.loads((out / "results.json").read_text(encoding="utf-8"))
    plot_scores(rows, out / "scores.png")
    found = [from_json(Row, row) for row in rows]
    shown = table([row for row in found if row.metric in SHOWN and row.mean is not None])
    costs = ", ".join(f"{name} {seconds / 60:.1f}" for name, seconds in spent.items())
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    cost = f"CPU-minutes: {costs}; together {sum(spent.values()) / 60:.1f}. Peak memory of a stage: {peak:.1f} GiB."
    text = "\n".join(
        ["# Demo", "", WHAT, "", shown, "", "![scores](scores.png)", "", cost, "", "All metrics: closed_loop/report.md.", ""]
    )
    write_text(out / "report.md", text)
    print(f"\n{shown}\n\n{cost}\nreport: {out / 'report.md'}")


if __name__ == "__main__":
    main()
