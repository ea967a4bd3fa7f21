"""train/sft.py and train/opd.py on two ranks, as the shipped accelerate configs launch them: killed, resumed, against one rank.

All runs are forked from one process that has imported everything (`ranks.py`): an import of torch costs more than a run.
"""

# ruff: noqa: E402
from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

torch = pytest.importorskip("torch")
pytest.importorskip("deepspeed")

from safetensors.torch import load_file

from intentfold import models
from intentfold.prompts.stamp import check_stamp
from tests.served import SamplingServer, serving
from tests.tiny import ROOT, script, tiny_dataset, tiny_model, tiny_traces

ENGINES = {"ddp": "DistributedDataParallel", "deepspeed_zero2": "DeepSpeedEngine", "deepspeed_zero3": "DeepSpeedEngine"}
SCRIPTS = ("sft", "opd")
SAMPLED = ("ddp", "deepspeed_zero3")  # engines with which a server draws the samples, too
STEPS = 3
# On the same rows, in float32: sums over two ranks are made in another order, and Adam's steps carry that on.
LOSS, WEIGHTS = 1e-4, 1e-4


def arguments(world: Path, name: str, out: Path, micro_batch: int) -> list[str]:
    common = ["--base", world / "base", "--out", out, "--rows_per_step", 8, "--micro_batch", micro_batch, "--dtype", "float32"]
    common += ["--lora_r", 8, "--steps", STEPS, "--save_steps", 1, "--log_steps", 1, "--learning_rate", 0.01]
    if name == "sft":
        return list(map(str, [*common, "--data", world / "data"]))
    teacher = ["--teacher", "model", "--teacher_model", world / "teacher", "--own_state_share", 1.0]
    return list(map(str, [*common, "--traces", world / "traces", "--max_completion", 12, *teacher]))


def launch(engine: str) -> dict[str, Any]:
    """As README has it: two ranks of a shipped config, and DDP told that there is no GPU."""
    environment = {"ACCELERATE_USE_CPU": "true"} if engine == "ddp" else {}
    flags = ["--config_file", str(ROOT / "accelerate_configs" / f"{engine}.yaml"), "--num_processes", "2"]
    return {"ranks": 2, "launch": flags, "environment": environment}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    tiny_model(folder / "base")
    tiny_model(folder / "teacher", seed=3, layers=3)
    tiny_dataset(folder / "data", count=16)
    tiny_traces(folder / "traces", count=16)
    plan: list[dict[str, Any]] = []
    for name in SCRIPTS:
        path = f"train/{name}.py"
        one = {"ranks": 1, "launch": [], "script": path, "argv": arguments(folder, name, folder / f"one_{name}", 8)}
        plan.append({**one, "name": f"one_{name}"})
        for engine in ENGINES:
            run = {**launch(engine), "script": path, "argv": arguments(folder, name, folder / f"{engine}_{name}", 4)}
            plan += [{**run, "name": f"{engine}_{name} killed", "kill_at": 1}, {**run, "name": f"{engine}_{name}"}]
    servers = {engine: SamplingServer(*models.load(folder / "base")) for engine in SAMPLED}
    refused = {"script": "train/sft.py", "argv": arguments(folder, "sft", folder / "refused", 4)}
    plan.append({**launch("deepspeed_zero2"), **refused, "name": "no deepspeed", "environment": {"ACCELERATE_USE_CPU": "true"}})
    plan.append({**launch("fsdp2"), **refused, "name": "no fsdp"})
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.entries.ranks", str(folder / "plan.json")]
    with ExitStack() as stack, (folder / "log").open("w") as log:
        for engine, server in servers.items():
            where = json.dumps({"model": "base", "endpoints": [stack.enter_context(serving(server))], "retries": 0})
            argv = [*arguments(folder, "opd", folder / f"{engine}_sampled", 4), "--rollout_servers", where]
            sampled = {
                **launch(engine),
                "script": "train/opd.py",
                "argv": [*argv, "--rollouts.sync_every", "2", "--save_steps", "2"],
            }
            plan.append({**sampled, "name": f"{engine}_sampled"})
        (folder / "plan.json").write_text(json.dumps(plan))
        subprocess.run(command, env=environment, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, check=False)
    for engine, server in servers.items():
        (folder / f"{engine}_sampled.requests").write_text(json.dumps(server.requests))
    return folder


def outcomes(world: Path) -> dict[str, str]:
    return json.loads((world / "outcomes.json").read_text())


def log(world: Path) -> str:
    return (world / "log").read_text(errors="replace")


