"""Join the parts of one build, made by several machines, into the bytes that one machine would have left.

    python data_gen/merge_traces.py --config configs/data_gen/merge_traces/demo.yaml

Every part must come from the same plan and revision, and together they must hold every shard.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from intentfold.config import check_same_run, parse, record_run
from intentfold.construct.build import Plan, merge
from intentfold.records import from_json, write_text


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
    plan = same(args.parts, "plan.json", lambda text: text)
    same(args.parts, "versions.json", lambda text: json.loads(text)["revision"])
    record_run(args.out, args)
    write_text(args.out / "plan.json", plan)
    report = merge(from_json(Plan, plan), [part / "shards" for part in args.parts], args.out)
    for split, counts in report["counts"].items():
        print(f"{split}: {sum(counts.values())} episodes {counts}")
    print(f"left out: {report['left']}")


def same(parts: list[Path], name: str, what: Callable[[str], str]) -> str:
    """What every part's file says; ends the program where two differ."""
    said = {part: what((part / name).read_text(encoding="utf-8")) for part in parts}
    first = parts[0]
    for part, found in said.items():
        if found != said[first]:
            raise SystemExit(f"{part / name} says {found.strip()[:300]!r}, {first / name} {said[first].strip()[:300]!r}")
    return said[first]


if __name__ == "__main__":
    main()
