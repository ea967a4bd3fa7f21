"""On-policy distillation of whole dialogues: IntentFold beside TRL's DistillationTrainer and GKDTrainer.

    make bench-opd        (python scripts/bench_opd.py)

Every arm runs in a process of its own on one thread, arm after arm, round after round: the same random student and teacher,
the same dialogues, every turn supervised. Leaves `<out>/results.json`, rows of {arm, mode, turns, cpu_s, rss_mb}: the
median CPU-seconds of an optimizer step and the peak memory over that after the imports. Started again it goes on. Ends with
an error where the gradients of the first step, on given tokens, do not agree: to 1e-4 of their norm among IntentFold and
DistillationTrainer; GKDTrainer's in direction alone, since it divides by another count of tokens.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from intentfold.config import check_same_run, parse, record_run

ARMS = ("intentfold", "intentfold_own_states", "trl_distillation", "trl_distillation_checkpointing", "trl_gkd", "trl_gkd_plain")
MODE = "whole_history"
SYSTEM, TURN, STATE, WRITTEN = 128, 48, 24, 24


@dataclass(frozen=True)
class Arguments:
    """What to measure.

    Args:
        out: folder of the figures
        turns: lengths of dialogues
        gkd_turns: those of them at which GKDTrainer runs: it holds several tensors of all tokens' logits, 2.6 GB each at 25 turns
        rounds: how often every arm is run
        steps: timed optimizer steps of a run
        student: hidden size and layers of the random student
        teacher: hidden size and layers of the random teacher
        vocabulary: tokens of both
    """

    out: Path = Path("runs/bench-opd")
    turns: list[int] = field(default_factory=lambda: [8, 25])
    gkd_turns: list[int] = field(default_factory=lambda: [8])
    rounds: int = 3
    steps: int = 2
    student: tuple[int, int] = (256, 4)
    teacher: tuple[int, int] = (512, 8)
    vocabulary: int = 32000


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    check_same_run(args.out, args)
    record_run(args.out, args)
    rows: list[dict[str, Any]] = []
    for turns in args.turns:
        arms = [arm for arm in ARMS if "gkd" not in arm or turns in args.gkd_turns]
        for number in range(args.rounds):
            for arm in arms:
                run(args, arm, turns, number)
        check_gradients({arm: folder(args, arm, turns, 0) for arm in arms})
        for arm in arms:
            facts = [json.loads((folder(args, arm, turns, n) / "arm.json").read_text()) for n in range(args.rounds)]
            cpu_s = statistics.median(second for one in facts for second in one["cpu_s"])
            rss_mb = statistics.median(one["rss_mb"] for one in facts)
            rows.append({"arm": arm, "mode": MODE, "turns": turns, "cpu_s": round(cpu_s, 3), "rss_mb": round(rss_mb)})
        (args.out / "results.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    print(report(rows))


def folder(args: Arguments, arm: str, turns: int, number: int) -> Path:
    return args.out / f"{turns}-turns" / f"{arm}-{number}"


def run(args: Arguments, arm: str, turns: int, number: int) -> None:
    """One arm, unless it has run."""
    out = folder(args, arm, turns, number)
    if (out / "arm.json").exists():
        return
    print(f"{turns} turns, round {number + 1} of {args.rounds}: {arm}", flush=True)
    flags = {"out": out, "arm": arm, "turns": turns, "steps": args.steps, "vocabulary": args.vocabulary, "seed": number}
    flags |= {"student": list(args.student), "teacher": list(args.teacher)}
    flags |= {"system": SYSTEM, "turn": TURN, "state": STATE, "written": WRITTEN}
    told = [part for name, value in flags.items() for part in (f"--{name}", str(value))]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    command = [sys.executable, str(Path(__file__).with_name("bench_opd_arm.py")), *told]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{arm} at {turns} turns failed:\n{done.stderr[-4000:]}")


def check_gradients(runs: dict[str, Path]) -> None:
    """Raise `ValueError` where the first steps' gradients are not the same."""
    import numpy as np

    wanted = np.load(runs["trl_distillation"] / "gradient.npy").astype(float)
    norm = np.linalg.norm(wanted)
    for arm, run_folder in runs.items():
        got = np.load(run_folder / "gradient.npy").astype(float)
        scale = np.linalg.norm(got) / norm if "gkd" in arm else 1.0
        apart = np.linalg.norm(got / scale - wanted) / norm
        print(f"{arm}: gradient {apart:.1e} of its norm from TRL's DistillationTrainer" + f" at scale {scale:.3f}")
        if not apart <= 1e-4:
            raise ValueError(f"{arm}: the gradient of given tokens is {apart:.3g} of its norm from TRL's, expected at most 1e-4")


def report(rows: list[dict[str, Any]]) -> str:
    """The table, and IntentFold's share of TRL's cost beside the share of tokens."""
    lines = ["| turns | arm | CPU-s a step | peak MB over the imports | of TRL's best |", "|---|---|---|---|---|"]
    for turns in dict.fromkeys(row["turns"] for row in rows):
        some = [row for row in rows if row["turns"] == turns]
        best = min(row["cpu_s"] for row in some if row["arm"].startswith("trl_distillation"))
        for row in some:
            lines.append(f"| {turns} | {row['arm']} | {row['cpu_s']:.2f} | {row['rss_mb']} | {row['cpu_s'] / best:.3f} |")
        lines.append(f"| {turns} | *share of tokens, trunk and branches of rows apart* | | | {token_share(turns):.3f} |")
    return "\n".join(lines)


def token_share(turns: int) -> float:
    """Tokens of a dialogue as trunk and branches, of those of its rows one by one."""
    branch = STATE + WRITTEN
    return (SYSTEM + turns * (TURN + branch)) / sum(SYSTEM + TURN * (turn + 1) + branch for turn in range(turns))


if __name__ == "__main__":
    main()
