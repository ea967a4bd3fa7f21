"""The training scripts on a tiny model: what they leave, that a kill changes no tensor, and what bad input is told."""

# ruff: noqa: E402
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file, save_file

from intentfold.mining.card import dataset_hash
from intentfold.prompts.stamp import StampError, check_stamp
from intentfold.records import write_jsonl
from intentfold.training.data import DataError
from intentfold.training.export import ExportError
from intentfold.training.preflight import PreflightError
from tests.tiny import (
    CHATML,
    ROOT,
    script,
    tiny_checker_dataset,
    tiny_dataset,
    tiny_episodes,
    tiny_model,
    tiny_thoughts,
    tiny_traces,
)

SMALL = ["--rows_per_step", "8", "--micro_batch", "4", "--dtype", "float32", "--lora_r", "8", "--log_steps", "1"]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A base model that has learned the privileged prompt as a whole, with its data; made by train/sft.py itself."""
    folder = tmp_path_factory.mktemp("world")
    tiny_model(folder / "base")
    tiny_dataset(folder / "data", count=16)
    tiny_traces(folder / "traces", count=16)
    tiny_checker_dataset(folder / "judgements", outputs=12)
    return folder


def sft(world: Path, out: Path, *more: str) -> list[str]:
    return ["--base", str(world / "base"), "--data", str(world / "data"), "--out", str(out), *SMALL, *more]


def opd(world: Path, out: Path, *more: str) -> list[str]:
    start = world / "start"
    if not start.exists():
        script("train/sft.py").main(sft(world, start, "--steps", "2"))
    common = ["--base", str(world / "base"), "--traces", str(world / "traces"), "--out", str(out), *SMALL]
    return [*common, "--init_adapter", str(start / "adapter"), "--max_completion", "12", *more]


def opd_checker(world: Path, out: Path, *more: str) -> list[str]:
    start, data = world / "checker_start", ["--data", str(world / "judgements"), "--role", "checker"]
    if not start.exists():
        script("train/sft.py").main(sft(world, start, "--steps", "2", *data))
    common = ["--base", str(world / "base"), "--out", str(out), *data, *SMALL]
    return [*common, "--init_adapter", str(start / "adapter"), "--max_completion", "12", *more]


def loaded(world: Path) -> Path:
    """The traces with stale loads 1, 1, 3 and 5 in turn."""
    folder = world / "loaded"
    episodes = [replace(episode, load=(1, 1, 3, 5)[n % 4]) for n, episode in enumerate(tiny_episodes(16))]
    write_jsonl(folder / "train.jsonl", episodes)
    write_jsonl(folder / "dev.jsonl", episodes[:2])
    return folder


def scheduled(world: Path, out: Path, *more: str) -> list[str]:
    """OPD with weights, a curriculum over loads and a ramp of own states."""
    weights = ["--operation_weights", "{ADD: 2, REJECTED: 0.5}", "--outcome_weights", "{exact: 0.25}"]
    shares = ["--own_state_share", "0.8", "--own_state_share_start", "0.0", "--load_enters", "{3: 2, 5: 4}"]
    return opd(world, out, *weights, *shares, "--traces", str(loaded(world)), *more)


def thinking(world: Path, out: Path, *more: str) -> list[str]:
    if not (world / "thoughts").exists():
        tiny_thoughts(world / "thoughts")
    common = ["--base", str(world / "base"), "--thoughts", str(world / "thoughts"), "--out", str(out), *SMALL]
    return [*common, "--max_length", "2048", *more]


@pytest.fixture(autouse=True)
def gate_back():
    """The gate that `no_gate` takes away is there again for the tests that follow."""
    from intentfold.training.opd import OnPolicyTrainer

    gate = OnPolicyTrainer.check_teacher
    yield
    OnPolicyTrainer.check_teacher = gate


def no_gate(module) -> None:
    """A tiny model is no teacher; the gate has tests of its own."""
    from intentfold.training.opd import OnPolicyTrainer

    OnPolicyTrainer.check_teacher = lambda self: None


def tensors(out: Path) -> dict[str, torch.Tensor]:
    return load_file(out / "adapter" / "adapter_model.safetensors")


def assert_equal(ours: Path, theirs: Path) -> None:
    a, b = tensors(ours), tensors(theirs)
    assert a.keys() == b.keys()
    assert all(torch.equal(a[name], b[name]) for name in a)


def test_sft_leaves_an_adapter_that_learned(world, tmp_path):
    module = script("train/sft.py")
    out = tmp_path / "run"
    module.main(sft(world, out, "--steps", "30", "--learning_rate", "0.01"))
    metrics = json.loads((out / "metrics.json").read_text())
    steps = [entry for entry in metrics["log"] if "loss" in entry]
    assert len(steps) == metrics["steps"] == 30
    assert steps[-1]["loss"] < steps[0]["loss"]
    assert steps[-1]["mean_token_accuracy"] > 0.3 > steps[0]["mean_token_accuracy"]
    assert {path.name for path in (out / "adapter").iterdir()} >= {"adapter_model.safetensors", "adapter_config.json"}
    assert not (out / "adapter" / "README.md").exists()
    before = (out / "metrics.json").stat().st_mtime_ns
    module.main(sft(world, out, "--steps", "30", "--learning_rate", "0.01"))
    assert (out / "metrics.json").stat().st_mtime_ns == before


def test_sft_goes_on_from_an_adapter(world, tmp_path):
    module = script("train/sft.py")
    module.main(sft(world, tmp_path / "a", "--steps", "2"))
    module.main(
        sft(world, tmp_path / "b", "--steps", "1", "--learning_rate", "0.0", "--init_adapter", str(tmp_path / "a/adapter"))
    )
    assert_equal(tmp_path / "a", tmp_path / "b")


def test_a_cpu_budget_ends_a_run(world, tmp_path):
    script("train/sft.py").main(sft(world, tmp_path / "run", "--steps", "5000", "--max_cpu_minutes", "0.02"))
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert 0 < metrics["steps"] < 5000
    assert 1.2 <= metrics["cpu_seconds"] < 10


def test_opd_rolls_forward_and_moves_the_adapter(world, tmp_path):
    module = script("train/opd.py")
    no_gate(module)
    out = tmp_path / "run"
    module.main(opd(world, out, "--steps", "4", "--learning_rate", "0.01"))
    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics["steps"] == 4
    steps = [entry for entry in metrics["log"] if "loss" in entry]
    assert all(entry["rollout/tokens"] > 0 for entry in steps)
    assert any(entry["rollout/own_state"] > 0 for entry in steps)
    before, after = tensors(world / "start"), tensors(out)
    assert before.keys() == after.keys()
    assert any(not torch.equal(before[name], after[name]) for name in before)
    assert not (out / "adapter" / "teacher").exists()


def test_a_whole_history_is_mined_trained_and_distilled_as_one_template(world, tmp_path):
    mine = ["--traces", str(world / "traces"), "--out", str(tmp_path / "data"), "--window", "0"]
    script("data_gen/mine_examples.py").main(mine)
    script("train/sft.py").main([*sft(world, tmp_path / "sft", "--steps", "2"), "--data", str(tmp_path / "data")])
    log = json.loads((tmp_path / "sft" / "metrics.json").read_text())["log"]
    assert all(entry["computed"] < 0.8 for entry in log if "loss" in entry)
    module = script("train/opd.py")
    no_gate(module)
    more = ["--window", "0", "--steps", "2", "--learning_rate", "0.01", "--branches", "0"]
    with pytest.raises(StampError, match="with codec delta, the whole history, template"):
        module.main(opd(world, tmp_path / "refused", *more))
    more += ["--init_adapter", str(tmp_path / "sft" / "adapter")]
    module.main(opd(world, tmp_path / "opd", *more))
    metrics = json.loads((tmp_path / "opd" / "metrics.json").read_text())
    assert metrics["template"] == json.loads((tmp_path / "sft" / "metrics.json").read_text())["template"]
    steps = [entry for entry in metrics["log"] if "loss" in entry]
    assert len(steps) == 2
    assert all(max(entry["computed/passes"], entry["computed/sampling"]) < 0.9 for entry in steps)
    check_stamp(tmp_path / "opd" / "adapter", "delta", None)
    with pytest.raises(StampError, match="with codec delta, a window"):
        check_stamp(tmp_path / "opd" / "adapter", "delta")


def test_opd_of_a_checker_moves_the_adapter_and_stamps_it(world, tmp_path):
    module = script("train/opd.py")
    no_gate(module)
    out = tmp_path / "run"
    module.main(opd_checker(world, out, "--steps", "3", "--learning_rate", "0.01"))
    metrics = json.loads((out / "metrics.json").read_text())
    steps = [entry for entry in metrics["log"] if "loss" in entry]
    assert len(steps) == metrics["steps"] == 3
    assert all(0 <= entry["rollout/not_assessed"] <= 1 and entry["rollout/tokens"] > 0 for entry in steps)
    assert (metrics["role"], metrics["data"]) == ("checker", dataset_hash(world / "judgements"))
    check_stamp(out / "adapter", "verdict")
    with pytest.raises(StampError, match="trained as a checker"):
        check_stamp(out / "adapter", "delta")
    before, after = tensors(world / "checker_start"), tensors(out)
    assert any(not torch.equal(before[name], after[name]) for name in before)


def test_opd_of_a_checker_is_held_back_by_the_gate(world, tmp_path):
    with pytest.raises(PreflightError, match="it would teach the student to write on"):
        script("train/opd.py").main(opd_checker(world, tmp_path / "run", "--steps", "1"))
    with pytest.raises(PreflightError, match=r"h\d+:1 \(row \d+\): the prompt has \d+ tokens, more than the 50"):
        script("train/opd.py").main(opd_checker(world, tmp_path / "long", "--steps", "1", "--max_length", "62"))
    tracker = opd(world, tmp_path / "other")
    adapter = tracker[tracker.index("--init_adapter") + 1]
    with pytest.raises(StampError, match="trained as a tracker"):
        script("train/opd.py").main(opd_checker(world, tmp_path / "other", "--steps", "1", "--init_adapter", adapter))


def test_each_role_is_told_what_it_learns_from(world, tmp_path, capsys):
    both = ["--traces", str(world / "traces")]
    cases = [
        (opd_checker(world, tmp_path / "run", "--steps", "1", *both), "role checker takes data (and no traces)"),
        (opd(world, tmp_path / "run", "--steps", "1", "--role", "learner"), "role learner takes data (and no traces)"),
        (opd(world, tmp_path / "run", "--steps", "1", "--data", "x"), "role tracker takes traces (and no data)"),
        (opd_checker(world, tmp_path / "run", "--steps", "1", "--role", "tracker"), "role tracker takes traces (and no data)"),
        (opd_checker(world, tmp_path / "run", "--steps", "1", "--codec", "full"), "codec: only a tracker has one, got full"),
        (opd_checker(world, tmp_path / "run", "--steps", "1", "--branches", "3"), "branches: only a tracker has one, got 3"),
        (
            opd_checker(world, tmp_path / "run", "--steps", "1", "--operation_weights", "{ADD: 2}"),
            "operation_weights: only a tracker has one, got {'ADD': 2.0}",
        ),
        (
            opd_checker(world, tmp_path / "run", "--steps", "1", "--outcome_weights", "{passed: 2}"),
            "only a tracker's rows are graded, got ['passed']",
        ),
        (
            opd(world, tmp_path / "run", "--steps", "1", "--codec", "full", "--operation_weights", "{ADD: 2}"),
            "a whole state is no list of edits",
        ),
        (
            opd(world, tmp_path / "run", "--steps", "1", "--operation_weights", "{SET: 2}"),
            "operation_weights: expected keys out of ['ADD', 'REPLACE'",
        ),
        (
            opd(world, tmp_path / "run", "--steps", "1", "--outcome_weights", "{exact: -1}"),
            "outcome_weights: expected finite numbers from 0 on, got -1.0 for exact",
        ),
        (opd(world, tmp_path / "run", "--steps", "1", "--load_enters", "{2: 4}"), "load_enters: expected keys out of [1, 3, 5]"),
        (
            opd(world, tmp_path / "run", "--steps", "1", "--own_state_share_start", "1.5"),
            "own_state_share_start must be in [0, 1], got 1.5",
        ),
    ]
    for arguments, said in cases:
        with pytest.raises(SystemExit) as exit:
            script("train/opd.py").main(arguments)
        assert exit.value.code == 2
        assert said in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("teacher", [["--teacher", "base", "--worked_examples", "2"], ["--teacher", "model"]])
def test_opd_from_other_teachers(world, tmp_path, teacher):
    module = script("train/opd.py")
    no_gate(module)
    if teacher[1] == "model":
        teacher = [*teacher, "--teacher_model", str(tiny_model(tmp_path / "larger", seed=3, layers=3))]
    module.main(opd(world, tmp_path / "run", "--steps", "1", *teacher))
    assert (tmp_path / "run" / "metrics.json").exists()


def test_opd_up_to_the_first_error_is_what_is_asked_for(world, tmp_path, monkeypatch):
    from intentfold.training.opd import OnPolicyTrainer

    asked = []

    class Asked(Exception):
        pass

    def look(self, **kwargs):
        asked.append(kwargs["until_error"])
        raise Asked

    monkeypatch.setattr(OnPolicyTrainer, "__init__", look)
    for out, more in (("plain", []), ("until_error", ["--until_error", "true"])):
        with pytest.raises(Asked):
            script("train/opd.py").main(opd(world, tmp_path / out, "--steps", "1", *more))
    assert asked == [False, True]


class Looked(Exception):
    """What a trainer was made with has been seen."""


def trainer_arguments(monkeypatch, trainer, run) -> dict:
    """The keyword arguments that a script makes its trainer with."""
    seen: list[dict] = []

    def look(self, **kwargs):
        seen.append(kwargs)
        raise Looked

    with monkeypatch.context() as patch:
        patch.setattr(trainer, "__init__", look)
        with pytest.raises(Looked):
            run()
    return seen[0]


def test_opd_weights_and_schedules_are_what_is_asked_for(world, tmp_path, monkeypatch):
    from intentfold.training.opd import OnPolicyTrainer
    from intentfold.training.weighting import Weighting

    def made(out: str, *more: str) -> dict:
        arguments = opd(world, tmp_path / out, "--steps", "7", *more)
        return trainer_arguments(monkeypatch, OnPolicyTrainer, lambda: script("train/opd.py").main(arguments))

    plain = made("plain")
    assert plain["weighting"] == Weighting({}, {})
    assert {plain["rollout"].share(step) for step in range(7)} == {0.5}
    assert not plain["rollout"].graded and set(plain["rollout"].enters) == {0}
    weights = ["--operation_weights", "{ADD: 2, NONE: 0.5}", "--outcome_weights", "{exact: 0.25}"]
    shares = ["--own_state_share", "0.9", "--own_state_share_start", "0.3", "--load_enters", "{3: 4, 5: 6}"]
    asked = made("asked", *weights, *shares, "--traces", str(loaded(world)))
    assert asked["weighting"] == Weighting({"ADD": 2.0, "NONE": 0.5}, {"exact": 0.25})
    assert [asked["rollout"].share(step) for step in (0, 3, 6)] == pytest.approx([0.3, 0.6, 0.9])
    assert asked["rollout"].enters == [0, 0, 4, 6] * 4
    assert not asked["rollout"].graded
    assert made("graded", "--outcome_weights", "{exact: 0.25, passed: 0.5}")["rollout"].graded


def test_sft_weights_are_what_is_asked_for(world, tmp_path, monkeypatch):
    from intentfold.training.sft import CompletionTrainer
    from intentfold.training.weighting import Weighting

    def made(out: str, *more: str) -> dict:
        arguments = sft(world, tmp_path / out, "--steps", "1", *more)
        return trainer_arguments(monkeypatch, CompletionTrainer, lambda: script("train/sft.py").main(arguments))

    plain = made("plain")
    assert plain["weighting"] == Weighting({}) and "operations" not in plain["train_dataset"].column_names
    asked = made("asked", "--operation_weights", "{REPLACE: 3}")
    assert asked["weighting"] == Weighting({"REPLACE": 3.0})
    assert {op for row in asked["train_dataset"]["operations"] for op in row} == {"ADD", "REPLACE"}
    judged = ["--data", str(world / "judgements"), "--role", "checker", "--operation_weights", "{REPLACE: 3}"]
    with pytest.raises(PreflightError, match=r"operation_weights: h0:1 \(codec verdict\) and 35 more"):
        script("train/sft.py").main(sft(world, tmp_path / "judged", "--steps", "1", *judged))


def test_sft_trains_with_weights(world, tmp_path):
    script("train/sft.py").main(sft(world, tmp_path / "a", "--steps", "2"))
    script("train/sft.py").main(sft(world, tmp_path / "b", "--steps", "2", "--operation_weights", "{REPLACE: 9}"))
    a, b = tensors(tmp_path / "a"), tensors(tmp_path / "b")
    assert any(not torch.equal(a[name], b[name]) for name in a)


def test_opd_on_weights_and_schedules_logs_what_it_does(world, tmp_path):
    module = script("train/opd.py")
    no_gate(module)
    module.main(scheduled(world, tmp_path / "run", "--steps", "9"))
    log = json.loads((tmp_path / "run" / "metrics.json").read_text())["log"]
    steps = [entry for entry in log if "loss" in entry]
    assert [entry["rollout/own_state_share"] for entry in steps] == pytest.approx([0.1 * step for step in range(9)])
    assert steps[0]["rollout/load"] == 1.0 < steps[-1]["rollout/load"]
    assert all(sum(entry[f"rollout/outcome_{name}"] for name in ("exact", "passed", "failed", "wrong")) == 1 for entry in steps)
    for entry in steps:
        counted = {name: value for name, value in entry.items() if name.startswith("tokens/")}
        assert sum(counted.values()) == pytest.approx(8 * entry["rollout/tokens"])
        assert {name.replace("tokens/", "kl/") for name in counted} == {name for name in entry if name.startswith("kl/")}


# Killed for real


CODE = """
import sys
sys.path.insert(0, {root!r})
from tests.tiny import script
from tests.entries.test_train import no_gate
module = script({path!r})
no_gate(module)
module.main(sys.argv[1:])
"""


def run_killed(path: str, arguments: list[str], awaited: Path) -> None:
    """Run a script and SIGKILL it as soon as `awaited` is there."""
    command = [sys.executable, "-c", CODE.format(root=str(ROOT), path=path), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=ENVIRONMENT)
    deadline = time.monotonic() + 300
    while not awaited.exists():
        assert process.poll() is None, process.stdout.read().decode()[-3000:]
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    out = awaited.parent if awaited.name.startswith("checkpoint") else awaited.parent.parent
    assert not (out / "metrics.json").exists(), "killed too late to prove anything"


ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def run_whole(path: str, arguments: list[str]) -> None:
    command = [sys.executable, "-c", CODE.format(root=str(ROOT), path=path), *arguments]
    done = subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, done.stdout.decode()[-3000:]


@pytest.mark.parametrize(
    ("path", "arguments"),
    [
        pytest.param("train/sft.py", sft, id="sft"),
        pytest.param("train/opd.py", scheduled, id="opd"),
        pytest.param("train/opd.py", opd_checker, id="checker"),
        pytest.param("train/thinking.py", thinking, id="thinking"),
    ],
)
def test_killed_and_started_again_ends_with_the_same_tensors(world, tmp_path, path, arguments):
    more = ["--steps", "12", "--save_steps", "2", "--learning_rate", "0.01", "--schedule", "cosine"]
    run_whole(path, arguments(world, tmp_path / "whole", *more))
    killed = arguments(world, tmp_path / "killed", *more)
    run_killed(path, killed, tmp_path / "killed" / "checkpoint-4" / "whole")
    run_killed(path, killed, tmp_path / "killed" / "checkpoint-8")  # most likely in the middle of saving it
    half = tmp_path / "killed" / "checkpoint-1000"
    half.mkdir()
    (half / "trainer_state.json").write_text('{"global_st')
    run_whole(path, killed)
    assert_equal(tmp_path / "whole", tmp_path / "killed")
    assert not half.exists()


# Bad input


def test_bad_input_is_told_before_any_work(world, tmp_path, capsys):
    module = script("train/sft.py")
    config = tmp_path / "config.yaml"
    for text, field in (("steps: 2.5", "steps"), ("schedule: bogus", "schedule"), ("stepps: 3", "stepps")):
        config.write_text(text)
        with pytest.raises(SystemExit) as exit:
            module.main(["--config", str(config), *sft(world, tmp_path / "run")])
        assert exit.value.code == 2
        assert field in capsys.readouterr().err
    for more, reason in (
        (["--privileged_share", "0.9"], "privileged_share must be in [0, 0.5], got 0.9"),
        (["--rows_per_step", "6"], "rows_per_step must be a multiple of micro_batch (4), got 6"),
        (["--steps", "-1"], "steps must not be negative, got -1"),
    ):
        with pytest.raises(SystemExit) as exit:
            module.main(sft(world, tmp_path / "run", *more))
        assert exit.value.code == 2
        assert reason in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_bad_data_and_models_are_told_before_any_work(world, tmp_path):
    module, out = script("train/sft.py"), tmp_path / "run"

    def refused(error: type[Exception], match: str, *more: str) -> None:
        with pytest.raises(error, match=match):
            module.main(sft(world, out, *more))
        assert not list(out.glob("checkpoint-*"))

    refused(PreflightError, r"64 rows are fewer than one optimizer step takes \(96\)", "--rows_per_step", "96")
    refused(DataError, r"none\.jsonl: no such file", "--split", "none")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train.jsonl").write_text("")
    refused(DataError, r"train\.jsonl: the dataset is empty", "--data", str(tmp_path / "data"))
    asking = "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
    mute = tiny_model(tmp_path / "mute", template=CHATML.replace(asking, ""))
    refused(PreflightError, "no generation prompt", "--base", str(mute))
    refused(PreflightError, r"row tiny-\d+:\d.* tokens \(prompt \d+\), more than max_length 60", "--max_length", "60")


def test_a_run_is_not_continued_with_other_arguments(world, tmp_path):
    module = script("train/sft.py")
    module.main(sft(world, tmp_path / "run", "--steps", "1"))
    with pytest.raises(ValueError, match=r"learning_rate was 0\.0001, is 0\.5"):
        module.main(sft(world, tmp_path / "run", "--steps", "1", "--learning_rate", "0.5"))


def test_opd_refuses_what_cannot_teach(world, tmp_path, capsys):
    module = script("train/opd.py")
    with pytest.raises(SystemExit) as exit:
        module.main(opd(world, tmp_path / "run", "--steps", "1", "--teacher", "model"))
    assert exit.value.code == 2
    assert "teacher_model goes with teacher 'model'" in capsys.readouterr().err
    other = tiny_model(tmp_path / "other")
    config = json.loads((other / "tokenizer.json").read_text())
    vocabulary = config["model"]["vocab"]
    vocabulary["A"], vocabulary["B"] = vocabulary["B"], vocabulary["A"]
    (other / "tokenizer.json").write_text(json.dumps(config))
    with pytest.raises(PreflightError, match="different vocabularies"):
        module.main(opd(world, tmp_path / "run", "--steps", "1", "--teacher", "model", "--teacher_model", str(other)))
    with pytest.raises(PreflightError, match=r"tiny-\d+:\d: the prompt has \d+ tokens, more than the 50"):
        module.main(opd(world, tmp_path / "run", "--steps", "1", "--max_length", "62"))
    few = tmp_path / "few"
    write_jsonl(few / "train.jsonl", tiny_episodes(3))
    write_jsonl(few / "dev.jsonl", tiny_episodes(3))
    with pytest.raises(PreflightError, match=r"3 rows are fewer than one optimizer step takes \(8\)"):
        module.main(opd(world, tmp_path / "run", "--steps", "1", "--traces", str(few)))


@pytest.mark.parametrize("name", ["sft", "opd", "export_adapter"])
def test_a_bare_launch_says_what_it_needs(name):
    done = subprocess.run([sys.executable, str(ROOT / "train" / f"{name}.py")], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "the following arguments are required" in done.stderr
    assert {"sft": "base", "opd": "steps", "export_adapter": "run"}[name] in done.stderr.splitlines()[-1]


# Export


@pytest.fixture(scope="module")
def trained(world):
    out = world / "trained"
    script("train/sft.py").main(sft(world, out, "--steps", "20", "--learning_rate", "0.01"))
    return out


def test_export_proves_its_effect_and_says_how_to_serve(trained, tmp_path):
    row = {
        "arm": "sft",
        "condition": "tracker",
        "metric": "exact_edits",
        "mean": 0.5,
        "low": 0.4,
        "high": 0.6,
        "n": 9,
        "agent": "executor",
    }
    (tmp_path / "results.json").write_text(json.dumps([row, {**row, "metric": "exact_edits, load 3"}, {**row, "arm": "base"}]))
    results = ["--results", str(tmp_path / "results.json"), "--arm", "sft"]
    arguments = ["--run", str(trained), "--out", str(tmp_path / "x"), "--name", "t1", *results]
    script("train/export_adapter.py").main(arguments)
    card = (tmp_path / "x" / "README.md").read_text()
    facts = json.loads((trained / "metrics.json").read_text())
    for part in (
        facts["data"],
        facts["template"],
        "| exact_edits | 0.500 (0.400 to 0.600, n 9, agent executor) |",
        "--max-lora-rank 8 --lora-modules t1=",
    ):
        assert part in card
    assert tensors(trained).keys() == load_file(tmp_path / "x" / "adapter_model.safetensors").keys()
    assert str(trained.parent) not in card + (tmp_path / "x" / "adapter_config.json").read_text()


def broken(trained: Path, folder: Path, *, config: dict | None = None, change=None) -> Path:
    import shutil

    shutil.copytree(trained, folder)
    path = folder / "adapter" / "adapter_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **(config or {})}))
    weights = folder / "adapter" / "adapter_model.safetensors"
    if change is not None:
        save_file(change(load_file(weights)), weights)
    return folder


@pytest.mark.parametrize(
    ("config", "change", "reason"),
    [
        ({"modules_to_save": ["lm_head"]}, None, "modules_to_save"),
        ({"use_dora": True}, None, "use_dora"),
        ({"use_rslora": True}, None, "use_rslora"),
        ({"bias": "all"}, None, "bias"),
        ({"r": 1024}, None, "r = 1024"),
        (None, lambda old: {name.replace("layers.1", "layers.9"): t for name, t in old.items()}, r"layers\.9.* matches no layer"),
        (None, lambda old: {name: t[:, :-1].contiguous() for name, t in old.items()}, "has shape"),
        (None, lambda old: {name: torch.zeros_like(t) for name, t in old.items()}, "off the trained model's logits"),
        (None, lambda old: {"base_model.model.lm_head.lora_A.weight": torch.zeros(8, 32)}, "vocabulary's layers"),
    ],
)
def test_export_refuses_what_a_server_would_not_serve(trained, tmp_path, config, change, reason):
    run = broken(trained, tmp_path / "run", config=config, change=change)
    with pytest.raises(ExportError, match=reason):
        script("train/export_adapter.py").main(["--run", str(run), "--out", str(tmp_path / "x"), "--name", "t"])


def test_export_refuses_an_adapter_without_effect(world, tmp_path):
    script("train/sft.py").main(sft(world, tmp_path / "run", "--steps", "1", "--learning_rate", "0.0"))
    with pytest.raises(ExportError, match="it has no effect"):
        script("train/export_adapter.py").main(["--run", str(tmp_path / "run"), "--out", str(tmp_path / "x"), "--name", "t"])


def test_export_wants_a_finished_run(tmp_path):
    with pytest.raises(SystemExit, match="no finished training run"):
        script("train/export_adapter.py").main(["--run", str(tmp_path), "--out", str(tmp_path / "x"), "--name", "t"])
