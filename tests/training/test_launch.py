"""Launches that are not what was asked for; on real ranks tests/entries/test_ranks.py holds the same."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")

from accelerate.utils import DistributedType

from intentfold.training import launch
from intentfold.training.launch import LaunchError, asked_processes, check_engine, check_ranks

ACCELERATE = ["/venv/bin/python", "/venv/bin/accelerate", "launch"]
MODULE = ["python", "-m", "accelerate.commands.launch"]


def test_how_many_processes_a_launch_asks_for(tmp_path: Path) -> None:
    config = tmp_path / "cpu.yaml"
    config.write_text("distributed_type: MULTI_CPU\nnum_processes: 4\n")
    assert asked_processes([*ACCELERATE, "--cpu", "--num_processes", "2", "train/sft.py"]) == 2
    assert asked_processes([*ACCELERATE, "--num-processes=3", "train/sft.py"]) == 3
    assert asked_processes([*MODULE, "--config_file", str(config), "train/sft.py"]) == 4
    assert asked_processes([*MODULE, "--config_file", str(config), "--num_processes", "1", "train/sft.py"]) == 1
    assert asked_processes([*ACCELERATE, "train/sft.py"]) == 1
    assert asked_processes(["python", "train/sft.py", "--num_processes", "2"]) == 1
    with pytest.raises(LaunchError, match="num_processes: expected a number of processes, got 'two'"):
        asked_processes([*ACCELERATE, "--num_processes", "two"])


def accelerator(kind: DistributedType = DistributedType.NO, processes: int = 1) -> Any:
    return SimpleNamespace(distributed_type=kind, num_processes=processes, device="cpu", reduce=lambda ones, reduction: ones)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("WORLD_SIZE", "ACCELERATE_USE_DEEPSPEED", "ACCELERATE_USE_FSDP", "ACCELERATE_DEEPSPEED_ZERO_STAGE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(launch, "launcher", lambda: ["python"])
    return monkeypatch


def test_one_process_is_right_where_one_was_asked_for(alone: pytest.MonkeyPatch) -> None:
    check_ranks(accelerator())
    assert launch.asked_processes(launch.launcher()) == 1


def test_silent_failures_are_refused(alone: pytest.MonkeyPatch) -> None:
    alone.setattr(launch, "launcher", lambda: [*ACCELERATE, "--cpu", "--num_processes", "2", "train/sft.py"])
    with pytest.raises(LaunchError, match="the launcher was asked for 2 processes and started 1"):
        check_ranks(accelerator())
    alone.setattr(launch, "launcher", lambda: ["python"])
    alone.setenv("WORLD_SIZE", "2")
    with pytest.raises(LaunchError, match=r"started 2 processes, but they train as 1 \(NO\)"):
        check_ranks(accelerator())
    with pytest.raises(LaunchError, match="of 2 processes 1 answer one another"):
        check_ranks(accelerator(DistributedType.MULTI_CPU, 2))
    alone.setenv("ACCELERATE_USE_DEEPSPEED", "true")
    with pytest.raises(LaunchError, match="DEEPSPEED was asked for, but the processes train as MULTI_CPU"):
        check_ranks(accelerator(DistributedType.MULTI_CPU, 2))


class DistributedDataParallel:
    pass


class DeepSpeedEngine:
    def zero_optimization_stage(self) -> int:
        return 2


def test_the_engine_is_looked_at_not_its_name_alone(alone: pytest.MonkeyPatch) -> None:
    check_engine(accelerator(DistributedType.MULTI_CPU, 2), DistributedDataParallel())
    with pytest.raises(LaunchError, match="DEEPSPEED wraps a model as DeepSpeedEngine, found DistributedDataParallel"):
        check_engine(accelerator(DistributedType.DEEPSPEED, 2), DistributedDataParallel())
    alone.setenv("ACCELERATE_DEEPSPEED_ZERO_STAGE", "2")
    check_engine(accelerator(DistributedType.DEEPSPEED, 2), DeepSpeedEngine())
    alone.setenv("ACCELERATE_DEEPSPEED_ZERO_STAGE", "3")
    with pytest.raises(LaunchError, match="ZeRO stage 3 was asked for, the engine runs stage 2"):
        check_engine(accelerator(DistributedType.DEEPSPEED, 2), DeepSpeedEngine())


def test_the_launcher_is_the_process_that_started_this_one() -> None:
    assert launch.launcher()
