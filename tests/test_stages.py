"""Stages: what is run, with which config, and what it cost."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from intentfold.stages import Stages, steps_for_the_cpu_time_of

SCRIPT = """
import os, pathlib, sys, time
if "fail" in sys.argv[-1]:
    sys.exit(3)
while time.process_time() < 0.2:
    pass
pathlib.Path("said").write_text("|".join([*sys.argv[1:], os.environ["HF_HUB_OFFLINE"]]))
"""


def test_a_stage_runs_its_script_with_its_config_and_is_charged(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval/count.py").write_text(SCRIPT)
    stages = Stages(tmp_path)
    stages.run("count", "eval/count", "demo", "--out=x")
    assert (tmp_path / "said").read_text() == "--config|configs/eval/count/demo.yaml|--out=x|1"
    assert 0.2 <= stages.spent["count"] < 5
    assert stages.cost().startswith(f"CPU-minutes: count {stages.spent['count'] / 60:.1f}; together")
    with pytest.raises(subprocess.CalledProcessError):
        stages.run("again", "eval/count", "demo", "--fail")
    assert list(stages.spent) == ["count"]
    assert "== again: eval/count.py --config configs/eval/count/demo.yaml --fail" in capfd.readouterr().out


def test_training_goes_through_the_launcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    monkeypatch.setattr(subprocess, "run", lambda command, **_: seen.append(command))
    Stages(tmp_path).run("sft", "train/sft", "demo", "--out=x")
    assert seen[0][1:5] == ["-m", "accelerate.commands.launch", "--config_file", "accelerate_configs/cpu.yaml"]
    assert seen[0][5:] == ["train/sft.py", "--config", "configs/train/sft/demo.yaml", "--out=x"]


@pytest.mark.parametrize(
    ("run_seconds", "of_seconds", "of_steps", "steps"), [(300.0, 600.0, 200, 100), (70.0, 600.0, 60, 7), (0.1, 600.0, 60, 1)]
)
def test_a_budget_of_time_in_steps(tmp_path: Path, run_seconds: float, of_seconds: float, of_steps: int, steps: int) -> None:
    for name, facts in (("a", {"cpu_seconds": run_seconds, "steps": 5}), ("b", {"cpu_seconds": of_seconds, "steps": of_steps})):
        (tmp_path / name).mkdir()
        (tmp_path / name / "metrics.json").write_text(json.dumps(facts))
    assert steps_for_the_cpu_time_of(tmp_path / "a", tmp_path / "b") == steps
