"""Building many episodes: shards that any machine can make, and the merge that every order of work agrees on (D9)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args

from intentfold.construct.cast import SCRIPTED, Built, Cast, Construction, Wanted, build_together, shares
from intentfold.construct.episode import DEFAULT_STYLE, Style, build_episode
from intentfold.construct.leakage import TrainingIndex, leakage_error
from intentfold.construct.proposing import Rejected
from intentfold.construct.splits import INTERACTIVE_POOL, in_pool, split_of
from intentfold.construct.stale import Unbuildable
from intentfold.records import RECORD, as_jsonl, canonical_json, read_jsonl, write_jsonl, write_text
from intentfold.runtime.serving import Failures, bill
from intentfold.sources.real import load
from intentfold.sources.registry import builtin_task
from intentfold.task import SourceTask
from intentfold.trace import Episode, Load, Split, Wording

SHARD_TASKS = 32
EPISODES, LEFT, REJECTED, CONSTRUCTION = ".jsonl", ".left.jsonl", ".rejected.jsonl", ".construction.jsonl"
SPLITS: tuple[Split, ...] = get_args(Split)
POOL_SPLIT: dict[str, Split] = {"calibration": "dev", "training": "train", "general_test": "test", INTERACTIVE_POOL: "test"}
WORDING_OF: dict[Split, Wording] = {"train": "train", "dev": "dev", "test": "test", "held_out_family": "test"}


@dataclass(frozen=True, slots=True)
class Source:
    """Where tasks come from: `count` tasks of a built-in family, or of a real benchmark under the data path."""

    __pydantic_config__ = RECORD

    name: str
    count: int
    real: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that decides the bytes of a build."""

    __pydantic_config__ = RECORD

    sources: tuple[Source, ...]
    loads: tuple[Load, ...]
    seed: int
    held_out_families: tuple[str, ...] = ()
    pool: str | None = None
    pool_tasks: int = 0
    every_load: bool = False
    data: Path | None = None
    style: Style = DEFAULT_STYLE
    leak_budget: float = 0.05
    cast: Cast = SCRIPTED


@dataclass(frozen=True, slots=True)
class Shard:
    """Tasks `first` to `last` (not included) of one source."""

    number: int
    source: Source
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Left:
    """A task that became no episode, and why."""

    __pydantic_config__ = RECORD

    task: str
    family: str
    reason: str


def shards(plan: Plan) -> list[Shard]:
    """The work of a plan in pieces, in a fixed order."""
    pieces: list[Shard] = []
    for source in plan.sources:
        for first in range(0, source.count, SHARD_TASKS):
            pieces.append(Shard(len(pieces), source, first, min(first + SHARD_TASKS, source.count)))
    return pieces


@dataclass(frozen=True, slots=True)
class ShardFiles:
    """One shard's files by the ending of their names, as text, so that they can travel; `count` episodes are in them."""

    shard: int
    count: int
    files: dict[str, str]


def part_of(pieces: Sequence[Shard], part: str) -> list[Shard]:
    """The shards of part `I/N`: every N-th from the I-th (from 1), so that each part holds some of every source."""
    number, _, parts = part.partition("/")
    if not (number.isdecimal() and parts.isdecimal() and 1 <= int(number) <= int(parts)):
        raise ValueError(f"part must be I/N with 1 <= I <= N, got {part!r}")
    return [shard for shard in pieces if shard.number % int(parts) == int(number) - 1]


def not_built(pieces: Sequence[Shard], folder: Path) -> list[Shard]:
    """The shards that do not stand in `folder` yet."""
    return [shard for shard in pieces if not _file(folder, shard.number, EPISODES).exists()]


def build(plan: Plan, shard: Shard, out: Path | None = None) -> ShardFiles:
    """One shard, on whatever machine; a plan with a data path needs that path there.

    What served models answer is journaled in `out`, which a plan with such roles needs.
    """
    wanted = list(_wanted(plan, shard))
    if plan.cast.scripted:
        built = _scripted(plan, wanted)
    elif out is None:
        raise ValueError("a plan with served roles is built where its journals are: expected their folder, got None")
    else:
        built = _played(plan, shard, wanted, out)
    episodes = [episode for episode in built.episodes if isinstance(episode, Episode)]
    left = [
        Left(one.task.id, one.task.family, reason)
        for one, reason in zip(wanted, built.episodes, strict=True)
        if isinstance(reason, str)
    ]
    files = {LEFT: as_jsonl(left), EPISODES: as_jsonl(episodes)}
    if not plan.cast.scripted:
        files |= {REJECTED: as_jsonl(built.rejected), CONSTRUCTION: as_jsonl([built.construction])}
    return ShardFiles(shard.number, len(episodes), files)


