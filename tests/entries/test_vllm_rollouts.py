"""train/opd.py whose samples vLLM draws: the adapter handed over and proved, lagging samples, faults. (A server of ours.)"""

# ruff: noqa: E402
from __future__ import annotations

import json
from unittest.mock import patch

import pytest

torch = pytest.importorskip("torch")

from intentfold import models
from intentfold.runtime.roles import BackendError
from intentfold.training.legs import last_checkpoint
from intentfold.training.preflight import PreflightError
from tests.entries.test_train import assert_equal, gate_back, opd, sft, tensors, world
from tests.served import SamplingServer, serving
from tests.tiny import script, tiny_model

__all__ = ["gate_back", "world"]


def server(world, **more):
    return SamplingServer(*models.load(world / "base"), **more)


def sampled(world, out, url, *more, steps=4, every=1):
    where = ["--rollout_servers", json.dumps({"model": "base", "endpoints": [url], "retries": 1, "timeout": 20.0})]
    how = ["--rollouts.sync_every", str(every), "--learning_rate", "0.01", "--save_steps", "100"]
    return opd(world, out, "--steps", str(steps), *where, *how, *more)


def train(arguments):
    from intentfold.training.opd import OnPolicyTrainer

    # A tiny model is no teacher. A patch that ends by itself: fixtures of the module train before `gate_back` looks.
    with patch.object(OnPolicyTrainer, "check_teacher", lambda self: None):
        script("train/opd.py").main(arguments)


@pytest.fixture(scope="module")
def whole(world):
    """A run that nothing disturbed, and its server."""
    ours = server(world)
    with serving(ours) as url:
        train(sampled(world, world / "whole", url))
    return world / "whole", ours


def logged(run, name):
    return [entry[name] for entry in json.loads((run / "metrics.json").read_text())["log"] if name in entry]


def test_every_step_samples_with_the_adapter_of_now(world, whole):
    run, ours = whole
    loads, asked = ours.asked("/v1/load_lora_adapter"), ours.asked("/v1/completions")
    assert [body["lora_name"].rsplit("-", 1)[1] for body in loads] == ["0", "1", "2", "3"]
    assert [body["model"] for body in asked] == [body["lora_name"] for body in loads for _ in range(8)]
    assert len({body["seed"] for body in asked}) == len(asked)
    assert max(logged(run, "rollout/server_gap")) < 1e-4
    assert logged(run, "rollout/lag") == [0.0] * 4
    assert list(ours.adapters) == [loads[-1]["lora_name"]], "the old ones are unloaded"
    assert [folder.name for folder in (run / "synced").iterdir()] == ["step-3"]
    before, after = tensors(world / "start"), tensors(run)
    assert any(not torch.equal(before[name], after[name]) for name in before)


def test_what_lags_is_weighed(world, tmp_path):
    ours = server(world)
    with serving(ours) as url:
        train(sampled(world, tmp_path / "run", url, "--rollouts.max_importance", "1.5", every=2))
    assert len(ours.asked("/v1/load_lora_adapter")) == 2
    assert logged(tmp_path / "run", "rollout/lag") == [0.0, 1.0, 0.0, 1.0]
    assert len(logged(tmp_path / "run", "rollout/server_gap")) == 2
    means = logged(tmp_path / "run", "rollout/importance")
    assert len(means) == 2
    assert all(0.3 < mean <= 1.5 and mean != 1.0 for mean in means)


def test_whole_dialogues_are_sampled_in_waves(world, tmp_path):
    script("data_gen/mine_examples.py").main(
        ["--traces", str(world / "traces"), "--out", str(tmp_path / "data"), "--window", "0"]
    )
    script("train/sft.py").main([*sft(world, tmp_path / "sft", "--steps", "1"), "--data", str(tmp_path / "data")])
    more = ["--window", "0", "--own_state_share", "1.0", "--init_adapter", str(tmp_path / "sft" / "adapter")]
    ours = server(world)
    with serving(ours) as url:
        train(sampled(world, tmp_path / "run", url, *more, steps=2))
    turns = {len(body["prompt"]) for body in ours.asked("/v1/completions")}
    assert len(turns) > 2, "later turns have longer prompts"
    assert max(logged(tmp_path / "run", "rollout/server_gap")) < 1e-4


