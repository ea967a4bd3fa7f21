"""Any OpenAI-compatible endpoint as a backend: vLLM, or a provider."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeVar

import openai
from pydantic import Field, NonNegativeInt

from intentfold.dialogue import to_messages
from intentfold.records import canonical_json, content_hash, from_json
from intentfold.runtime.roles import BackendError, Completion, Prompt

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Message:
    content: str | None = None
    # What a server's reasoning parser took out of the content: vLLM names it in the first way now, in the second before.
    reasoning: str | None = None
    reasoning_content: str | None = None


@dataclass(frozen=True, slots=True)
class _Choice:
    message: _Message
    finish_reason: str | None


@dataclass(frozen=True, slots=True)
class _Usage:
    prompt_tokens: NonNegativeInt
    completion_tokens: NonNegativeInt


@dataclass(frozen=True, slots=True)
class _Answer:
    choices: Annotated[list[_Choice], Field(min_length=1)]
    usage: _Usage


def read_answer(cls: type[T], content: bytes, expected: str) -> T:
    """A server's answer as `cls`, other fields left aside; raises `BackendError` for whatever else a server may send."""
    try:
        # Lone surrogates that a model spells are no text: written out and read again, they are question marks.
        return from_json(cls, json.dumps(json.loads(content), ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise BackendError(f"expected {expected}, got {content[:200]!r}: {error}") from None


class _WatchedClient(openai.DefaultAsyncHttpxClient):
    """Tells of every request that failed; an answer that is no JSON counts as a bad gateway's, so that it is asked for again."""

    def __init__(self, failed: Callable[[str], object], timeout: float) -> None:
        super().__init__(timeout=timeout)
        self._failed = failed

    async def send(self, request: Any, **options: Any) -> Any:
        try:
            response = await super().send(request, **options)
        except Exception as error:
            self._failed(type(error).__name__)
            raise
        if response.status_code < 400:
            try:
                response.json()
            except ValueError:
                response.status_code = 502
                self._failed("broken JSON")
        else:
            self._failed(str(response.status_code))
        return response


class OpenAIBackend:
    """Chat completions, greedy or (`temperature` above 0) sampled with a `seed`, `concurrency` at a time.

    The client retries what may pass (connection, 408, 409, 429, 5xx) with growing pauses. What still fails is a
    `BackendError`, raised after the other requests have ended, with what they brought. `api_key_variable` names the
    environment variable that holds the key; None is for servers that ask for none. `response_format` holds the server to a
    shape (`runtime/structured.py`). `failed` is told of every request that failed, those that are tried again among them.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key_variable: str | None = None,
        concurrency: int = 64,
        retries: int = 5,
        timeout: float = 600.0,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        temperature: float = 0.0,
        seed: int | None = None,
        response_format: Mapping[str, Any] | None = None,
        failed: Callable[[str], object] | None = None,
    ) -> None:
        self.base_url = base_url
        self.model = model
        self.concurrency = concurrency
        self.temperature = temperature
        self.seed = seed
        self._client: dict[str, Any] = {
            "base_url": base_url,
            "api_key": os.environ[api_key_variable] if api_key_variable else "none",
            "max_retries": retries,
            "timeout": timeout,
        }
        self._failed, self._timeout = failed, timeout
        self._format = dict(response_format) if response_format else None
        self._extra: dict[str, Any] = {"chat_template_kwargs": dict(chat_template_kwargs)} if chat_template_kwargs else {}

    @property
    def name(self) -> str:
        """Endpoint and model, how it samples where it does, and the shape that it is held to."""
        sampled = f" at {self.temperature}, seed {self.seed}" if self.temperature else ""
        shape = f" as {self._format['type']} {content_hash(canonical_json(self._format))}" if self._format else ""
        return f"{self.base_url.rstrip('/')}#{self.model}{sampled}{shape}"

    def complete(self, prompts: Sequence[Prompt], max_tokens: int) -> list[Completion]:
        """One completion a prompt, in order."""
        return asyncio.run(self._complete_all(prompts, max_tokens))

    async def _complete_all(self, prompts: Sequence[Prompt], max_tokens: int) -> list[Completion]:
        turnstile = asyncio.Semaphore(self.concurrency)
        watched = None if self._failed is None else _WatchedClient(self._failed, self._timeout)
        async with openai.AsyncOpenAI(**self._client, http_client=watched) as client:

            async def one(prompt: Prompt) -> Completion:
                async with turnstile:
                    begin = time.perf_counter()
                    found = await self._complete(client, prompt, max_tokens)
                    return replace(found, span=(begin, time.perf_counter()))

            results = await asyncio.gather(*map(one, prompts), return_exceptions=True)
        finished = {n: result for n, result in enumerate(results) if isinstance(result, Completion)}
        for result in results:
            if isinstance(result, BackendError | openai.OpenAIError):
                raise BackendError(f"{self.name}: {type(result).__name__}: {result}", finished) from result
            if isinstance(result, BaseException):
                raise result
        return [finished[n] for n in range(len(prompts))]

    async def _complete(self, client: openai.AsyncOpenAI, prompt: Prompt, max_tokens: int) -> Completion:
        response = await client.chat.completions.with_raw_response.create(
            model=self.model,
            messages=to_messages(prompt),  # type: ignore[arg-type]
            max_tokens=max_tokens,
            temperature=self.temperature,
            seed=self.seed if self.temperature else openai.omit,
            response_format=openai.omit if self._format is None else self._format,  # type: ignore[arg-type]
            extra_body=self._extra,
        )
        answer = read_answer(_Answer, response.content, "a choice and its usage")
        choice, usage = answer.choices[0], answer.usage
        if choice.finish_reason not in ("stop", "length"):
            raise BackendError(f"expected the finish reason stop or length, got {choice.finish_reason!r}")
        message = choice.message
        return Completion(
            message.content or "",
            usage.prompt_tokens,
            usage.completion_tokens,
            choice.finish_reason == "stop",
            thought=message.reasoning if message.reasoning is not None else message.reasoning_content,
        )
