"""The API backend against a small server of our own."""

from __future__ import annotations

import pytest

from intentfold.dialogue import Turn
from intentfold.runtime.openai_api import OpenAIBackend
from intentfold.runtime.roles import BackendError
from tests.servers import chat_server


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


@pytest.mark.parametrize("bad", ["fail", "empty"])
def test_failures_are_no_answers_and_the_rest_is_kept(server, bad) -> None:
    url, _ = server
    with pytest.raises(BackendError, match=r"refused|expected a choice") as error:
        OpenAIBackend(url, "m", retries=0).complete(prompts("one", bad, "two"), 5)
    assert {n: c.text for n, c in error.value.finished.items()} == {0: "one", 2: "two"}


def test_an_unreachable_server_is_a_backend_error() -> None:
    with pytest.raises(BackendError, match="APIConnectionError"):
        OpenAIBackend("http://127.0.0.1:9/v1", "m", retries=0).complete(prompts("one"), 5)
