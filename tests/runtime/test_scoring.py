"""The client of scoring servers: what it asks, what it retries, and that no answer but the right one passes."""

from __future__ import annotations

import copy
import json
import math
import threading
import time

import pytest

from intentfold.runtime.endpoints import beside_api
from intentfold.runtime.roles import BackendError
from intentfold.runtime.scoring import TokenScorer
from tests.served import serving

LOG = {id: math.log(p) for id, p in ((7, 0.5), (3, 0.25), (4, 0.125), (9, 0.0625))}


def right(body, k=2, **changes):
    """Every place has the same distribution; the token itself is there whatever its rank."""
    places = [None]
    for token in body["prompt"][1:]:
        ids = [*list(LOG)[:k], *([token] if token not in list(LOG)[:k] else [])]
        places.append({str(id): {"logprob": LOG[id], "rank": 1, "decoded_token": "?"} for id in ids})
    choice = {"index": 0, "prompt_token_ids": body["prompt"], "token_ids": [5], "prompt_logprobs": places, **changes}
    return {"model": body["model"], "choices": [choice]}


def scorer(*urls, **more):
    return TokenScorer(urls, "m", **{"retries": 0, "timeout": 20.0, **more})


def test_ids_go_out_and_come_back_with_the_sampled_token_always_there():
    asked = []

    def answer(path, body):
        asked.append((path, body))
        return right(body)

    with serving(answer) as url:
        found = scorer(url).score([[4, 4], [5]], [[9, 7], [3]], 2)
    assert found == [[{7: LOG[7], 3: LOG[3], 9: LOG[9]}, {7: LOG[7], 3: LOG[3]}], [{7: LOG[7], 3: LOG[3]}]]
    assert [list(place) for place in found[0]] == [[7, 3, 9], [7, 3]]
    assert {path for path, _ in asked} == {"/v1/completions"}
    bodies = sorted((body for _, body in asked), key=lambda body: len(body["prompt"]))
    assert [body["prompt"] for body in bodies] == [[5, 3], [4, 4, 9, 7]]
    for body in bodies:
        assert (body["model"], body["max_tokens"], body["temperature"], body["prompt_logprobs"]) == ("m", 1, 0.0, 2)
        assert body["return_token_ids"] is True


def test_rows_are_spread_and_few_are_in_flight():
    at_work, most, served = 0, 0, {"a": 0, "b": 0}
    lock = threading.Lock()

    def make(name):
        def answer(path, body):
            nonlocal at_work, most
            with lock:
                at_work += 1
                most = max(most, at_work)
                served[name] += 1
            time.sleep(0.02)
            with lock:
                at_work -= 1
            return right(body)

        return answer

    with serving(make("a")) as one, serving(make("b")) as two:
        found = scorer(one, two, in_flight=3).score([[4] * n for n in range(1, 11)], [[7]] * 10, 2)
    assert len(found) == 10
    assert served == {"a": 5, "b": 5}
    assert most == 3


@pytest.mark.parametrize("burst", [[429, 429], [500, 503]])
def test_a_burst_of_refusals_is_waited_out(burst):
    left, requests = list(burst), []

    def answer(path, body):
        requests.append(body)
        return left.pop(0) if left else right(body)

    with serving(answer) as url:
        assert scorer(url, retries=2).score([[4]], [[7]], 2) == [[{7: LOG[7], 3: LOG[3]}]]
        assert len(requests) == 3
        left[:] = [*burst, burst[0]]
        with pytest.raises(BackendError, match=rf"^{url}: /completions answered {burst[0]}"):
            scorer(url, retries=2).score([[4]], [[7]], 2)


def test_a_server_that_is_gone_or_slow_is_named_with_what_to_do():
    with serving(lambda path, body: right(body)) as url:
        pass
    with pytest.raises(BackendError, match=rf"^{url}: no answer after 2 tries .*Is the server up\?.*--enable-lora"):
        scorer(url, retries=1).score([[4]], [[7]], 2)

    def slow(path, body):
        time.sleep(1.0)
        return right(body)

    with serving(slow) as url, pytest.raises(BackendError, match=r"no answer after 1 tries of at most 0\.1 s"):
        scorer(url, timeout=0.1).score([[4]], [[7]], 2)


def test_one_endpoint_that_fails_drops_the_round():
    started = time.monotonic()

    def slow(path, body):
        time.sleep(2.0)
        return right(body)

    with serving(lambda path, body: 400) as bad, serving(slow) as good, pytest.raises(BackendError, match=rf"^{bad}: .*400"):
        scorer(bad, good, in_flight=1).score([[4]] * 8, [[7]] * 8, 2)
    assert time.monotonic() - started < 6.0


