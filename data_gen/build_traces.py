"""Build traces: source tasks become drifting dialogues with oracle states, every stale item verified by the grader.

    python data_gen/build_traces.py --config configs/data_gen/build_traces/demo.yaml

Killed and started again it goes on where it was and ends with the same bytes. So it does on Ray (`--ray`, extra `ray`), and in
parts that machines build each alone (`--part 1/4 --out part1`, …) and `data_gen/merge_traces.py` joins. Served models may take
a task apart, propose what goes stale and word the user's turns (`cast`): what they propose is executed by the grader, what fails
that stands in rejected.jsonl with its reason, answers are journaled, and failed requests are counted in failures.json.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from concurrent.futures import as_completed
from dataclasses import dataclass, field
from pathlib import Path

from tqdm import tqdm

from intentfold.config import check_same_run, parse, record_run
from intentfold.construct import build
from intentfold.construct.cast import SCRIPTED, Cast
from intentfold.construct.episode import DEFAULT_STYLE, Style
from intentfold.construct.on_ray import build_on_ray
from intentfold.construct.splits import check_pool
from intentfold.construct.workers import pool
from intentfold.records import canonical_json, to_json, write_text
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
        pool: keep only tasks of one named pool: calibration, training, general_test, or interactive_test, which holds the
            tasks that only a judge can grade, their stale items unverified
        pool_tasks: how many tasks of the pool to keep, the families in turn; 0 for all
        every_load: build each task at every load instead
        style: how eventful dialogues are: chat, several, priorities, conclusions, wordings (see Style)
        leak_budget: largest share of a held-out split that may be left out because the training part gives it away
        cast: served models in the roles of the build: decomposer, proposer, simulator (see Cast); scripted by default
        seed: seed of tasks and dialogues
        workers: worker processes, or shards at a time on Ray; 0 for one a core
        part: I/N to build the I-th of N parts of the shards alone
        ray: build on Ray Data: a cluster's address, `auto`, or `local` to start Ray on this machine
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
    part: str | None = None
    ray: str | None = None

    def __post_init__(self) -> None:
        if unknown := [name for name in self.families if name not in FAMILIES]:
            raise ValueError(f"families: unknown {unknown}, expected some of {sorted(FAMILIES)}")
        counts = {**self.families, **self.benchmarks}
        if min(counts.values(), default=1) < 1 or min(self.pool_tasks, self.workers) < 0 or not 0 <= self.leak_budget <= 1:
            got = f"{counts}, {self.pool_tasks}, {self.workers}, {self.leak_budget}"
            raise ValueError(f"numbers of tasks must be at least 1, pool_tasks and workers 0, leak_budget in [0, 1], got {got}")
        if unknown := sorted(set(self.benchmarks) - set(LOADERS)):
            raise ValueError(f"benchmarks: unknown {unknown}, expected some of {sorted(LOADERS)}")
        if unknown := sorted(set(self.held_out_families) - set(counts)):
            raise ValueError(f"held_out_families: {unknown} are not built, expected some of {sorted(counts)}")
        if not self.loads or len(set(self.loads)) != len(self.loads):
            raise ValueError(f"loads must be some of 1, 3, 5, each once, got {self.loads}")
        if self.benchmarks and self.data is None:
            raise ValueError(f"benchmarks: {sorted(self.benchmarks)} need `data`, the folder that holds them")
        check_pool(self.pool, self.pool_tasks, self.families)
        if self.part is not None:
            build.part_of((), self.part)
        if self.ray is not None and not self.cast.scripted:
            raise ValueError(f"ray: the journals of served roles lie on one machine, got ray {self.ray!r} with a cast; use parts")
        if not self.families and not self.benchmarks:
            raise ValueError("families and benchmarks are both empty: nothing to build")


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    check_same_run(args.out, args, free=("workers", "ray"))
    if (args.out / "report.json").exists():
        print(f"{args.out} is complete")
        return
    if missing := args.cast.missing():
        raise SystemExit(f"cast: {missing}")
    record_run(args.out, args)
    plan = plan_of(args)
    write_text(args.out / "plan.json", canonical_json(to_json(plan)) + "\n")
    folder = args.out / "shards"
    folder.mkdir(parents=True, exist_ok=True)
    pieces = build.shards(plan)
    if args.part is not None:
        pieces = build.part_of(pieces, args.part)
    todo = build.not_built(pieces, folder)
    started, built = time.monotonic(), 0
    try:
        for count in tqdm(build_all(args, plan, todo, folder), total=len(todo), desc="shards"):
            built += count
    except BackendError as error:
        raise SystemExit(f"a model does not answer: {error}; what was answered is kept, run again to go on") from error
    print(f"{built} grader-verified episodes in {(time.monotonic() - started) / 60:.2f} min")
    if not args.cast.scripted:
        write_text(args.out / "failures.json", canonical_json(build.failed_requests(args.out)) + "\n")
    if args.part is not None:
        print(f"{folder}: {len(pieces)} of {len(build.shards(plan))} shards; data_gen/merge_traces.py joins the parts")
        return
    report = build.merge(plan, [folder], args.out)
    if not args.cast.scripted:
        print(f"proposals of models: {report['construction']}")
    shutil.rmtree(folder)
    for split, counts in report["counts"].items():
        print(f"{split}: {sum(counts.values())} episodes {counts}")
    print(f"left out: {report['left']}")


def plan_of(args: Arguments) -> build.Plan:
    sources = [build.Source(name, count) for name, count in sorted(args.families.items())]
    sources += [build.Source(name, count, real=True) for name, count in sorted(args.benchmarks.items())]
    chosen = {name: getattr(args, name) for name in ("pool", "pool_tasks", "every_load", "data", "style", "leak_budget", "cast")}
    return build.Plan(tuple(sources), tuple(args.loads), args.seed, tuple(args.held_out_families), **chosen)


def build_all(args: Arguments, plan: build.Plan, todo: list[build.Shard], folder: Path) -> Iterator[int]:
    """Episodes written, shard by shard."""
    if args.ray is not None:
        for one in build_on_ray(plan, todo, args.ray, args.workers):
            yield build.keep(one, folder)
        return
    with pool(args.workers) as processes:
        jobs = [processes.submit(build.build_and_keep, plan, shard, folder) for shard in todo]
        for job in as_completed(jobs):
            yield job.result()


if __name__ == "__main__":
    main()
