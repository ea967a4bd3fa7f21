"""One arm of the distillation benchmark in a process of its own (scripts/bench_opd.py starts it).

    python scripts/bench_opd_arm.py --out runs/bench-opd/one --arm intentfold --turns 8

Leaves `arm.json` (CPU-seconds of every timed step, peak memory over that after the imports) and `gradient.npy`, of the step
before them.
"""

from __future__ import annotations

import json
import resource
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from intentfold.config import parse


@dataclass(frozen=True)
class Arguments:
    """What to measure.

    Args:
        out: folder of the figures
        arm: whose trainer (`intentfold.training.benchmark.Arm`)
        turns: turns of a dialogue
        steps: steps that are timed, after one that is not
        student: hidden size and layers of the random student
        teacher: hidden size and layers of the random teacher
        vocabulary: tokens of both
        system: tokens before the first turn
        turn: tokens of a turn
        state: tokens of the state behind the dialogue
        written: tokens written behind the state
        seed: of weights and dialogues
    """

    out: Path
    arm: Literal[
        "intentfold", "intentfold_own_states", "trl_distillation", "trl_distillation_checkpointing", "trl_gkd", "trl_gkd_plain"
    ]
    turns: int
    steps: int = 3
    student: tuple[int, int] = (256, 4)
    teacher: tuple[int, int] = (512, 8)
    vocabulary: int = 32000
    system: int = 128
    turn: int = 48
    state: int = 24
    written: int = 24
    seed: int = 0


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    import numpy as np
    import torch

    from intentfold.training.benchmark import Dialogues, Marks, Shape, make_trainer

    torch.set_num_threads(1)
    imported = _peak_mb()
    shape = Shape(**{name: value for name, value in asdict(args).items() if name not in ("out", "arm")})
    trainer = make_trainer(args.arm, Dialogues(shape), str(args.out))
    marks = Marks()
    trainer.add_callback(marks)
    trainer.train()
    facts = {"cpu_s": np.diff(marks.ends).tolist(), "rss_mb": _peak_mb() - imported}
    args.out.mkdir(parents=True, exist_ok=True)
    np.save(args.out / "gradient.npy", marks.gradient)
    (args.out / "arm.json").write_text(json.dumps(facts), encoding="utf-8")


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
