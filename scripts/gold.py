"""Gold: every loader reads its whole file, and every reference answer gets full credit from its own grader.

    python scripts/gold.py --data DATA

One line of counts a source; exits non-zero on an exception that scripts/gold_exceptions.yaml does not list, on more than 1% of
exceptions that are no fault of the data, and on records that a loader did not account for. Sources that are not under DATA are
named and left out.
"""

from __future__ import annotations

import csv
import gzip
import json
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from intentfold.config import parse, record_run
from intentfold.construct.workers import pool
from intentfold.records import canonical_json, to_json, write_text
from intentfold.sources.bfcl import CATEGORIES
from intentfold.sources.gold import Count, Listed, checkable, chunks, complaints, count, faults_of, read_listed, reasons
from intentfold.sources.multiwoz import load_multiwoz
from intentfold.sources.real import LOADERS
from intentfold.sources.schema_guided import load_schema_guided
from intentfold.sources.travelplanner import load_records
from intentfold.sources.vitabench import load_vitabench
from intentfold.sources.webshop import load_goals

CHUNK = 100


@dataclass(frozen=True)
class Arguments:
    """What to check.

    Args:
        data: folder that holds the benchmarks, each under its own name
        out: folder for counts.json and the run's record
        listed: the known exceptions, by source
        sources: these sources alone; all that are there by default
        workers: grading processes, 0 for one a core; each runs at nice 10
    """

    data: Path
    out: Path = Path("runs/gold")
    listed: Path = Path(__file__).parent / "gold_exceptions.yaml"
    sources: list[str] = field(default_factory=lambda: list(RECORDS))
    workers: int = 0

    def __post_init__(self) -> None:
        if not self.data.is_dir():
            raise ValueError(f"data must be a folder, got {self.data}")
        if unknown := sorted(set(self.sources) - set(RECORDS)):
            raise ValueError(f"sources: unknown {unknown}, expected some of {sorted(RECORDS)}")
        if self.workers < 0:
            raise ValueError(f"workers must be at least 0, got {self.workers}")


# How many records a source has, by a reading that owes nothing to its loader.
def lines(*paths: Path) -> int:
    return sum(sum(bool(line.strip()) for line in opened(path)) for path in paths)


def opened(path: Path) -> Sequence[bytes]:
    return (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).split(b"\n")


def entries(*paths: Path) -> int:
    return sum(len(json.loads(path.read_bytes())) for path in paths)


def meanings(*paths: Path) -> int:
    return sum(len({row["mr"] for row in csv.DictReader(path.open(encoding="utf-8", newline=""))}) for path in paths)


def zipped(path: Path) -> int:
    with zipfile.ZipFile(path) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".json")]
        return len(json.loads(archive.read(name)))


RECORDS: Mapping[str, Callable[[Path], int]] = {
    "bfcl": lambda folder: lines(*(folder / f"BFCL_v4_{category}.json" for category in CATEGORIES)),
    "spider": lambda folder: entries(folder / "dev.json"),
    "gsm8k": lambda folder: lines(folder / "train.jsonl", folder / "test.jsonl"),
    "humaneval": lambda folder: lines(next(folder.glob("HumanEval.jsonl*"))),
    "mbpp": lambda folder: lines(folder / "mbpp.jsonl"),
    "e2e": lambda folder: meanings(*folder.glob("*set*.csv")),
    "totto": lambda folder: lines(*folder.glob("totto_*_data.jsonl")),
    "lost_in_conversation": lambda folder: entries(*folder.glob("*.json")),
    "vitabench": lambda folder: entries(*folder.glob("*.json")),
    "multiwoz21": lambda folder: sum(map(zipped, folder.glob("*.zip"))),
    "schema_guided": lambda folder: entries(*folder.glob("*/dialogues_*.json")),
    "travelplanner": lambda folder: lines(folder / "train_ref_info.jsonl"),
    "webshop": lambda folder: entries(folder / "human_goals.json"),
}
# Sources without a reference answer that code could grade: (records used, records left out).
UNGRADED: Mapping[str, Callable[[Path], tuple[int, int]]] = {
    "vitabench": lambda folder: (len(load_vitabench(folder)), 0),
    "multiwoz21": lambda folder: used(*map(load_multiwoz, sorted(folder.glob("*.zip")))),
    "schema_guided": lambda folder: used(*map(load_schema_guided, sorted(path for path in folder.iterdir() if path.is_dir()))),
    "travelplanner": lambda folder: used(load_records(folder)),
    "webshop": lambda folder: used(load_goals(folder)),
}


def used(*loaded: tuple[Any, Mapping[str, int]]) -> tuple[int, int]:
    return sum(len(found) for found, _ in loaded), sum(sum(skipped.values()) for _, skipped in loaded)


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    record_run(args.out, args)
    listed = read_listed(args.listed)
    started, counts, said = time.monotonic(), [], []
    with pool(args.workers) as processes:
        for name, load in LOADERS.items():
            if name in UNGRADED or name not in args.sources or not (args.data / name).is_dir():
                continue
            report = load(args.data / name)
            jobs = [processes.submit(faults_of, chunk) for chunk in chunks(checkable(report), CHUNK)]
            faults: dict[str, str] = {}
            for job in tqdm(as_completed(jobs), total=len(jobs), desc=name):
                faults |= job.result()
            counts.append(one := count(name, report, faults))
            said += complaints(one, listed.get(name, ()))
            said += [] if one.records == (there := RECORDS[name](args.data / name)) else [lost(name, one.records, there)]
            print(line(one, listed.get(name, ())), flush=True)
    for name, read in UNGRADED.items():
        if name in args.sources and (args.data / name).is_dir():
            taken, left = read(args.data / name)
            said += [] if taken + left == (there := RECORDS[name](args.data / name)) else [lost(name, taken + left, there)]
            print(f"{name}: {there} records read, {taken} used, {left} left out; no reference that code could grade", flush=True)
    absent = [name for name in args.sources if not (args.data / name).is_dir()]
    print(f"not under {args.data}: {', '.join(absent) or 'nothing'}; {time.monotonic() - started:.0f} seconds")
    write_text(args.out / "counts.json", canonical_json([to_json(one) for one in counts]) + "\n")
    if said:
        raise SystemExit("\n".join(said))


def line(one: Count, listed: Sequence[Listed]) -> str:
    why = "; ".join(f"{number} {reason}" for reason, number in reasons(one, listed).items() if number)
    more = f", {one.judged} judged only, {one.without_reference} without a reference, {one.twice} twice"
    return f"{one.source}: {one.records} records, {one.full} with full credit, {len(one.exceptions)} exceptions ({why}){more}"


def lost(name: str, found: int, there: int) -> str:
    return f"{name}: the loader accounts for {found} records, the files hold {there}"


if __name__ == "__main__":
    main()
