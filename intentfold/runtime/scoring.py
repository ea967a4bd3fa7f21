"""Token ids in, log-probabilities out: vLLM endpoints that score what was written elsewhere."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

import openai
from pydantic import Field

from intentfold.records import from_json
from intentfold.runtime.roles import BackendError

T = TypeVar("T")
Likeliest = dict[int, float]  # log-probabilities by id at one place, the likeliest first


@dataclass(frozen=True, slots=True)
class Card:
    """A model that a server lists; `parent` is there where it is an adapter."""

    id: str
    max_model_len: int | None = None
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class _Cards:
    data: list[Card]


@dataclass(frozen=True, slots=True)
class _Logprob:
    logprob: float


@dataclass(frozen=True, slots=True)
class _Choice:
    prompt_token_ids: list[int]
    token_ids: list[int]
    prompt_logprobs: list[dict[int, _Logprob] | None] | None = None


@dataclass(frozen=True, slots=True)
class _Answer:
    model: str
    choices: Annotated[list[_Choice], Field(min_length=1, max_length=1)]


@dataclass(frozen=True, slots=True)
class _Text:
    prompt: str


@dataclass(frozen=True, slots=True)
class _Job:
    """One request: `body` None is a GET. Paths are the API's own; `/detokenize` stands beside `/v1`."""

    endpoint: str
    path: str
    body: Mapping[str, Any] | None = field(default=None, repr=False)


class TokenScorer:
    """Endpoints that serve the same `model`: rows are spread over them, `in_flight` at a time over all.

    What may pass (connection, time-out, 408, 409, 429, 5xx) is tried `retries` more times with growing pauses. What then
    still fails, and every answer that is not exactly what was asked, is a `BackendError` that names the endpoint, raised
    at once: the other requests of the round are dropped.
    """

    def __init__(
        self,
        endpoints: Sequence[str],
        model: str,
        *,
        in_flight: int = 32,
        retries: int = 5,
        timeout: float = 600.0,
        api_key_variable: str | None = None,
    ) -> None:
        self.endpoints, self.model, self.in_flight = [url.rstrip("/") for url in endpoints], model, in_flight
        if api_key_variable and not os.environ.get(api_key_variable):
            raise BackendError(f"the environment variable {api_key_variable} is not set")
        key = os.environ[api_key_variable] if api_key_variable else "none"
        self._client: dict[str, Any] = {"api_key": key, "max_retries": retries, "timeout": timeout}

    def cards(self) -> list[list[Card]]:
        """What each endpoint says that it serves."""
        return [_read(_Cards, *answer).data for answer in self._round([_Job(url, "/models") for url in self.endpoints])]

    def score(
        self,
        prompts: Sequence[Sequence[int]],
        completions: Sequence[Sequence[int]],
        k: int,
        places: Sequence[int] | None = None,
    ) -> list[list[Likeliest]]:
        """For each row, at each token of its completion, the `k` likeliest ids and that token: k or k + 1 of them.

        Row n is asked of endpoint `places[n]`, in turn by default. The log-probabilities are the model's own at
        temperature 1. A server computes every row whole: requests for `prompt_logprobs` do not read vLLM's prefix cache.
        """
        at = range(len(prompts)) if places is None else places
        jobs = []
        for prompt, completion, place in zip(prompts, completions, at, strict=True):
            body = self._body([*prompt, *completion], max_tokens=1, prompt_logprobs=k)
            jobs.append(_Job(self.endpoints[place % len(self.endpoints)], "/completions", body))
        found = []
        for (job, text), completion in zip(self._round(jobs), completions, strict=True):
            choice = self._choice(job, text)
            try:
                found.append(_likeliest(choice, completion, k))
            except ValueError as error:
                raise BackendError(f"{job.endpoint}: {error}") from None
        return found

    def go_on(self, prompts: Sequence[Sequence[int]], max_tokens: int, place: int = 0) -> list[list[int]]:
        """The ids that the model itself puts after each prompt, greedily."""
        url = self.endpoints[place]
        jobs = [_Job(url, "/completions", self._body(prompt, max_tokens=max_tokens)) for prompt in prompts]
        return [self._choice(job, text).token_ids for job, text in self._round(jobs)]

    def texts(self, runs: Sequence[Sequence[int]], place: int = 0) -> list[str]:
        """The runs of ids as the server's tokenizer decodes them."""
        url = self.endpoints[place]
        jobs = [_Job(url, "/detokenize", {"model": self.model, "tokens": list(ids)}) for ids in runs]
        return [_read(_Text, job, text).prompt for job, text in self._round(jobs)]

    def _body(self, ids: Sequence[int], **more: Any) -> dict[str, Any]:
        # Any id may be part of what is scored: nothing is added before it, and nothing of it is text.
        return {"model": self.model, "prompt": list(ids), "temperature": 0.0, "return_token_ids": True, **more}

    def _choice(self, job: _Job, text: str) -> _Choice:
        answer = _read(_Answer, job, text)
        assert job.body is not None
        if answer.model != self.model:
            raise BackendError(f"{job.endpoint}: expected answers of the model {self.model!r}, got one of {answer.model!r}")
        if answer.choices[0].prompt_token_ids != job.body["prompt"]:
            raise BackendError(f"{job.endpoint}: the server read other token ids than it was sent")
        return answer.choices[0]

    def _round(self, jobs: Sequence[_Job]) -> list[tuple[_Job, str]]:
        try:
            return asyncio.run(self._ask_all(jobs))
        except ExceptionGroup as group:
            raise group.exceptions[0] from None

    async def _ask_all(self, jobs: Sequence[_Job]) -> list[tuple[_Job, str]]:
        turnstile = asyncio.Semaphore(self.in_flight)
        # The endpoint is in each job's address: one client, and so one pool of connections, serves all.
        async with openai.AsyncOpenAI(base_url=self.endpoints[0], **self._client) as client:

            async def one(job: _Job) -> tuple[_Job, str]:
                async with turnstile:
                    return job, await self._ask(client, job)

            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(job)) for job in jobs]
        return [task.result() for task in tasks]

    async def _ask(self, client: openai.AsyncOpenAI, job: _Job) -> str:
        address = beside_api(job.endpoint, job.path) if job.path == "/detokenize" else job.endpoint + job.path
        try:
            if job.body is None:
                return await client.get(address, cast_to=str)
            return await client.post(address, cast_to=str, body=job.body)
        except openai.APIStatusError as error:
            raise BackendError(f"{job.endpoint}: {self._refusal(error, job)}") from error
        except openai.OpenAIError as error:
            tried = f"after {1 + self._client['max_retries']} tries of at most {self._client['timeout']:g} s"
            raise BackendError(
                f"{job.endpoint}: no answer {tried} ({type(error).__name__}: {error}). Is the server up? A vLLM server with "
                "--enable-lora dies of concurrent prompt_logprobs: score on one without"
            ) from error

    def _refusal(self, error: openai.APIStatusError, job: _Job) -> str:
        said = f"{job.path} answered {error.status_code}: {error.response.text[:300]}"
        if error.status_code == 400 and "logprobs" in error.response.text and job.body is not None:
            return f"{said}: start vLLM with --max-logprobs {job.body.get('prompt_logprobs')} or more"
        if error.status_code == 404:
            return f"{said}: expected a vLLM server that serves {self.model!r}"
        return said


