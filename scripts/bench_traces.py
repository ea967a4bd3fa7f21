"""Building traces: grader-verified episodes per minute and core, with one worker and with all.

    python scripts/bench_traces.py --tasks 200
    python scripts/bench_traces.py --tasks 200 --ray true

Each worker warms up on a few tasks first, so that starting Python and the sandbox is not measured. With `--ray` the same is
measured of the build on Ray (extra `ray`), with one and with two one-CPU workers, the best of `repeats` each.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from intentfold.config import parse
from intentfold.construct.build import Plan, Source, shards
from intentfold.construct.episode import build_episode
from intentfold.construct.on_ray import build_on_ray
from intentfold.construct.stale import Unbuildable
from intentfold.sources.registry import FAMILIES, builtin_task
from intentfold.trace import Load

SEED = 101
CHUNK = 20


@dataclass(frozen=True)
class Arguments:
    """What to measure.

    Args:
        tasks: tasks a family, shared out among the workers
        load: stale load b of the episodes
        ray: measure the build on Ray
        repeats: how often each build on Ray is made
    """

    tasks: int = 200
    load: Load = 3
    ray: bool = False
    repeats: int = 3

    def __post_init__(self) -> None:
        if self.tasks < CHUNK:
            raise ValueError(f"tasks must be at least {CHUNK}, got {self.tasks}")
        if self.repeats < 1:
            raise ValueError(f"repeats must be at least 1, got {self.repeats}")


def build(family: str, first: int, count: int, load: Load) -> int:
    built = 0
    for index in range(first, first + count):
        try:
            build_episode(builtin_task(family, SEED, index), load, "train", "train", SEED)
            built += 1
        except Unbuildable:
            continue
    return built


def rate(families: Sequence[str], workers: int, tasks: int, load: Load) -> tuple[float, float]:
    """Episodes per minute over all workers, and the share of tasks that became one."""
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        warm_up = [pool.submit(build, family, 10**6 + worker, 2, load) for worker in range(workers) for family in families]
        for job in warm_up:
            job.result()
        started = time.perf_counter()
        jobs = [pool.submit(build, f, first, CHUNK, load) for first in range(0, tasks, CHUNK) for f in families]
        built = sum(job.result() for job in jobs)
        minutes = (time.perf_counter() - started) / 60
    return built / minutes, built / (len(jobs) * CHUNK)


def rate_on_ray(workers: int, tasks: int, load: Load) -> float:
    """Episodes per minute of a build on Ray, once each worker has built a shard."""
    plan = Plan(tuple(Source(family, tasks) for family in FAMILIES), (load,), SEED)
    counts: list[int] = []
    started = 0.0
    for built in build_on_ray(plan, shards(plan), "local", workers):
        counts.append(built.count)
        if len(counts) == workers:
            started = time.perf_counter()
    return sum(counts[workers:]) / ((time.perf_counter() - started) / 60)


def report_ray(args: Arguments) -> None:
    best = {workers: max(rate_on_ray(workers, args.tasks, args.load) for _ in range(args.repeats)) for workers in (1, 2)}
    busy = os.getloadavg()[0]
    print(f"on Ray, load b={args.load}, {args.tasks} tasks a family, best of {args.repeats}; load average {busy:.1f}")
    print(f"1 worker: {best[1]:,.0f} episodes/min; 2 workers: {best[2]:,.0f}; {best[2] / best[1]:.2f}x")


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    if args.ray:
        report_ray(args)
        return
    cores = len(os.sched_getaffinity(0))
    print(f"load b={args.load}, {args.tasks} tasks a family, {cores} cores\n")
    print("| family | built | episodes/min, 1 worker | episodes/min/core, all cores | scaling |")
    print("|---|---|---|---|---|")
    for name, families in [*((family, [family]) for family in FAMILIES), ("all", list(FAMILIES))]:
        alone, share = rate(families, 1, args.tasks, args.load)
        together, _ = rate(families, cores, args.tasks, args.load)
        print(f"| {name} | {share:.0%} | {alone:,.0f} | {together / cores:,.0f} | {together / alone:.2f}x |", flush=True)


if __name__ == "__main__":
    main()