def test_a_cap_on_logprobs_and_an_unknown_model_say_what_to_do():
    cap = "Requested prompt logprobs of 64, which is greater than max allowed: 20"
    with serving(lambda path, body: (400, cap)) as url, pytest.raises(BackendError, match="start vLLM with --max-logprobs 64"):
        scorer(url).score([[4]], [[7]], 64)
    with serving(lambda path, body: (404, "no such model")) as url, pytest.raises(BackendError, match="that serves 'm'"):
        scorer(url).score([[4]], [[7]], 2)


def changed(change):
    def answer(path, body):
        whole = copy.deepcopy(right(body))
        return change(whole, whole["choices"][0]) or whole

    return answer


def at(choice, place, entries):
    choice["prompt_logprobs"][place] = {str(id): {"logprob": logprob} for id, logprob in entries.items()}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda whole, choice: b"<html>", "expected vLLM's answer to /completions, got '<html>'"),
        (lambda whole, choice: b"[" * 100_000, "expected vLLM's answer"),
        (lambda whole, choice: whole.update(choices=[]), "expected vLLM's answer"),
        (lambda whole, choice: whole.update(model="other"), "expected answers of the model 'm', got one of 'other'"),
        (lambda whole, choice: choice.update(prompt_token_ids=[4, 4, 9]), "other token ids than it was sent"),
        (lambda whole, choice: choice.update(prompt_logprobs=None), "expected prompt_logprobs for 4 tokens, got none"),
        (lambda whole, choice: choice["prompt_logprobs"].__delitem__(3), "expected prompt_logprobs for 4 tokens, got 3 places"),
        (
            lambda whole, choice: at(choice, 3, {3: -1.0, 1: -1.0}),
            r"log-probability of token 7 at its place, got those of \[1, 3\]",
        ),
        (lambda whole, choice: choice["prompt_logprobs"].__setitem__(3, None), r"token 7 at its place, got those of \[\]"),
        (lambda whole, choice: at(choice, 3, {7: -1.0}), r"expected 2 ids at each place and the token's own, got \[7\]"),
        (lambda whole, choice: at(choice, 3, {7: -3.0, 1: -3.0, 2: -3.0, 4: -3.0}), "expected 2 ids at each place"),
        (lambda whole, choice: at(choice, 3, {7: -1.0, -1: -2.0}), "expected 2 ids at each place"),
        (lambda whole, choice: at(choice, 3, {7: math.nan, 3: -1.0}), "expected log-probabilities, got nan"),
        (lambda whole, choice: at(choice, 3, {7: -math.inf, 3: -1.0}), "expected log-probabilities, got -inf"),
        (lambda whole, choice: at(choice, 3, {7: 0.5, 3: -1.0}), "expected log-probabilities, got 0.5"),
        (lambda whole, choice: at(choice, 3, {7: -0.1, 3: -0.1}), "probabilities that add up to at most 1, got 1.81"),
        (lambda whole, choice: at(choice, 3, {"x": -0.1, 3: -0.1}), "expected vLLM's answer"),
        (lambda whole, choice: choice["prompt_logprobs"][3].update({"7": {"logprob": "-0.1x"}}), "expected vLLM's answer"),
    ],
)
def test_what_is_not_the_answer_is_an_error_of_that_endpoint(change, said):
    with serving(changed(change)) as url, pytest.raises(BackendError, match=said) as error:
        scorer(url).score([[4, 4]], [[9, 7]], 2)
    assert str(error.value).startswith(url)


def test_models_texts_and_greedy_tokens():
    def answer(path, body):
        if path == "/v1/models":
            return {"object": "list", "data": [{"id": "m", "max_model_len": 9, "root": "x"}, {"id": "a", "parent": "m"}]}
        if path == "/detokenize":
            return {"prompt": "".join(map(chr, body["tokens"]))}
        assert (body["max_tokens"], "prompt_logprobs" in body) == (3, False)
        return right(body, prompt_logprobs=None, token_ids=[1, 2, 3])

    with serving(answer) as url:
        mine = scorer(f"{url}/")
        assert [(card.id, card.max_model_len, card.parent) for card in mine.cards()[0]] == [("m", 9, None), ("a", None, "m")]
        assert mine.texts([[65, 66], [67]]) == ["AB", "C"]
        assert mine.go_on([[4], [5]], 3) == [[1, 2, 3], [1, 2, 3]]


def test_the_key_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("TEACHER_KEY", "secret")
    assert scorer("http://h/v1", api_key_variable="TEACHER_KEY")._client["api_key"] == "secret"
    assert "secret" not in json.dumps(scorer("http://h/v1").endpoints)
    monkeypatch.delenv("TEACHER_KEY")
    with pytest.raises(BackendError, match="the environment variable TEACHER_KEY is not set"):
        scorer("http://h/v1", api_key_variable="TEACHER_KEY")


def test_detokenize_stands_beside_the_api():
    assert beside_api("http://h:1/v1", "/detokenize") == "http://h:1/detokenize"
    assert beside_api("https://h/llm/v1", "/detokenize") == "https://h/llm/detokenize"