def beside_api(endpoint: str, path: str) -> str:
    """The address of `path` at the root of the server whose API is at `endpoint`."""
    parts = urlsplit(endpoint)
    return urlunsplit(parts._replace(path=parts.path.removesuffix("/v1") + path))


def _read(cls: type[T], job: _Job, text: str) -> T:
    try:
        return from_json(cls, text)
    except ValueError as error:
        raise BackendError(f"{job.endpoint}: expected vLLM's answer to {job.path}, got {text[:200]!r}: {error}") from None


def _likeliest(choice: _Choice, completion: Sequence[int], k: int) -> list[Likeliest]:
    """The log-probabilities at the completion's places, checked; raises `ValueError` for whatever cannot be right."""
    places = choice.prompt_logprobs
    if places is None or len(places) != len(choice.prompt_token_ids):
        got = "none" if places is None else f"{len(places)} places"
        raise ValueError(f"expected prompt_logprobs for {len(choice.prompt_token_ids)} tokens, got {got}")
    found = []
    for place, token in zip(places[len(places) - len(completion) :], completion, strict=True):
        logprobs = {id: entry.logprob for id, entry in (place or {}).items()}
        if token not in logprobs:
            raise ValueError(f"expected the log-probability of token {token} at its place, got those of {sorted(logprobs)[:8]}")
        if not k <= len(logprobs) <= k + 1 or min(logprobs) < 0:
            raise ValueError(f"expected {k} ids at each place and the token's own, got {sorted(logprobs)[:8]}")
        if bad := [value for value in logprobs.values() if not math.isfinite(value) or value > 1e-3]:
            raise ValueError(f"expected log-probabilities, got {bad[0]}")
        if (mass := math.fsum(map(math.exp, logprobs.values()))) > 1.001:
            raise ValueError(f"expected probabilities that add up to at most 1, got {mass:.4g}")
        found.append(dict(sorted(logprobs.items(), key=lambda entry: (-entry[1], entry[0]))))
    return found
