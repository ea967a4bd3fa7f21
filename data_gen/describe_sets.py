"""Describe built sets: turns, edits and stale items by load and family, and which sets share source tasks.

    python data_gen/describe_sets.py --config configs/data_gen/describe_sets/pools.yaml

Leaves shapes.json, overlaps.json, report.html and report.md in `out`. Ends with an error where two sets share source tasks
without having been declared to, or where a set has not the number of source tasks that it should have.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from intentfold.config import check_same_run, parse, record_run
from intentfold.construct.sets import SEED_TURNS, Origin, Shape, origins, overlaps, shapes
from intentfold.metrics.document import Block, Heading, Table, Text
from intentfold.metrics.page import write_document
from intentfold.records import canonical_json, read_jsonl, to_json, write_text
from intentfold.trace import Episode


@dataclass(frozen=True)
class Arguments:
    """What to describe.

    Args:
        sets: files of episodes by the set's name
        out: folder for the report
        sizes: source tasks that a set must have, by name
        declared: pairs of sets that may share source tasks, by any name
    """

    sets: dict[str, list[Path]]
    out: Path
    sizes: dict[str, int] = field(default_factory=dict)
    declared: dict[str, tuple[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.sets:
            raise ValueError("sets: nothing to describe")
        named = {"sizes": set(self.sizes), **{f"declared.{name}": set(pair) for name, pair in self.declared.items()}}
        for what, names in named.items():
            if unknown := sorted(names - self.sets.keys()):
                raise ValueError(f"{what}: expected sets among {sorted(self.sets)}, got {unknown}")


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    check_same_run(args.out, args, free=("sets", "sizes", "declared"))  # a report may be made anew, a build not written over
    record_run(args.out, args)
    found: list[Shape] = []
    of: dict[str, set[Origin]] = {}
    for name, paths in args.sets.items():
        episodes = [episode for path in paths for episode in read_jsonl(path, Episode)]
        if not episodes:
            raise SystemExit(f"{name}: no episodes in {', '.join(map(str, paths))}")
        found += shapes(name, episodes)
        of[name] = origins(episodes)
    shared = overlaps(of)
    write_text(args.out / "shapes.json", canonical_json([to_json(shape) for shape in found]) + "\n")
    listed = [{"sets": pair, "origins": sorted(map(list, both))} for pair, both in shared.items()]
    write_text(args.out / "overlaps.json", canonical_json(listed) + "\n")
    write_document(args.out, "Built sets", blocks(found, of, {pair: len(both) for pair, both in shared.items()}))
    print((args.out / "report.md").read_text(encoding="utf-8"))
    allowed = {tuple(sorted(pair)) for pair in args.declared.values()}
    faults = [
        f"{a} and {b} share {len(both)} source tasks undeclared" for (a, b), both in shared.items() if (a, b) not in allowed
    ]
    faults += [f"{n}: {size} source tasks wanted, {len(of[n])} there" for n, size in args.sizes.items() if len(of[n]) != size]
    if faults:
        raise SystemExit("; ".join(faults))


def blocks(found: list[Shape], of: dict[str, set[Origin]], shared: dict[tuple[str, str], int]) -> list[Block]:
    header = (
        "set",
        "b",
        "family",
        "dialogues",
        "source tasks",
        "turns",
        "edits",
        "stale items",
        "verified",
        "edits by operation",
    )
    rows = [
        (
            *(shape.set, str(shape.load), shape.family, str(shape.dialogues), str(shape.origins)),
            *(f"{number:.1f}" for number in (shape.turns, shape.edits, shape.stale)),
            f"{shape.verified:.0%}",
            ", ".join(f"{op} {number:.1f}" for op, number in shape.operations.items()),
        )
        for shape in found
    ]
    easy, hard = SEED_TURNS[1], SEED_TURNS[5]
    overlap = [(a, b, str(number)) for (a, b), number in shared.items()]
    return [
        Heading("Built sets", 1),
        Text("Turns, edits and stale items are means a dialogue. Load b raises all of them together: no separate effects."),
        Text(f"For context, IntentFlux reports {easy} turns a dialogue at b = 1 and {hard} at b = 5, on its own tasks."),
        Table(header, tuple(rows)),
        Heading("Source tasks in two sets"),
        Table(("set", "set", "shared"), tuple(overlap)) if overlap else Text(f"None, among {', '.join(of)}."),
    ]


if __name__ == "__main__":
    main()
