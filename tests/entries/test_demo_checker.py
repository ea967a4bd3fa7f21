"""The checker's demo from end to end on a tiny model: every stage takes its first steps, and the report is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from intentfold import stages
from tests.tiny import ROOT, script, tiny_model

TRAIN = ["--rows_per_step=8", "--micro_batch=4", "--dtype=float32", "--max_length=4096", "--save_steps=50"]
SMALL = {
    "histories": ["--users=32", "--histories=1", "--workers=1"],
    "examples": ["--max_examples=60", "--max_held_out=24"],
    "sft": [*TRAIN, "--steps=2", "--lora_r=4"],
    "opd": [*TRAIN, "--steps=2", "--max_completion=8"],
    "sft continued": [*TRAIN],
    "checker": ["--max_tokens=4", "--runs=1", "--dtype=float32"],
}
KEYS = {"arm", "condition", "metric", "mean", "low", "high", "n", "agent", "protocol", "judge"}


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Stages in this process, on a tiny base and a tiny share of the work; returns what each was asked."""
    from intentfold.training.opd import OnPolicyTrainer

    base, asked = tiny_model(tmp_path / "base"), {}

    def run(self: stages.Stages, name: str, path: str, config: str, *flags: str) -> None:
        asked[name] = [path, config, *flags]
        based = [f"--base={base}"] if path.startswith("train/") else []
        script(f"{path}.py").main(["--config", str(ROOT / f"configs/{path}/{config}.yaml"), *flags, *based, *SMALL[name]])
        self.spent[name] = 60.0

    monkeypatch.setattr(stages.Stages, "run", run)
    monkeypatch.setattr(OnPolicyTrainer, "check_teacher", lambda self: None)  # a tiny model is no teacher
    monkeypatch.chdir(ROOT)
    return asked


def test_the_demo_leaves_rows_a_plot_and_a_report(
    small: dict[str, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, out = script("scripts/demo_checker.py"), tmp_path / "run"
    monkeypatch.setattr(module, "BASE", str(tmp_path / "base"))
    module.main([f"--out={out}"])
    assert list(small) == list(SMALL)
    rows = json.loads((out / "results.json").read_text())
    assert all(set(row) == KEYS for row in rows)
    found = {(row["arm"], row["condition"], row["metric"]): row for row in rows}
    for condition in ("test", "test, held-out requirements", "held_out_family", "all"):
        for arm in ("base", "sft", "sft_continued", "opd"):
            assert {(arm, condition, metric) for metric in ("macro_f1", "ece", "f1_unmet", "recall_met")} <= found.keys()
        for name in ("opd_gain", "opd_vs_continued"):
            row = found["opd", condition, name]
            assert row["low"] <= row["mean"] <= row["high"]
        assert found["sft", condition, "sft_gain"]["n"] == found["opd", condition, "macro_f1"]["n"]
    gain = found["opd", "all", "macro_f1"]["mean"] - found["sft", "all", "macro_f1"]["mean"]
    assert found["opd", "all", "opd_gain"]["mean"] == pytest.approx(gain)
    costs = {run: json.loads((out / run / "metrics.json").read_text()) for run in ("sft", "opd", "sft_continued")}
    each = costs["sft"]["cpu_seconds"] / costs["sft"]["steps"]
    assert costs["sft_continued"]["steps"] == max(1, round(costs["opd"]["cpu_seconds"] / each))
    assert costs["opd"]["role"] == "checker"
    assert (out / "scores.png").read_bytes().startswith(b"\x89PNG")
    report = (out / "report.md").read_text()
    assert "together 6.0" in report
    assert "| opd | all | opd_vs_continued |" in report
