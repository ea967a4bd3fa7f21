"""Build learning histories: simulated users correct a scripted agent's work, every requirement verified by code.

    python data_gen/build_histories.py --config configs/data_gen/build_histories/demo.yaml

Leaves in `out`: {train,dev,test,held_out_family}.jsonl (what both sides saw), `private/` with the ledger of each history
(what was wanted, every executed assessment), report.json, and report.md with the mix of feedback beside SWE-chat's.
"""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import get_args

from tqdm import tqdm

from intentfold.config import check_same_run, parse, record_run
from intentfold.construct.corrective.agent import AgentRates
from intentfold.construct.corrective.build import Plan, mix_table, report, user_histories
from intentfold.construct.corrective.registry import FAMILIES
from intentfold.construct.corrective.user import BOTH
from intentfold.records import canonical_json, write_jsonl, write_text
from intentfold.trace import Split


@dataclass(frozen=True)
class Arguments:
    """What to build.

    Args:
        out: folder of the build
        users: how many simulated users; the split is by user
        families: families of work
        held_out_families: families that are kept out of train, dev and test
        histories: tasks of each user in each family
        low: fewest requirements of a task
        high: most requirements of a task
        budget: how often a user speaks after its request
        rates: how the scripted agent fares
        both: how often a message that names a discrepancy also states the desired change
        seed: seed of everything
        workers: processes, 0 for as many as there are CPUs
    """

    out: Path
    users: int
    families: list[str] = field(default_factory=lambda: sorted(FAMILIES))
    held_out_families: list[str] = field(default_factory=list)
    histories: int = 2
    low: int = 3
    high: int = 5
    budget: int = 8
    rates: AgentRates = field(default_factory=AgentRates)
    both: float = BOTH
    seed: int = 0
    workers: int = 0

    def __post_init__(self) -> None:
        for name in ("families", "held_out_families"):
            if unknown := sorted(set(getattr(self, name)) - set(FAMILIES)):
                raise ValueError(f"{name}: unknown {unknown}, expected some of {sorted(FAMILIES)}")
            if len(set(getattr(self, name))) < len(getattr(self, name)):
                raise ValueError(f"{name}: each family once, got {getattr(self, name)}")
        if min(self.users, self.histories, self.low, self.budget) < 1 or self.high < self.low or self.workers < 0:
            raise ValueError(
                f"users, histories, low, budget must be at least 1, high at least low, workers at least 0, got {self.users}, "
                f"{self.histories}, {self.low}, {self.budget}, {self.high}, {self.workers}"
            )
        if not 0.0 <= self.both <= 1.0:
            raise ValueError(f"both must be in [0, 1], got {self.both}")
        if not self.families:
            raise ValueError("families is empty: nothing to build")


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    check_same_run(args.out, args, free=("workers",))
    if (args.out / "report.json").exists():
        print(f"{args.out} is complete")
        return
    record_run(args.out, args)
    counts = (args.users, args.histories, args.low, args.high, args.budget)
    plan = Plan(tuple(args.families), *counts, args.rates, args.both, tuple(args.held_out_families), args.seed)
    workers = args.workers or len(os.sched_getaffinity(0))
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        jobs = pool.map(partial(user_histories, plan), range(args.users), chunksize=8)
        pairs = [pair for found in tqdm(jobs, total=args.users, desc="users") for pair in found]
    splits: tuple[Split, ...] = get_args(Split)
    for split in splits:
        part = [(history, ledger) for history, ledger in pairs if history.split == split]
        write_jsonl(args.out / f"{split}.jsonl", [history for history, _ in part])
        write_jsonl(args.out / "private" / f"{split}.jsonl", [ledger for _, ledger in part])
    found = report(pairs, plan)
    text = [
        "# Learning histories",
        "The user is simulated, the agent scripted: no model took part.",
        f"Accepted: {found['accepted']:.3f}. Corrections a history: {found['corrections a history']:.2f}, answers to"
        f" clarification questions: {found['answers a history']:.2f}. Every correction passed its audit (grounding, coverage,"
        " added requirements).",
        mix_table(found),
        "The right column describes 331 messages of coding sessions; it is context and no target.",
    ]
    write_text(args.out / "report.md", "\n\n".join(text) + "\n")
    write_text(args.out / "report.json", canonical_json(found) + "\n")
    print((args.out / "report.md").read_text(encoding="utf-8"))
    print(found["counts"])


if __name__ == "__main__":
    main()