def keep(built: ShardFiles, folder: Path) -> int:
    """Write a shard's files, the episodes last: where those stand, all does. Returns how many episodes."""
    for ending in sorted(built.files, key=lambda ending: ending == EPISODES):
        write_text(_file(folder, built.shard, ending), built.files[ending])
    return built.count


def build_and_keep(plan: Plan, shard: Shard, folder: Path) -> int:
    """Build one shard into `folder`, its models' journals beside that; returns how many episodes."""
    return keep(build(plan, shard, folder.parent), folder)


def _file(folder: Path, shard: int, ending: str) -> Path:
    return folder / f"{shard:05d}{ending}"


def _wanted(plan: Plan, shard: Shard) -> Iterator[Wanted]:
    for index in range(shard.first, shard.last):
        task = _task(plan, shard.source, index)
        split = None if task is None else _split(plan, task)
        if task is not None and split is not None:
            for stale_load in plan.loads if plan.every_load else plan.loads[index % len(plan.loads) :][:1]:
                yield Wanted(task, stale_load, split, WORDING_OF[split])


def _scripted(plan: Plan, wanted: Sequence[Wanted]) -> Built:
    episodes: list[Episode | str] = []
    for one in wanted:
        try:
            episodes.append(build_episode(one.task, one.load, one.split, one.wording, plan.seed, style=plan.style))
        except Unbuildable as reason:
            episodes.append(str(reason))
    return Built(episodes)


def _played(plan: Plan, shard: Shard, wanted: Sequence[Wanted], out: Path) -> Built:
    failures = Failures(out / "failures" / f"{shard.number:05d}.jsonl")
    name = f"{shard.source.name}-{shard.first}"
    return build_together(wanted, plan.cast, plan.style, plan.seed, out / "completions", name, failures)


def _task(plan: Plan, source: Source, index: int) -> SourceTask | None:
    if not source.real:
        return builtin_task(source.name, plan.seed, index)
    assert plan.data is not None
    tasks = _real_tasks(source.name, plan.data, plan.pool == INTERACTIVE_POOL)
    return tasks[index] if index < len(tasks) else None


@lru_cache(maxsize=4)
def _real_tasks(name: str, data: Path, interactive: bool) -> tuple[SourceTask, ...]:
    """The executable tasks, or the interactive ones that only a judge can grade: never both in one set (design D6)."""
    report = load(name, data / name)
    return tuple(t for t in report.unverified if t.answer_form == "interactive") if interactive else report.tasks


def _split(plan: Plan, task: SourceTask) -> Split | None:
    official = task.payload.get("benchmark_split")
    if plan.pool == INTERACTIVE_POOL:
        return POOL_SPLIT[plan.pool]
    if plan.pool is not None:
        in_it = in_pool(task.origin, task.family, plan.pool)
        # A benchmark's own test problems are never trained on.
        return POOL_SPLIT[plan.pool] if in_it and not (plan.pool == "training" and official == "test") else None
    split = split_of(task.origin, task.family, plan.held_out_families)
    # Nor are its training problems tested on.
    if official == "test" and split != "held_out_family":
        return "test"
    return "dev" if official == "train" and split == "test" else split


