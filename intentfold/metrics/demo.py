"""What a demo of several stages leaves: its rows, a plot, and a page that says what they show."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from intentfold.metrics.report import Row, table
from intentfold.records import canonical_json, from_json, write_text


def write_demo(
    out: Path,
    rows: Sequence[dict[str, Any]],
    plot: Callable[[Sequence[dict[str, Any]], Path], None],
    *,
    title: str,
    what: str,
    shown: Collection[str],
    cost: str,
    rest: str,
) -> None:
    """results.json, scores.png and report.md in the demo's folder, and the table of the `shown` metrics on the screen."""
    write_text(out / "results.json", canonical_json(rows) + "\n")
    plot(rows, out / "scores.png")
    known = [from_json(Row, row) for row in rows]
    some = table([row for row in known if row.metric in shown and row.mean is not None])
    write_text(out / "report.md", "\n\n".join([f"# {title}", what, some, "![scores](scores.png)", cost, rest]) + "\n")
    print(f"\n{some}\n\n{cost}\nreport: {out / 'report.md'}")
