"""Plots of results rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def plot_scores(rows: Sequence[Mapping[str, Any]], path: Path, metric: str = "mean_score") -> None:
    """One bar an arm or control with its 95% interval, as a PNG. Raises `ValueError` where no row has the metric."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    shown = [row for row in rows if row["metric"] == metric and row["mean"] is not None]
    if not shown:
        raise ValueError(f"no row with metric {metric!r} to plot")
    names = [row["condition"] if row["condition"] != "tracker" else row["arm"] for row in shown]
    means = [row["mean"] for row in shown]
    low = [mean - row["low"] for mean, row in zip(means, shown, strict=True)]
    high = [row["high"] - mean for mean, row in zip(means, shown, strict=True)]
    figure, axes = pyplot.subplots(figsize=(1.2 * len(shown) + 1, 3.2), layout="constrained")
    colours = ["tab:blue" if row["condition"] == "tracker" else "lightgrey" for row in shown]
    axes.bar(names, means, yerr=[low, high], capsize=4, color=colours)
    axes.set_ylim(0, 1.05)
    axes.set_ylabel(metric.replace("_", " "))
    axes.set_title(f"n = {shown[0]['n']}, agent: {shown[0]['agent']}", fontsize=9)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
