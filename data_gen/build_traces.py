"""Build traces: source tasks become drifting dialogues with oracle states, every stale item verified by the grader.

    python data_gen/build_traces.py --config configs/data_gen/build_traces/demo.yaml

Killed and started again it goes on where it was and ends with the same bytes. Served models may take a task apart, propose
what goes stale and word the user's turns (`cast`): what they propose is executed by the grader, what fails that stands in
rejected.jsonl with its reason, their answers are journaled, and failed requests are counted in failures.json.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

from tqdm import tqdm

from intentfold.config import check_same_run, parse, record_run
from intentfold.construct.build import Plan, Source, build_shard, failed_requests, merge, shards
from intentfold.construct.cast import SCRIPTED, Cast
from intentfold.construct.episode import DEFAULT_STYLE, Style
from intentfold.construct.splits import POOLS
from intentfold.records import canonical_json, write_text
from intentfold.runtime.roles import BackendError
from intentfold.sources.real import LOADERS
from intentfold.sources.registry import FAMILIES
from intentfold.trace import Load


@dataclass(frozen=True)
class Arguments:
    """What to build.

    Args:
        out: folder for {train,dev,test,held_out_family}.jsonl and report.json
        families: built-in family -> number of tasks
        benchmarks: real benchmark (bfcl, humaneval, e2e, …: see sources/real.py) -> number of tasks, read from `data`
        data: folder that holds the real benchmarks
        loads: stale loads b, dealt to the tasks in turn
        held_out_families: families that go to held_out_family.jsonl whole
        pool: keep only tasks of one named pool (calibration, training, general_test)
        pool_tasks: how many tasks of the pool to keep, the families in turn; 0 for all
        every_load: build each task at every load instead
        style: how eventful dialogues are: chat, several, priorities, conclusions, wordings (see Style)
        leak_budget: largest share of a held-out split that may be left out because the training part gives it away
        cast: served models in the roles of the build: decomposer, proposer, simulator (see Cast); scripted by default
        seed: seed of tasks and dialogues
        workers: worker processes, 0 for one a core
    """

    out: Path
    families: dict[str, int] = field(default_factory=dict)
    benchmarks: dict[str, int] = field(default_factory=dict)
    data: Path | None = None
    loads: list[Load] = field(default_factory=lambda: [1, 3])
    held_out_families: list[str] = field(default_factory=list)
    pool: str | None = None
    pool_tasks: int = 0
    every_load: bool = False
    style: Style = DEFAULT_STYLE
    leak_budget: float = 0.05
    cast: Cast = SCRIPTED
    seed: int = 0
    workers: int = 0

    def __post_init__(self) -> None:
        unknown = [name for name in self.families if name not in FAMILIES]
        if unknown:
            raise ValueError(f"families: unknown {unknown}, expected some of {sorted(FAMILIES)}")
        counts = {**self.families, **self.benchmarks}
        if any(count < 1 for count in counts.values()) or self.pool_tasks < 0 or self.workers < 0:
            raise ValueError(
                f"numbers of tasks must be at least 1, pool_tasks and workers 0, got {counts}, {self.pool_tasks}, {self.workers}"
            )
        if unknown := sorted(set(self.benchmarks) - set(LOADERS)):
            raise ValueError(f"benchmarks: unknown {unknown}, expected some of {sorted(LOADERS)}")
        if unknown := sorted(set(self.held_out_families) - set(counts)):
            raise ValueError(f"held_out_families: {unknown} are not built, expected some of {sorted(counts)}")
        if not self.loads or len(set(self.loads)) != len(self.loads):
            raise ValueError(f"loads must be some of 1, 3, 5, each once, got {self.loads}")
        if self.benchmarks and self.data is None:
            raise ValueError(f"benchmarks: {sorted(self.benchmarks)} need `data`, the folder that holds them")
        if self.pool is not None and self.pool not in POOLS:
            raise ValueError(f"pool must be one of {sorted(POOLS)}, got {self.pool!r}")
        if self.pool_tasks and self.pool is None:
            raise ValueError(f"pool_tasks: {self.pool_tasks} tasks of which pool? `pool` is not given")
        if not self.families and not self.benchmarks:
            raise ValueError("families and benchmarks are both empty: nothing to build")


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    check_same_run(args.out, args, free=("workers",))
    if (args.out / "report.json").exists():
        print(f"{args.out} is complete")
        return
    if missing := args.cast.missing():
        raise SystemExit(f"cast: {missing}")
    record_run(args.out, args)
    sources = [Source(name, count) for name, count in sorted(args.families.items())]
    sources += [Source(name, count, real=True) for name, count in sorted(args.benchmarks.items())]
    chosen = (
        tuple(args.held_out_families),
        args.pool,
        args.pool_tasks,
        args.every_load,
        args.data,
        args.style,
        args.leak_budget,
        args.cast,
    )
    plan = Plan(tuple(sources), tuple(args.loads), args.seed, *chosen)
    folder = args.out / "shards"
    folder.mkdir(parents=True, exist_ok=True)
    workers = args.workers or len(os.sched_getaffinity(0))
    started, built = time.monotonic(), 0
    try:
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
            jobs = [pool.submit(build_shard, plan, shard, folder) for shard in shards(plan)]
            for job in tqdm(as_completed(jobs), total=len(jobs), desc="shards"):
                built += job.result()
    except BackendError as error:
        raise SystemExit(f"a model does not answer: {error}; what was answered is kept, run again to go on") from error
    minutes = (time.monotonic() - started) / 60
    report = merge(plan, folder, args.out)
    if not args.cast.scripted:
        write_text(args.out / "failures.json", canonical_json(failed_requests(plan, args.out)) + "\n")
        print(f"proposals of models: {report['construction']}")
    shutil.rmtree(folder)
    for split, counts in report["counts"].items():
        print(f"{split}: {sum(counts.values())} episodes {counts}")
    print(f"left out: {report['left']}")
    print(f"{built} grader-verified episodes in {minutes:.2f} min on {workers} workers")


if __name__ == "__main__":
    main()
