"""Fetch a benchmark from a datasets hub into a folder, in the upstream files that the loaders read.

python scripts/get_benchmark.py --name gsm8k --hub hub:ORG/DATASET@REVISION --data data
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from intentfold.config import parse
from intentfold.sources.hub import PREFIX, from_hub
from intentfold.sources.real import LOADERS, load


@dataclass(frozen=True)
class Arguments:
    """What to fetch.

    Args:
        name: which benchmark it is (bfcl, gsm8k, …: see sources/real.py)
        hub: where it is, as hub:ORG/DATASET[@REVISION]
        data: folder of the benchmarks, that gets one of this name
    """

    name: str
    hub: str
    data: Path

    def __post_init__(self) -> None:
        if self.name not in LOADERS:
            raise ValueError(f"name must be one of {sorted(LOADERS)}, got {self.name!r}")
        if not self.hub.startswith(PREFIX):
            raise ValueError(f"hub must begin with {PREFIX}, got {self.hub!r}")


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    folder = from_hub(args.name, args.hub, args.data)
    report = load(args.name, folder)
    print(f"{folder}: {len(report.tasks)} tasks, {sum(report.skipped.values())} records left out")


if __name__ == "__main__":
    main()
