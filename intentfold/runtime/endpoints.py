"""vLLM endpoints that take token ids and give token ids: what scoring and sampling have in common."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

import openai

from intentfold.records import from_json
from intentfold.runtime.roles import BackendError

T = TypeVar("T")
AT_ROOT = ("/detokenize",)  # beside `/v1`; other paths are the API's own


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
class _Text:
    prompt: str


@dataclass(frozen=True, slots=True)
class Job:
    """One request: `body` None is a GET."""

    endpoint: str
    path: str
    body: Mapping[str, Any] | None = field(default=None, repr=False)


class Endpoints:
    """Endpoints that serve the same `model`, asked `in_flight` at a time over all.

    What may pass (connection, time-out, 408, 409, 429, 5xx) is tried `retries` more times with growing pauses. What then
    still fails, and every answer that is not exactly what was asked, is a `BackendError` that names the endpoint, raised
    at once: the other requests of the round are dropped.
    """

    HINT = ""  # what to look at where a server gives no answer

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
        return [read(_Cards, *answer).data for answer in self.round([Job(url, "/models") for url in self.endpoints])]

    def texts(self, runs: Sequence[Sequence[int]], place: int = 0) -> list[str]:
        """The runs of ids as the server's tokenizer decodes them."""
        url = self.endpoints[place]
        jobs = [Job(url, "/detokenize", {"model": self.model, "tokens": list(ids)}) for ids in runs]
        return [read(_Text, job, text).prompt for job, text in self.round(jobs)]

    def round(self, jobs: Sequence[Job]) -> list[tuple[Job, str]]:
        """All jobs at once, each with what was answered, in their order."""
        try:
            return asyncio.run(self._ask_all(jobs))
        except ExceptionGroup as group:
            raise group.exceptions[0] from None

    def refusal(self, status: int, text: str, job: Job) -> str:
        """What to say of an answer with an error's status."""
        said = f"{job.path} answered {status}: {text[:300]}"
        return f"{said}: expected a vLLM server that serves {self.model!r}" if status == 404 else said

    async def _ask_all(self, jobs: Sequence[Job]) -> list[tuple[Job, str]]:
        turnstile = asyncio.Semaphore(self.in_flight)
        # The endpoint is in each job's address: one client, and so one pool of connections, serves all.
        async with openai.AsyncOpenAI(base_url=self.endpoints[0], **self._client) as client:

            async def one(job: Job) -> tuple[Job, str]:
                async with turnstile:
                    return job, await self._ask(client, job)

            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(job)) for job in jobs]
        return [task.result() for task in tasks]

    async def _ask(self, client: openai.AsyncOpenAI, job: Job) -> str:
        address = beside_api(job.endpoint, job.path) if job.path in AT_ROOT else job.endpoint + job.path
        try:
            if job.body is None:
                return await client.get(address, cast_to=str)
            return await client.post(address, cast_to=str, body=job.body)
        except openai.APIStatusError as error:
            raise BackendError(f"{job.endpoint}: {self.refusal(error.status_code, error.response.text, job)}") from error
        except openai.OpenAIError as error:
            tried = f"after {1 + self._client['max_retries']} tries of at most {self._client['timeout']:g} s"
            said = f"{job.endpoint}: no answer {tried} ({type(error).__name__}: {error}). Is the server up?"
            raise BackendError(f"{said} {self.HINT}".strip()) from error


def beside_api(endpoint: str, path: str) -> str:
    """The address of `path` at the root of the server whose API is at `endpoint`."""
    parts = urlsplit(endpoint)
    return urlunsplit(parts._replace(path=parts.path.removesuffix("/v1") + path))


def read(cls: type[T], job: Job, text: str) -> T:
    """An answer as `cls`; raises `BackendError` for one of another shape."""
    try:
        return from_json(cls, text)
    except ValueError as error:
        raise BackendError(f"{job.endpoint}: expected vLLM's answer to {job.path}, got {text[:200]!r}: {error}") from None


def check_asked(job: Job, model: str, prompt_token_ids: Sequence[int]) -> None:
    """Raise `BackendError` for the answer of another model than was asked, or to other ids than were sent."""
    assert job.body is not None
    if model != job.body["model"]:
        raise BackendError(f"{job.endpoint}: expected answers of the model {job.body['model']!r}, got one of {model!r}")
    if list(prompt_token_ids) != job.body["prompt"]:
        raise BackendError(f"{job.endpoint}: the server read other token ids than it was sent")
