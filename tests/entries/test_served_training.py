"""Training when things fail: a served teacher's faults, NaN, a full disk, SIGTERM. Nothing is corrupt, and the message helps."""

# ruff: noqa: E402
from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import patch

import pytest

torch = pytest.importorskip("torch")

from intentfold import models
from intentfold.runtime.roles import BackendError
from intentfold.training.legs import NotFiniteError, SaveError, last_checkpoint
from intentfold.training.preflight import PreflightError
from tests.entries.test_train import ENVIRONMENT, assert_equal, gate_back, opd, run_whole, sft, tensors, world
from tests.served import ScoringServer, serving
from tests.tiny import ROOT, script, tiny_model

__all__ = ["gate_back", "world"]


@pytest.fixture(scope="module")
def teacher(world):
    model, tokenizer = models.load(tiny_model(world / "teacher", seed=3, layers=3))
    for parameter in model.parameters():
        parameter.data.mul_(3.0)
    model.save_pretrained(world / "teacher")
    return model, tokenizer


def taught(world, out, url, *more, steps=4):
    served = ["--teacher", "served", "--served", '{"model": "teacher", "top_k": 6}', "--servers.endpoints", json.dumps([url])]
    quick = ["--servers.retries", "2", "--servers.timeout", "20", "--learning_rate", "0.01", "--save_steps", "100"]
    return opd(world, out, "--steps", str(steps), *served, *quick, *more)


def train(arguments):
    from intentfold.training.opd import OnPolicyTrainer

    # A tiny model is no teacher. A patch that ends by itself: fixtures of the module train before `gate_back` looks.
    with patch.object(OnPolicyTrainer, "check_teacher", lambda self: None):
        script("train/opd.py").main(arguments)


@pytest.fixture(scope="module")
def whole(world, teacher):
    """A run that nothing disturbed, and how many requests its preflight and each of its steps made."""
    server = ScoringServer(*teacher)
    with serving(server) as url:
        train(taught(world, world / "whole", url))
    counts = [body.get("prompt_logprobs") for body in server.requests]
    return world / "whole", len(counts) - 4 * 9


def test_a_served_teacher_moves_the_adapter_and_is_asked_in_one_round_a_step(world, whole):
    run, preflight = whole
    # Four probes scored, continued and scored again; then a watched row and eight of the student's a step.
    assert preflight == 12
    metrics = json.loads((run / "metrics.json").read_text())
    steps = [entry for entry in metrics["log"] if "loss" in entry]
    assert len(steps) == 4
    assert all(entry["loss"] > 0 for entry in steps)
    before, after = tensors(world / "start"), tensors(run)
    assert any(not torch.equal(before[name], after[name]) for name in before)


def test_every_flag_reaches_the_teacher(world, teacher, tmp_path, monkeypatch):
    from intentfold.training.opd import OnPolicyTrainer

    class Asked(Exception):
        pass

    found = []

    def look(self, **kwargs):
        found.append(kwargs["teacher"])
        raise Asked

    monkeypatch.setattr(OnPolicyTrainer, "__init__", look)
    monkeypatch.setenv("TEACHER_KEY", "k")
    with serving(ScoringServer(*teacher)) as url, serving(ScoringServer(*teacher)) as other:
        served = {"model": "teacher", "top_k": 7, "loss": "policy_gradient", "clip": 0.3, "tolerance": 0.5}
        servers = {
            "endpoints": [url, other], "in_flight": 3, "timeout": 9.0, "retries": 4, "api_key_variable": "TEACHER_KEY",
        }  # fmt: skip
        more = ["--served", json.dumps(served), "--servers", json.dumps(servers), "--teacher_sees", "plain"]
        with pytest.raises(Asked):
            train(taught(world, tmp_path / "run", url, *more))
        with pytest.raises(PreflightError, match="off those of"):  # teacher_model is looked at
            tight = ["--served", json.dumps({**served, "tolerance": 1e-3}), "--teacher_model", str(world / "base")]
            train(taught(world, tmp_path / "other", url, *more, *tight))
    (made,) = found
    assert (made.k, made.loss, made.clip, made.watch.tolerance, made.prompt.sees) == (7, "policy_gradient", 0.3, 0.5, "plain")
    assert (made.scorer.endpoints, made.scorer.model, made.scorer.in_flight) == ([url, other], "teacher", 3)
    assert made.scorer._client == {"api_key": "k", "max_retries": 4, "timeout": 9.0}


