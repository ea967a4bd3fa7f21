"""Stages: what is run, with which config, and what it cost."""

from __future__ import annotations

import json
import socket
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from intentfold.stages import ServerError, Stages, steps_for_the_cpu_time_of

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


SERVER = """#!/bin/sh
case $1 in broken) echo no weights; exit 4;; slow) exec sleep 60;; esac
mkdir -p v1 && echo "$*" > v1/models && exec python3 -m http.server --bind 127.0.0.1 "$2"
"""


@pytest.fixture
def served(tmp_path: Path) -> tuple[Stages, int, Path]:
    """Stages whose server is a small script, a free port, and a log."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/serve_vllm.sh").write_text(SERVER)
    (tmp_path / "scripts/serve_vllm.sh").chmod(0o755)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return Stages(tmp_path), port, tmp_path / "logs/server.log"


def test_a_server_serves_while_it_is_needed(served: tuple[Stages, int, Path]) -> None:
    stages, port, log = served
    with stages.serving("server", "weights", port, log, "--more") as url:
        assert url == f"http://127.0.0.1:{port}/v1"
        with urllib.request.urlopen(f"{url}/models") as answer:
            assert answer.read().decode() == f"weights {port} --more\n"
        with pytest.raises(ServerError, match=f"port {port} is taken"), stages.serving("again", "weights", port, log):
            pass
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"{url}/models")
    assert list(stages.spent) == ["server"]
    assert stages.spent["server"] > 0


@pytest.mark.parametrize(("model", "said"), [("broken", "ended with code 4"), ("slow", "did not answer within 1 s")])
def test_a_server_that_does_not_come_is_an_error(served: tuple[Stages, int, Path], model: str, said: str) -> None:
    stages, port, log = served
    with pytest.raises(ServerError, match=f"{said}, see {log}"), stages.serving("server", model, port, log, wait=1):
        pass
    assert log.read_text() == ("no weights\n" if model == "broken" else "")


@pytest.mark.parametrize(
    ("run_seconds", "of_seconds", "of_steps", "steps"), [(300.0, 600.0, 200, 100), (70.0, 600.0, 60, 7), (0.1, 600.0, 60, 1)]
)
def test_a_budget_of_time_in_steps(tmp_path: Path, run_seconds: float, of_seconds: float, of_steps: int, steps: int) -> None:
    for name, facts in (("a", {"cpu_seconds": run_seconds, "steps": 5}), ("b", {"cpu_seconds": of_seconds, "steps": of_steps})):
        (tmp_path / name).mkdir()
        (tmp_path / name / "metrics.json").write_text(json.dumps(facts))
    assert steps_for_the_cpu_time_of(tmp_path / "a", tmp_path / "b") == steps
