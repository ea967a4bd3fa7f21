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


def plot_arms(rows: Sequence[Mapping[str, Any]], path: Path, metric: str) -> None:
    """A group of bars a condition, one bar an arm with its 95% interval, as a PNG. Raises `ValueError` without such rows."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    shown = [row for row in rows if row["metric"] == metric and row["mean"] is not None]
    if not shown:
        raise ValueError(f"no row with metric {metric!r} to plot")
    conditions = {condition: place for place, condition in enumerate(dict.fromkeys(row["condition"] for row in shown))}
    arms = list(dict.fromkeys(row["arm"] for row in shown))
    width = 0.8 / len(arms)
    figure, axes = pyplot.subplots(figsize=(2.2 * len(conditions) + 1.5, 3.2), layout="constrained")
    for number, arm in enumerate(arms):
        mine = [row for row in shown if row["arm"] == arm]
        places = [conditions[row["condition"]] + (number - (len(arms) - 1) / 2) * width for row in mine]
        spans = [[row["mean"] - row["low"] for row in mine], [row["high"] - row["mean"] for row in mine]]
        axes.bar(places, [row["mean"] for row in mine], width, yerr=spans, capsize=3, label=arm)
    axes.set_xticks(list(conditions.values()), list(conditions), fontsize=8)
    axes.set_ylim(0, 1.05)
    axes.set_ylabel(metric.replace("_", " "))
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def plot_reliability(arms: Mapping[str, Sequence[Any]], path: Path) -> None:
    """Accuracy against confidence, a line an arm (`intentfold.metrics.checker.Bin`), as a PNG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(4, 4), layout="constrained")
    axes.plot([0, 1], [0, 1], color="lightgrey", label="calibrated")
    for arm, bins in arms.items():
        axes.plot([one.confidence for one in bins], [one.accuracy for one in bins], marker="o", label=arm)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.05)
    axes.set_xlabel("confidence")
    axes.set_ylabel("accuracy")
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
