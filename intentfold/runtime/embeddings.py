"""Vectors of texts: from an OpenAI-compatible endpoint, or a local model's; and a selector that ranks situations by them."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Protocol

import openai
from pydantic import Field, FiniteFloat, NonNegativeInt

from intentfold.asset import Situation
from intentfold.records import canonical_json, content_hash
from intentfold.runtime.journal import Journal
from intentfold.runtime.openai_api import read_answer
from intentfold.runtime.roles import BackendError
from intentfold.runtime.selection import shown


@dataclass(frozen=True, slots=True)
class _Vector:
    embedding: Annotated[list[FiniteFloat], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class _Usage:
    prompt_tokens: NonNegativeInt


@dataclass(frozen=True, slots=True)
class _Answer:
    data: list[_Vector]
    usage: _Usage


class Embedder(Protocol):
    """Turns texts into vectors of one length. `name` is the identity of what does."""

    @property
    def name(self) -> str: ...

    def embed(self, text: str) -> tuple[list[float], int]:
        """The vector of a text, and how many tokens it took. Raises `BackendError`."""
        ...


class OpenAIEmbedder:
    """`/v1/embeddings` of any OpenAI-compatible endpoint; the client retries what may pass."""

    def __init__(
        self, base_url: str, model: str, *, api_key_variable: str | None = None, retries: int = 5, timeout: float = 600.0
    ) -> None:
        self.name = f"{base_url.rstrip('/')}#{model}"
        self.model = model
        key = os.environ[api_key_variable] if api_key_variable else "none"
        self._client = openai.OpenAI(base_url=base_url, api_key=key, max_retries=retries, timeout=timeout)

    def embed(self, text: str) -> tuple[list[float], int]:
        """The vector of a text, and how many tokens it took. Raises `BackendError`."""
        try:
            response = self._client.embeddings.with_raw_response.create(model=self.model, input=text, encoding_format="float")
        except openai.OpenAIError as error:
            raise BackendError(f"{self.name}: {type(error).__name__}: {error}") from error
        answer = read_answer(_Answer, response.content, f"a vector of {self.name} and its usage")
        if len(answer.data) != 1:
            raise BackendError(f"{self.name}: expected one vector, got {len(answer.data)}")
        return answer.data[0].embedding, answer.usage.prompt_tokens


class EmbeddingSelector:
    """Situations by the cosine of their vector and the request's, `most` at most: some fit better, none does not fit.

    Every text is asked for once and kept in the journal. `tokens` are those of the requests, `indexed` those of the
    situations, each once.
    """

    def __init__(self, embedder: Embedder, journal: Journal, most: int = 1) -> None:
        self.embedder, self.journal, self.most = embedder, journal, most
        self.tokens = 0
        self.indexed = 0
        self._index: dict[str, list[float]] = {}

    @property
    def name(self) -> str:
        """The identity of the embedder."""
        return f"embedding by {self.embedder.name}"

    def rank(self, request: str, situations: Sequence[Situation]) -> list[int]:
        """By cosine; the earlier on ties. Raises `BackendError`."""
        for text in map(shown, situations):
            if text not in self._index:
                self._index[text], tokens = self._vector(text)
                self.indexed += tokens
        if not situations:
            return []
        asked, tokens = self._vector(request)
        self.tokens += tokens
        scores = [cosine(asked, self._index[shown(situation)]) for situation in situations]
        return sorted(range(len(scores)), key=lambda place: (-scores[place], place))[: self.most]

    def _vector(self, text: str) -> tuple[list[float], int]:
        key = content_hash(canonical_json(["embedding", self.embedder.name, text]))
        if key not in self.journal.entries:
            self.journal.write({key: list(self.embedder.embed(text))})
        vector, tokens = self.journal.entries[key]
        return vector, tokens


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    """The cosine of two vectors, 0 where one is 0. Raises `ValueError` where their lengths differ."""
    product = math.fsum(x * y for x, y in zip(a, b, strict=True))
    norm = math.sqrt(math.fsum(x * x for x in a) * math.fsum(y * y for y in b))
    return product / norm if norm else 0.0
