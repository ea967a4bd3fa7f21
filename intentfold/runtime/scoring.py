"""Token ids in, log-probabilities out: vLLM endpoints that score what was written elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from intentfold.runtime.endpoints import Endpoints, Job, check_asked, read
from intentfold.runtime.roles import BackendError

Likeliest = dict[int, float]  # log-probabilities by id at one place, the likeliest first


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


class TokenScorer(Endpoints):
    """Endpoints that score: rows are spread over them."""

    HINT = "A vLLM server with --enable-lora dies of concurrent prompt_logprobs: score on one without"

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
            jobs.append(Job(self.endpoints[place % len(self.endpoints)], "/completions", body))
        found = []
        for (job, text), completion in zip(self.round(jobs), completions, strict=True):
            choice = _choice(job, text)
            try:
                found.append(_likeliest(choice, completion, k))
            except ValueError as error:
                raise BackendError(f"{job.endpoint}: {error}") from None
        return found

    def go_on(self, prompts: Sequence[Sequence[int]], max_tokens: int, place: int = 0) -> list[list[int]]:
        """The ids that the model itself puts after each prompt, greedily."""
        url = self.endpoints[place]
        jobs = [Job(url, "/completions", self._body(prompt, max_tokens=max_tokens)) for prompt in prompts]
        return [_choice(job, text).token_ids for job, text in self.round(jobs)]

    def _body(self, ids: Sequence[int], **more: Any) -> dict[str, Any]:
        # Any id may be part of what is scored: nothing is added before it, and nothing of it is text.
        return {"model": self.model, "prompt": list(ids), "temperature": 0.0, "return_token_ids": True, **more}

    def refusal(self, status: int, text: str, job: Job) -> str:
        said = super().refusal(status, text, job)
        if status == 400 and "logprobs" in text and job.body is not None:
            return f"{said}: start vLLM with --max-logprobs {job.body.get('prompt_logprobs')} or more"
        return said


def _choice(job: Job, text: str) -> _Choice:
    answer = read(_Answer, job, text)
    check_asked(job, answer.model, answer.choices[0].prompt_token_ids)
    return answer.choices[0]


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
