"""Token ids in, sampled token ids out: vLLM endpoints that write for a student whose adapter is swapped as it learns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from intentfold.runtime.endpoints import Endpoints, Job, check_asked, read
from intentfold.runtime.roles import BackendError


class Said(NamedTuple):
    """Sampled ids, the stop token included where one was drawn, the log-probabilities with which they were drawn, and by whom.

    What the trainer samples itself has neither: they are the trainer's own.
    """

    ids: list[int]
    logprobs: Sequence[float] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class _Logprobs:
    token_logprobs: list[float | None]


@dataclass(frozen=True, slots=True)
class _Choice:
    prompt_token_ids: list[int]
    token_ids: list[int]
    logprobs: _Logprobs
    finish_reason: str


@dataclass(frozen=True, slots=True)
class _Answer:
    model: str
    choices: Annotated[list[_Choice], Field(min_length=1, max_length=1)]


class TokenSampler(Endpoints):
    """Endpoints that sample at temperature 1 with the adapter loaded last; rows are spread over them.

    `model` is the base under its name there, and afterwards the adapter's.
    """

    HINT = "Adapters are looked for at the path given: the server must see the same files"

    def load(self, name: str, folder: Path) -> None:
        """Have every endpoint load the LoRA adapter in `folder` under `name`."""
        body = {"lora_name": name, "lora_path": str(folder.absolute())}
        self.round([Job(url, "/load_lora_adapter", body) for url in self.endpoints])

    def unload(self, name: str) -> None:
        """Have every endpoint forget an adapter."""
        self.round([Job(url, "/unload_lora_adapter", {"lora_name": name}) for url in self.endpoints])

    def unload_leftovers(self, prefix: str) -> None:
        """Have every endpoint forget the adapters whose names begin so."""
        left = [
            Job(url, "/unload_lora_adapter", {"lora_name": card.id})
            for url, cards in zip(self.endpoints, self.cards(), strict=True)
            for card in cards
            if card.parent is not None and card.id.startswith(prefix)
        ]
        self.round(left)

    def sample(
        self, prompts: Sequence[Sequence[int]], seeds: Sequence[int], max_tokens: int, stop: Sequence[int], first: int = 0
    ) -> list[Said]:
        """A completion a prompt, each from its own seed. Row n is asked of endpoint `first + n`, in turn."""
        jobs = []
        for place, (prompt, seed) in enumerate(zip(prompts, seeds, strict=True), first):
            # All named: vLLM would take what is not from the model's generation_config.json.
            drawn = {"temperature": 1.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0, "seed": seed}
            read_as = {"logprobs": 0, "return_token_ids": True, "skip_special_tokens": False}
            body = {"model": self.model, "prompt": list(prompt), "max_tokens": max_tokens, "stop_token_ids": list(stop)}
            jobs.append(Job(self.endpoints[place % len(self.endpoints)], "/completions", {**body, **drawn, **read_as}))
        return [_said(job, text) for job, text in self.round(jobs)]

    def refusal(self, status: int, text: str, job: Job) -> str:
        said = super().refusal(status, text, job)
        if job.path != "/load_lora_adapter":
            return said
        if status == 404:
            return f"{said}. Start vLLM with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True"
        return f"{said}. vLLM's --max-lora-rank must be the adapter's rank at least, and the server must see the same files"


def _said(job: Job, text: str) -> Said:
    answer = read(_Answer, job, text)
    (choice,) = answer.choices
    check_asked(job, answer.model, choice.prompt_token_ids)
    assert job.body is not None
    try:
        check_said(choice.token_ids, choice.logprobs.token_logprobs, job.body["max_tokens"], job.body["stop_token_ids"])
    except ValueError as error:
        raise BackendError(f"{job.endpoint}: {error}") from None
    return Said(choice.token_ids, [value for value in choice.logprobs.token_logprobs if value is not None], job.endpoint)


def check_said(ids: Sequence[int], logprobs: Sequence[Any], max_tokens: int, stop: Sequence[int]) -> None:
    """Raise ValueError for what cannot be a sample: no end where there is one, or numbers that are no log-probabilities."""
    if not ids or len(ids) > max_tokens or (ids[-1] not in stop and len(ids) < max_tokens):
        raise ValueError(f"expected {max_tokens} sampled ids, or fewer with one of {list(stop)} last, got {list(ids)[-8:]}")
    if len(logprobs) != len(ids):
        raise ValueError(f"expected {len(ids)} log-probabilities of as many sampled ids, got {len(logprobs)}")
    if bad := [value for value in logprobs if value is None or not math.isfinite(value) or value > 1e-3]:
        raise ValueError(f"expected log-probabilities of the sampled ids, got {bad[0]}")