def merge(plan: Plan, folders: Sequence[Path], out: Path) -> dict[str, Any]:
    """Join the shards of `folders` into one file a split, drop held-out episodes that the training part gives away, and report.

    One origin gives one episode a load: later ones are dropped. A pool of a stated size takes its origins in order,
    the families in turn. Raises `LeakageError` where more than the plan's budget leaks, and `ValueError` if a
    shard stands in none of the folders or a pool cannot be filled.
    """
    by_split: dict[Split, list[Episode]] = {split: [] for split in SPLITS}
    left: Counter[str] = Counter()
    seen: set[tuple[str, str, int]] = set()
    found = _found(shards(plan), folders)
    for number, folder in found:
        for note in read_jsonl(_file(folder, number, LEFT), Left):
            left[f"{note.family}: {note.reason.split(':')[0]}"] += 1
        for episode in read_jsonl(_file(folder, number, EPISODES), Episode):
            identity = (episode.task.family, episode.task.origin, episode.load)
            if identity in seen:
                left[f"{episode.task.family}: origin built before"] += 1
                continue
            seen.add(identity)
            by_split[episode.split].append(episode)
    if plan.pool_tasks:
        by_split = {split: _pool_of(plan, episodes) for split, episodes in by_split.items() if episodes}
        by_split = {split: by_split.get(split, []) for split in SPLITS}
    index = TrainingIndex(by_split["train"])
    for split in SPLITS[1:]:
        kept, leaks = index.part(by_split[split])
        for leak in leaks:
            left[f"leak by {leak.kind}"] += 1
        if len(by_split[split]) - len(kept) > plan.leak_budget * len(by_split[split]):
            raise leakage_error(f"{split} ({len(by_split[split])} episodes)", leaks)
        by_split[split] = kept
    for split, episodes in by_split.items():
        write_jsonl(out / f"{split}.jsonl", episodes)
    report: dict[str, Any] = {"counts": _counts(by_split), "left": dict(sorted(left.items()))}
    if not plan.cast.scripted:
        report["construction"] = _construction(plan, found, out)
    write_text(out / "report.json", canonical_json(report) + "\n")
    return report


def _found(pieces: Sequence[Shard], folders: Sequence[Path]) -> list[tuple[int, Path]]:
    """Every shard's number and the first folder that holds it, in order."""
    holders = {p.number: [f for f in folders if _file(f, p.number, EPISODES).exists()] for p in pieces}
    if lacking := [number for number, found in holders.items() if not found]:
        raise ValueError(
            f"{len(lacking)} of {len(pieces)} shards are missing ({', '.join(map(str, lacking[:10]))}) "
            f"in {', '.join(map(str, folders))}: build the parts that hold them"
        )
    return [(number, found[0]) for number, found in holders.items()]


def _construction(plan: Plan, found: Sequence[tuple[int, Path]], out: Path) -> dict[str, Any]:
    """What models proposed, how much of it was accepted, and what it took; what was rejected goes to rejected.jsonl."""
    done = [read_jsonl(_file(folder, number, CONSTRUCTION), Construction)[0] for number, folder in found]
    rejected = [one for number, folder in found for one in read_jsonl(_file(folder, number, REJECTED), Rejected)]
    write_jsonl(out / "rejected.jsonl", rejected)
    counts = sum((Counter(one.counts) for one in done), Counter[str]())
    usage = bill([one.used for one in done], plan.cast.serving.prices)
    return {"accepted": shares(counts), "counts": dict(sorted(counts.items())), "usage": usage}


def failed_requests(out: Path) -> dict[str, int]:
    """Requests that failed so far, of every run of this build, by role and kind."""
    found = [Failures(file).counts() for file in sorted((out / "failures").glob("*.jsonl"))]
    return dict(sorted(sum(found, Counter[str]()).items()))


def _pool_of(plan: Plan, episodes: list[Episode]) -> list[Episode]:
    """The episodes of `plan.pool_tasks` origins that have one at every load asked for, the families in turn."""
    loads: dict[tuple[str, str], int] = Counter((e.task.family, e.task.origin) for e in episodes)
    wanted = len(plan.loads) if plan.every_load else 1
    whole: dict[str, list[str]] = {}
    for (family, origin), count in loads.items():
        if count == wanted:
            whole.setdefault(family, []).append(origin)
    turns = max(map(len, whole.values()), default=0)
    order = [(family, whole[family][n]) for n in range(turns) for family in sorted(whole) if n < len(whole[family])]
    if len(order) < plan.pool_tasks:
        raise ValueError(f"pool {plan.pool}: {plan.pool_tasks} tasks wanted, {len(order)} there; raise the numbers of tasks")
    kept = set(order[: plan.pool_tasks])
    return [e for e in episodes if (e.task.family, e.task.origin) in kept]


def _counts(by_split: dict[Split, list[Episode]]) -> dict[str, dict[str, int]]:
    return {
        split: dict(sorted(Counter(f"{episode.task.family} b={episode.load}" for episode in episodes).items()))
        for split, episodes in by_split.items()
    }
