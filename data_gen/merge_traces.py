"""Join the parts of one build, made by several machines, into the bytes that one machine would have left.

    python data_gen/merge_traces.py --config configs/data_gen/merge_traces/demo.yaml

Every part must come from the same plan and revision, and together they must hold every shard.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from intentfold.config import check_same_run, parse, record_run
from intentfold.construct.build import Plan, merge
from intentfold.records import canonical_json, from_json, to_json, write_text

T = TypeVar("T")


@dataclass(frozen=True)
class Arguments:
    """What to join.

    Args:
        parts: folders that data_gen/build_traces.py has left with --part
        out: folder for {train,dev,test,held_out_family}.jsonl and report.json
    """

    parts: list[Path]
    out: Path

    def __post_init__(self) -> None:
        if not self.parts or len(set(self.parts)) != len(self.parts):
            raise ValueError(f"parts: expected folders, each once, got {list(map(str, self.parts))}")


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    if lacking := [str(part) for part in args.parts if not (part / "plan.json").is_file()]:
        raise SystemExit(f"parts: no plan.json in {lacking}: expected folders of data_gen/build_traces.py --part")
    check_same_run(args.out, args)
    plan = same(args.parts, "plan.json", partial(from_json, Plan))
    same(args.parts, "versions.json", revision)
    record_run(args.out, args)
    write_text(args.out / "plan.json", canonical_json(to_json(plan)) + "\n")
    report = merge(plan, [part / "shards" for part in args.parts], args.out)
    for split, counts in report["counts"].items():
        print(f"{split}: {sum(counts.values())} episodes {counts}")
    print(f"left out: {report['left']}")


def same(parts: list[Path], name: str, read: Callable[[str], T]) -> T:
    """What every part's file says; ends the program where one cannot be read, or two differ."""
    said: dict[Path, T] = {}
    for part in parts:
        try:
            said[part] = read((part / name).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise SystemExit(f"{part / name}: {error}") from error
    first = parts[0]
    for part, found in said.items():
        if found != said[first]:
            raise SystemExit(f"{part / name} says {str(found)[:300]}, {first / name} {str(said[first])[:300]}")
    return said[first]


def revision(versions: str) -> str:
    """The revision that a run's versions name; raises `ValueError` where they name none."""
    found = from_json(dict[str, str], versions)
    if "revision" not in found:
        raise ValueError(f"field revision: expected the code's revision, got {sorted(found)}")
    return found["revision"]


if __name__ == "__main__":
    main()