def losses(out: Path) -> list[float]:
    return [entry["loss"] for entry in json.loads((out / "metrics.json").read_text())["log"] if "loss" in entry]


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize("engine", ENGINES)
def test_two_ranks_train_together_and_as_one_does_across_a_kill(world: Path, engine: str, name: str) -> None:
    out, one = world / f"{engine}_{name}", world / f"one_{name}"
    ended = outcomes(world)
    assert (ended[f"{engine}_{name} killed"], ended[f"{engine}_{name}"]) == ("killed", "done"), log(world)[-4000:]
    first, second = (json.loads((out / f"facts-{rank}.json").read_text()) for rank in range(2))
    assert (first["world"], first["engine"]) == (2, ENGINES[engine])
    assert first["stage"] == {"deepspeed_zero2": 2, "deepspeed_zero3": 3}.get(engine)
    assert first["tensors"] == 28
    assert second["tensors"] in (0, 28)  # gathered from shares it is on the first rank alone
    if second["tensors"]:
        assert first["adapter"] == second["adapter"]
    ours, theirs = losses(out), losses(one)
    assert len(ours) == len(theirs) == STEPS
    assert ours == pytest.approx(theirs, rel=LOSS)
    assert theirs[0] != pytest.approx(theirs[-1], rel=10 * LOSS), "a run that learns nothing compares nothing"
    trained, alone = (load_file(folder / "adapter" / "adapter_model.safetensors") for folder in (out, one))
    assert trained.keys() == alone.keys()
    assert max(float((trained[key] - alone[key]).abs().max()) for key in alone) < WEIGHTS


@pytest.mark.parametrize("engine", SAMPLED)
def test_two_ranks_share_a_server_that_samples_with_the_adapter_of_both(world: Path, engine: str) -> None:
    out = world / f"{engine}_sampled"
    assert outcomes(world)[out.name] == "done", log(world)[-4000:]
    first, second = (json.loads((out / f"facts-{rank}.json").read_text()) for rank in range(2))
    assert (first["world"], first["engine"]) == (2, ENGINES[engine])
    if second["tensors"]:
        assert first["adapter"] == second["adapter"]
    requests = json.loads((world / f"{out.name}.requests").read_text())
    loaded = [body["lora_name"] for path, body in requests if path == "/v1/load_lora_adapter"]
    asked = [body for path, body in requests if path == "/v1/completions"]
    assert len(loaded) == 2, "one load for both ranks, in the first step and the third"
    assert [body["model"] for body in asked] == [loaded[0]] * 16 + [loaded[1]] * 8
    assert len({body["seed"] for body in asked}) == len(asked) == 24, "no rank draws what another does"
    logged = json.loads((out / "metrics.json").read_text())["log"]
    gaps = [entry["rollout/server_gap"] for entry in logged if "rollout/server_gap" in entry]
    assert len(gaps) == 2
    assert max(gaps) < 1e-4, "an adapter gathered from shares is the one that is trained"


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize("engine", ["deepspeed_zero2", "deepspeed_zero3"])
def test_an_adapter_trained_in_shares_is_exported_whole(world: Path, tmp_path: Path, engine: str, name: str) -> None:
    """export_adapter proves it: on a clean base the adapter gives the logits that the sharded model gave."""
    arguments = ["--run", str(world / f"{engine}_{name}"), "--out", str(tmp_path / "out"), "--name", "t", "--tolerance", "1e-4"]
    script("train/export_adapter.py").main(arguments)
    check_stamp(tmp_path / "out", "delta")


def test_what_would_train_otherwise_than_asked_is_refused(world: Path) -> None:
    ended, said = outcomes(world), log(world)
    assert (ended["no deepspeed"], ended["no fsdp"]) == ("failed", "failed")
    assert "LaunchError: DEEPSPEED was asked for, but the processes train as" in said
    assert "LaunchError: FSDP was asked for, but the processes train as" in said
    assert not list((world / "refused").glob("checkpoint-*"))


# FSDP2 of accelerate needs GPUs: its config is read as accelerate reads it, and not run.


def test_the_fsdp2_config_is_what_accelerate_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    from accelerate.commands.config.config_args import load_config_from_file
    from accelerate.commands.launch import launch_command_parser
    from accelerate.utils import FullyShardedDataParallelPlugin

    from tests.entries.ranks import environment

    path = ROOT / "accelerate_configs" / "fsdp2.yaml"
    config = load_config_from_file(str(path))
    assert config.distributed_type == "FSDP"
    known = launch_command_parser().parse_args(["--config_file", str(path), "script.py"])
    assert sorted(key for key in config.fsdp_config if not hasattr(known, key)) == []
    given = environment(["--config_file", str(path)])
    for name in ("ACCELERATE_USE_FSDP", *(name for name in given if name.startswith("FSDP_"))):
        monkeypatch.setenv(name, given[name])
    plugin = FullyShardedDataParallelPlugin()
    assert (plugin.fsdp_version, plugin.reshard_after_forward) == (2, True)
    assert plugin.state_dict_type.name == "FULL_STATE_DICT"
    assert "Unrun" in path.read_text()


@pytest.mark.parametrize("path", sorted((ROOT / "accelerate_configs").glob("*.yaml")), ids=lambda path: path.stem)
def test_accelerate_reads_every_config(path: Path) -> None:
    from accelerate.commands.config.config_args import load_config_from_file

    config = load_config_from_file(str(path))
    assert config.num_processes == yaml.safe_load(path.read_text())["num_processes"]