def test_a_policy_gradient_run_moves_the_adapter(world, teacher, tmp_path):
    with serving(ScoringServer(*teacher)) as url:
        train(taught(world, tmp_path / "run", url, "--served.loss", "policy_gradient", steps=1))
    before, after = tensors(world / "start"), tensors(tmp_path / "run")
    assert any(not torch.equal(before[name], after[name]) for name in before)


def killed_at(number, stack):
    def fault(request, body, answer):
        if request == number:
            stack.close()
        return answer

    return fault


def other_model(body, answer):
    """The answer of a model under the same name whose numbers are others."""
    for place in answer["choices"][0]["prompt_logprobs"] or []:
        for entry in (place or {}).values():
            entry["logprob"] -= 0.1
    return answer


def not_a_number(body, answer):
    answer["choices"][0]["prompt_logprobs"][-1][str(body["prompt"][-1])]["logprob"] = float("nan")
    return answer


FAULTS = {
    "garbage": (lambda body, answer: b"<html>busy</html>", "expected vLLM's answer to /completions, got '<html>"),
    "nan": (not_a_number, "expected log-probabilities, got nan"),
    "other name": (lambda body, answer: {**answer, "model": "other"}, "got one of 'other'"),
    "other model": (other_model, "another model answers under the same name"),
    "refusals": (lambda body, answer: 503, "answered 503"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_teacher_that_fails_stops_the_run_and_the_next_leg_ends_with_the_same_adapter(world, teacher, whole, tmp_path, fault):
    """The fault comes in step 3: two steps are whole, and no save was due."""
    (change, said), (run, preflight), out = FAULTS[fault], whole, tmp_path / "run"
    begin = preflight + 2 * 9
    server = ScoringServer(*teacher, fault=lambda n, body, answer: answer if n <= begin else change(body, answer))
    with serving(server) as url, pytest.raises(BackendError) as error:
        train(taught(world, out, url))
    message = str(error.value)
    assert message.startswith(f"step 3: {url}: ")
    assert said in message
    assert message.endswith(f"start the same command again, and the run goes on from {out / 'checkpoint-2'}")
    assert last_checkpoint(out) == out / "checkpoint-2"
    assert not (out / "adapter").exists()
    with serving(ScoringServer(*teacher)) as url:  # another address
        train(taught(world, out, url))
    assert_equal(run, out)


def test_a_teacher_that_is_killed_stops_the_run_likewise(world, teacher, whole, tmp_path):
    """Killed in the round of step 2, of which it may still answer what it has accepted."""
    (run, preflight), out = whole, tmp_path / "run"
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(serving(ScoringServer(*teacher, fault=killed_at(preflight + 9 + 4, stack))))
        with pytest.raises(BackendError, match=r"step ([23]): .*no answer after 3 tries .*Is the server up\?.*checkpoint-[12]$"):
            train(taught(world, out, url))
    with serving(ScoringServer(*teacher)) as url:
        train(taught(world, out, url))
    assert_equal(run, out)


def test_a_teacher_that_dies_before_the_first_step_leaves_nothing_to_go_on_from(world, teacher, whole, tmp_path):
    server = ScoringServer(*teacher, fault=lambda n, body, answer: answer if n <= whole[1] else 400)
    with serving(server) as url, pytest.raises(BackendError, match=r"step 1: .*the run starts anew$"):
        train(taught(world, tmp_path / "run", url))
    assert not list((tmp_path / "run").glob("checkpoint-*"))


def test_bursts_of_refusals_and_slow_answers_change_nothing(world, teacher, whole, tmp_path):
    def fault(number, body, answer):
        if number % 10 == 3:
            return 429 if number % 20 == 3 else 500
        time.sleep(0.05 * (number % 7 == 0))
        return answer

    with serving(ScoringServer(*teacher, fault=fault)) as url:
        train(taught(world, tmp_path / "run", url))
    assert_equal(whole[0], tmp_path / "run")


def test_other_weights_than_before_are_refused_before_the_run_goes_on(world, teacher, tmp_path):
    other = models.load(world / "base")[0]
    with serving(ScoringServer(other, teacher[1])) as url, pytest.raises(PreflightError, match=r"off those of .*teacher"):
        train(taught(world, tmp_path / "run", url, "--teacher_model", str(world / "teacher")))


# Faults of training itself


def test_a_loss_that_is_no_number_ends_the_run_before_it_is_saved(world, tmp_path, monkeypatch):
    from intentfold.training.sft import CompletionTrainer

    right = CompletionTrainer.compute_loss

    def lost(self, model, inputs, *more, **named):
        loss = right(self, model, inputs, *more, **named)
        return loss * float("nan") if self.state.global_step == 2 else loss

    monkeypatch.setattr(CompletionTrainer, "compute_loss", lost)
    out = tmp_path / "run"
    said = r"step 3: the loss or its gradient was NaN.*Lower learning_rate \(now 0\.01\).*goes on from .*checkpoint-2$"
    with pytest.raises(NotFiniteError, match=said):
        script("train/sft.py").main(sft(world, out, "--steps", "5", "--save_steps", "1", "--learning_rate", "0.01"))
    assert last_checkpoint(out) == out / "checkpoint-2"
    assert not (out / "adapter").exists()
    assert not (out / "checkpoint-3").exists()


@pytest.mark.parametrize("due", ["checkpoint-4", "adapter"])
def test_a_full_disk_ends_the_run_and_with_room_it_goes_on(world, tmp_path, monkeypatch, due):
    """Disk full as the kernel says it, in the middle of a file."""
    from intentfold.training.sft import CompletionTrainer

    more = ["--steps", "5", "--save_steps", "2", "--learning_rate", "0.01"]
    script("train/sft.py").main(sft(world, tmp_path / "whole", *more))
    right = CompletionTrainer._save

    def full(self, output_dir=None, state_dict=None):
        if Path(output_dir).name != due:
            return right(self, output_dir, state_dict)
        Path(output_dir).mkdir()
        (Path(output_dir) / "adapter_model.safetensors").write_bytes(b"half")
        raise OSError(28, "No space left on device")

    out = tmp_path / "run"
    with monkeypatch.context() as patched:
        patched.setattr(CompletionTrainer, "_save", full)
        said = r"could not save .*No space left on device.* MiB are free there.*make room, .*goes on from .*checkpoint-"
        with pytest.raises(SaveError, match=said):
            script("train/sft.py").main(sft(world, out, *more))
    assert last_checkpoint(out) == out / ("checkpoint-2" if due == "checkpoint-4" else "checkpoint-5")
    assert not (out / "metrics.json").exists()
    script("train/sft.py").main(sft(world, out, *more))
    assert_equal(tmp_path / "whole", out)


def test_a_disk_that_is_really_full(world, tmp_path):
    """A file system of one checkpoint and a half: what the writers themselves do."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("no right to mount a small file system here")
    try:
        with pytest.raises(SaveError, match=r"disk/run: could not save .* MiB are free there.*goes on from .*checkpoint-1$"):
            script("train/sft.py").main(sft(world, disk / "run", "--steps", "2", "--save_steps", "1"))
        assert last_checkpoint(disk / "run") == disk / "run" / "checkpoint-1"
        assert not (disk / "run" / "metrics.json").exists()
    finally:
        subprocess.run(["umount", str(disk)], check=True)


TERMINATED = """
import os, signal, sys
sys.path.insert(0, {root!r})
import torch
from tests.tiny import script
right = torch.save
def half(data, file, *more, **named):
    right(data, file, *more, **named)
    if "checkpoint-4" in str(file) and str(file).endswith("optimizer.pt"):
        os.truncate(file, os.path.getsize(file) // 2)
        os.kill(os.getpid(), signal.SIGTERM)
torch.save = half
script("train/sft.py").main(sys.argv[1:])
"""


def test_sigterm_in_the_middle_of_a_save_leaves_what_goes_on_to_the_same_adapter(world, tmp_path):
    more = ["--steps", "5", "--save_steps", "2", "--learning_rate", "0.01", "--schedule", "cosine"]
    arguments = sft(world, tmp_path / "run", *more)
    command = [sys.executable, "-c", TERMINATED.format(root=str(ROOT)), *arguments]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr[-3000:]
    assert "ended by SIGTERM; start the same command again, and the run goes on from" in done.stderr
    assert "goes on from " + str(tmp_path / "run" / "checkpoint-2") in done.stderr
    assert (tmp_path / "run" / "checkpoint-4" / "optimizer.pt").exists()
    assert last_checkpoint(tmp_path / "run") == tmp_path / "run" / "checkpoint-2"
    run_whole("train/sft.py", arguments)
    run_whole("train/sft.py", sft(world, tmp_path / "whole", *more))
    assert_equal(tmp_path / "whole", tmp_path / "run")