def test_every_flag_reaches_the_sampler(world, tmp_path, monkeypatch):
    from intentfold.training.opd import OnPolicyTrainer

    class Asked(Exception):
        pass

    found = []

    def look(self, **kwargs):
        found.append(kwargs["vllm"])
        raise Asked

    monkeypatch.setattr(OnPolicyTrainer, "__init__", look)
    monkeypatch.setenv("ROLLOUT_KEY", "k")
    with serving(server(world)) as url, serving(server(world)) as other:
        servers = {
            "model": "base", "endpoints": [url, other], "in_flight": 3, "timeout": 9.0, "retries": 4,
            "api_key_variable": "ROLLOUT_KEY",
        }  # fmt: skip
        rollouts = {"sync_every": 5, "max_importance": 3.0, "tolerance": 0.5}
        more = ["--rollout_servers", json.dumps(servers), "--rollouts", json.dumps(rollouts), "--seed", "7"]
        with pytest.raises(Asked):
            train(opd(world, tmp_path / "run", "--steps", "1", "--save_steps", "5", *more))
    (made,) = found
    assert (made.settings.sync_every, made.settings.max_importance, made.settings.tolerance) == (5, 3.0, 0.5)
    assert (made.out, made.seed, made.sampler.max_tokens) == (tmp_path / "run", 7, 12)
    asked = made.sampler.sampler
    assert (asked.endpoints, asked.model, asked.in_flight) == ([url, other], "base", 3)
    assert asked._client == {"api_key": "k", "max_retries": 4, "timeout": 9.0}


def test_each_of_several_servers_is_proved(world, tmp_path):
    """The second server samples with what it was given first, under every name."""
    stale = server(world)

    def answer(path, body):
        if path == "/v1/load_lora_adapter" and stale.adapters:
            stale.adapters[body["lora_name"]] = next(iter(stale.adapters.values()))
            return b"Success"
        return SamplingServer.__call__(stale, path, body)

    with serving(server(world)) as url, serving(answer) as other:
        where = json.dumps({"model": "base", "endpoints": [url, other], "retries": 0})
        with pytest.raises(BackendError, match=rf"step 2: {other}: the log-probabilities .* off the trainer's"):
            train([*sampled(world, tmp_path / "run", url), "--rollout_servers", where])


def only(path, change):
    return lambda at, number, body, answer: change(body, answer) if at == path else answer


def changed(body, answer, **more):
    (choice,) = answer["choices"]
    return {**answer, "choices": [{**choice, **more}]}


def too_sure(body, answer):
    logprobs = [one / 2 for one in answer["choices"][0]["logprobs"]["token_logprobs"]]
    return changed(body, answer, logprobs={"token_logprobs": logprobs})


