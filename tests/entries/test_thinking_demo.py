"""`make thinking` from end to end on a tiny model: every stage takes its first steps, and the report is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from intentfold import stages
from tests.tiny import ROOT, script, tiny_model

TRAIN = ["--rows_per_step=2", "--micro_batch=1", "--steps=1", "--dtype=float32", "--max_length=8192"]
SMALL = {
    "traces": ["--families={tools: 40}", "--workers=1"],
    "answers": [],
    "thoughts": [],
    "cold start": [*TRAIN, "--lora_r=4"],
    "distillation": TRAIN,
    "agents alone": ["--max_tokens=4", "--limit=1", "--dtype=float32"],
}


def test_the_run_leaves_rows_a_plot_and_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base, out, asked = tiny_model(tmp_path / "base"), tmp_path / "run", []

    def run(self: stages.Stages, name: str, path: str, config: str, *flags: str) -> None:
        asked.append(name)
        based = [f"--base={base}"] if path.startswith("train/") else []
        script(f"{path}.py").main(["--config", str(ROOT / f"configs/{path}/{config}.yaml"), *flags, *based, *SMALL[name]])
        self.spent[name] = 60.0

    monkeypatch.setattr(stages.Stages, "run", run)
    monkeypatch.chdir(ROOT)
    module = script("scripts/thinking.py")
    monkeypatch.setattr(module, "BASE", str(base))
    module.main([f"--out={out}"])
    assert asked == list(SMALL)
    rows = {(row["arm"], row["condition"], row["metric"]) for row in json.loads((out / "results.json").read_text())}
    for condition in ("clean", "drift"):
        for arm in ("cold", "distilled"):
            assert {(arm, condition, metric) for metric in ("mean_score", "avg@3", "car", "unended_thoughts")} <= rows
        assert ("distilled", condition, "distillation_gain, avg@3") in rows
    assert "unended_thoughts" in (out / "report.md").read_text()
    assert (out / "scores.png").stat().st_size > 1000
