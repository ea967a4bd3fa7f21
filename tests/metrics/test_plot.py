"""The plot of scores."""

from __future__ import annotations

from pathlib import Path

import pytest

from intentfold.metrics.plot import plot_arms, plot_scores

ROW = {"arm": "sft", "condition": "tracker", "metric": "mean_score", "mean": 0.5, "low": 0.4, "high": 0.7, "n": 10, "agent": "x"}


def test_a_plot_is_a_png(tmp_path: Path) -> None:
    plot_scores([ROW, {**ROW, "arm": "-", "condition": "clean", "mean": 1.0, "low": 0.9, "high": 1.0}], tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_arms_stand_side_by_side_in_each_condition(tmp_path: Path) -> None:
    rows = [{**ROW, "arm": arm, "condition": where} for arm in ("base", "sft") for where in ("test", "all")]
    plot_arms([*rows[:3], {**rows[3], "mean": None}], tmp_path / "a.png", "mean_score")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="no row with metric 'ece'"):
        plot_arms(rows, tmp_path / "b.png", "ece")


def test_nothing_to_plot_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no row with metric 'car'"):
        plot_scores([ROW], tmp_path / "a.png", "car")