COMPLETIONS, LOAD = "/v1/completions", "/v1/load_lora_adapter"
FAULTS = {
    "garbage": (COMPLETIONS, lambda body, answer: b"<html>busy</html>", "expected vLLM's answer to /completions, got '<html>"),
    "other model": (COMPLETIONS, lambda body, answer: {**answer, "model": "base"}, "got one of 'base'"),
    "other ids": (COMPLETIONS, lambda body, answer: changed(body, answer, prompt_token_ids=[1]), "read other token ids"),
    "nothing said": (COMPLETIONS, lambda body, answer: changed(body, answer, token_ids=[]), "expected 12 sampled ids"),
    "cut short": (COMPLETIONS, lambda body, answer: changed(body, answer, token_ids=[5]), "expected 12 sampled ids, or fewer"),
    "too few": (COMPLETIONS, lambda body, answer: changed(body, answer, logprobs={"token_logprobs": [-1.0]}), "as many sampled"),
    "another temperature": (COMPLETIONS, too_sure, "off the trainer's, more than the tolerance 0.001"),
    "refused": (COMPLETIONS, lambda body, answer: 503, "answered 503"),
    "rank": (LOAD, lambda body, answer: (400, "LoRA rank 32 is greater than max_lora_rank 16"), "--max-lora-rank must be"),
    "no adapters": (LOAD, lambda body, answer: (404, "Not Found"), "VLLM_ALLOW_RUNTIME_LORA_UPDATING=True"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_sampler_that_fails_stops_the_run_and_the_next_leg_ends_with_the_same_adapter(world, whole, tmp_path, fault):
    """The fault comes in step 3: two steps are whole, and no save was due."""
    (path, change, said), (run, _), out = FAULTS[fault], whole, tmp_path / "run"

    def third(at, number, body, answer):
        return change(body, answer) if at == path and len(ours.asked(LOAD)) >= 3 else answer

    ours = server(world, fault=third)
    with serving(ours) as url, pytest.raises(BackendError) as error:
        train(sampled(world, out, url))
    message = str(error.value)
    assert message.startswith(f"step 3: {url}: ")
    assert said in message
    assert message.endswith(f"start the same command again, and the run goes on from {out / 'checkpoint-2'}")
    assert last_checkpoint(out) == out / "checkpoint-2"
    assert not (out / "adapter").exists()
    ours.fault = lambda at, number, body, answer: answer
    with serving(ours) as url:  # another address of a server that still holds the first leg's adapters
        train(sampled(world, out, url))
    assert_equal(run, out)
    assert len(ours.adapters) == 1, "what an earlier leg left is unloaded"


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda world: server(world, room=200), r"max_model_len is 200, and max_length needs 1024"),
        (lambda world: server(world, fault=only("/v1/models", lambda body, answer: {"data": []})), "expected the base 'base'"),
        (lambda world: server(world, fault=only("/detokenize", lambda body, answer: {"prompt": "?"})), "different vocabularies"),
    ],
)
def test_another_server_than_is_meant_is_refused_before_the_first_step(world, tmp_path, made, said):
    with serving(made(world)) as url, pytest.raises(PreflightError, match=said):
        train(sampled(world, tmp_path / "run", url))


def test_another_base_is_found_out_in_the_first_step(world, tmp_path):
    tiny_model(tmp_path / "other", seed=9)
    said = r"step 1: .*another adapter, base or dtype than is trained\. .*starts anew$"
    with serving(SamplingServer(*models.load(tmp_path / "other"))) as url, pytest.raises(BackendError, match=said):
        train(sampled(world, tmp_path / "run", url))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--rollout_servers", '{"model": "base", "endpoints": ["http://h/v1"]}'], "goes with rollouts"),
        (["--rollouts.sync_every", "3", "--save_steps", "4"], "save_steps must be a multiple of rollouts.sync_every"),
        (["--rollouts.sync_every", "0"], "sync_every and max_importance must be at least 1"),
        (["--rollouts.gpu_memory", "1.5"], "gpu_memory must be between 0 and 1"),
        (["--rollouts.gpu_memory", "0.5", "--rollout_servers", '{"model": "b", "endpoints": ["http://h/v1"]}'], "no gpu_memory"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(world, tmp_path, capsys, more, said):
    with pytest.raises(SystemExit):
        train(opd(world, tmp_path / "run", "--steps", "1", *more))
    assert said in capsys.readouterr().err


def test_without_vllm_beside_the_trainer_the_message_says_what_to_do(world, tmp_path):
    with pytest.raises(BackendError, match="install it there, or name servers"):
        train(opd(world, tmp_path / "run", "--steps", "1", "--rollouts.sync_every", "1"))
