"""Write an evaluation's report anew from its logs: report.html (self-contained) and report.md.

    python eval/report.py --config configs/eval/report/demo.yaml

Every evaluation writes its report at its end; this does it again for a folder of eval/closed_loop.py or
eval/conditions.py, say after a change of the report.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml

from intentfold.config import parse
from intentfold.metrics.page import write_pages
from intentfold.records import read_jsonl
from intentfold.trace import Episode


@dataclass(frozen=True)
class Arguments:
    """What to report on.

    Args:
        run: folder that an evaluation left
        traces: its episodes, for the worst cases; those that the run recorded by default
    """

    run: Path
    traces: Path | None = None


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    if not (args.run / "about.json").is_file():
        raise SystemExit(f"run: expected a folder that an evaluation left, with about.json, got {args.run}")
    recorded = yaml.safe_load((args.run / "config.yaml").read_text(encoding="utf-8"))
    write_pages(args.run, read_jsonl(args.traces or Path(recorded["episodes"]), Episode))
    print(args.run / "report.html")


if __name__ == "__main__":
    main()
