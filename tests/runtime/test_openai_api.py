"""The API backend against a small server of our own."""

from __future__ import annotations

import pytest

from intentfold.dialogue import Turn
from intentfold.prompts.construction import Proposal
from intentfold.runtime.openai_api import OpenAIBackend, _Answer, read_answer
from intentfold.runtime.roles import BackendError, Completion
from intentfold.runtime.structured import read_structured, response_format
from tests.served import chat_server


@pytest.fixture
def server():
    """Echoes the last message; `fail` answers 400, `flaky` 503 once, `empty` no choices, `long…` is cut off."""
    flaky = iter([503])

    def answer(body):
        said = body["messages"][-1]["content"]
        return {"fail": 400, "flaky": next(flaky, said) if said == "flaky" else said, "empty": None}.get(said, said)

    with chat_server(answer) as found:
        yield found


def prompts(*said: str):
    return [(Turn("system", "s"), Turn("user", text)) for text in said]


def test_completions_come_back_in_order(server) -> None:
    url, requests = server
    backend = OpenAIBackend(url, "m", chat_template_kwargs={"enable_thinking": False}, concurrency=2)
    found = backend.complete(prompts("one", "long…", "flaky"), 5)
    assert [(c.text, c.prompt_tokens, c.completion_tokens, c.stopped) for c in found] == [
        ("one", 7, 2, True), ("long…", 7, 2, False), ("flaky", 7, 2, True),
    ]  # fmt: skip
    assert len(requests) == 4
    assert requests[0]["chat_template_kwargs"] == {"enable_thinking": False}
    assert (requests[0]["temperature"], requests[0]["max_tokens"]) == (0.0, 5)
    assert backend.name == f"{url}#m"


def test_a_server_is_held_to_a_shape_and_told_failures_are_all() -> None:
    answers = iter([503, b'{"choices": [', b"<html>", '{"name": "a", "value": "b"}', 400])
    told: list[str] = []
    with chat_server(lambda body: next(answers)) as (url, requests):
        shape = response_format(Proposal, "json_schema")
        backend = OpenAIBackend(url, "m", retries=3, response_format=shape, failed=told.append)
        [found] = backend.complete(prompts("one"), 5)
        with pytest.raises(BackendError, match="BadRequestError"):
            backend.complete(prompts("two"), 5)
    assert read_structured(Proposal, found) == Proposal("a", "b")
    # What cannot be read is asked for again like any failure of a server; a refusal is not.
    assert told == ["503", "broken JSON", "broken JSON", "400"]
    asked = requests[0]["response_format"]["json_schema"]
    assert (asked["name"], asked["strict"], asked["schema"]["required"]) == ("proposal", True, ["name", "value"])
    assert asked["schema"]["additionalProperties"] is False
    # Answers held to another shape, or to none, are other answers.
    assert (
        len({backend.name, OpenAIBackend(url, "m").name, OpenAIBackend(url, "m", response_format={"type": "json_object"}).name})
        == 3
    )


def test_answers_of_a_shape_are_read_or_refused() -> None:
    assert response_format(Proposal, "none") is None
    assert response_format(Proposal, "json_object") == {"type": "json_object"}
    assert read_structured(Proposal, Completion('```json\n{"name": "a", "value": "b"}\n```', 1, 1, True)) == Proposal("a", "b")
    for text, stopped, reason in [
        ('{"name": "a", "value": "b"}', False, "cut off after 7 tokens"), ("} {", True, "expected a JSON object"),
        ('{"name": "a"}', True, "field value: Field required"), ('{"name": "a", "value": 3}', True, "field value: .* got .3"),
        ('{"name": "a", "value": "b", "x": 1}', True, "field x"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=reason):
            read_structured(Proposal, Completion(text, 1, 7, stopped))


@pytest.mark.parametrize("bad", ["fail", "empty"])
def test_failures_are_no_answers_and_the_rest_is_kept(server, bad) -> None:
    url, _ = server
    with pytest.raises(BackendError, match=r"refused|expected a choice") as error:
        OpenAIBackend(url, "m", retries=0).complete(prompts("one", bad, "two"), 5)
    assert {n: c.text for n, c in error.value.finished.items()} == {0: "one", 2: "two"}


GARBAGE = [
    "<html>",
    "",
    "null",
    "[]",
    "3",
    '"x"',
    "[" * 100_000,
    *(
        f'{{"choices": {choices}, "usage": {{"prompt_tokens": 1, "completion_tokens": 1}}}}'
        for choices in ('"x"', "[null]", "[{}]")
    ),
    *(
        f'{{"choices": [{{"finish_reason": "stop", "message": {message}}}], "usage": {usage}}}'
        for message, usage in (
            ("null", '{"prompt_tokens": 1, "completion_tokens": 1}'),
            ('{"content": 5}', '{"prompt_tokens": 1, "completion_tokens": 1}'),
            ('{"content": [{"type": "text", "text": "x"}]}', '{"prompt_tokens": 1, "completion_tokens": 1}'),
            ('{"content": "x"}', "{}"),
            ('{"content": "x"}', '"x"'),
            ('{"content": "x"}', '{"prompt_tokens": -1, "completion_tokens": 1}'),
        )
    ),
]


def test_garbage_is_a_backend_error() -> None:
    for garbage in GARBAGE:
        with pytest.raises(BackendError, match="expected a choice and its usage"):
            read_answer(_Answer, garbage.encode(), "a choice and its usage")


def test_garbage_of_one_request_keeps_the_rest() -> None:
    def answer(body):
        said = body["messages"][-1]["content"]
        return b"<html>" if said == "bad" else said

    with chat_server(answer) as (url, _), pytest.raises(BackendError, match="expected a choice and its usage") as error:
        OpenAIBackend(url, "m", retries=0).complete(prompts("one", "bad", "two"), 5)
    assert {n: c.text for n, c in error.value.finished.items()} == {0: "one", 2: "two"}


def test_a_lone_surrogate_is_a_question_mark() -> None:
    with chat_server(lambda body: "a\ud800") as (url, _):
        assert OpenAIBackend(url, "m", retries=0).complete(prompts("one"), 5)[0].text == "a?"


def test_an_unreachable_server_is_a_backend_error() -> None:
    with pytest.raises(BackendError, match="APIConnectionError"):
        OpenAIBackend("http://127.0.0.1:9/v1", "m", retries=0).complete(prompts("one"), 5)
