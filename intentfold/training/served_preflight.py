"""Proofs about a served teacher, before a run's first step and again when it goes on (design D2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from intentfold.models import load
from intentfold.runtime.endpoints import Endpoints
from intentfold.runtime.scoring import Likeliest, TokenScorer
from intentfold.training.preflight import PreflightError, check_vocabulary
from intentfold.training.served import Watch

Probe = tuple[Sequence[int], Sequence[int]]  # ids of a prompt and of a completion
Logprobs = Callable[[Sequence[int], Sequence[int]], torch.Tensor]
DECODED = 2048  # ids that a server decodes in one request
WRITTEN = 8  # tokens that the server writes to be scored itself


def check_served(
    scorer: TokenScorer,
    tokenizer: Any,
    probes: Sequence[Probe],
    *,
    k: int,
    tolerance: float,
    max_length: int,
    weights: Path | None = None,
) -> Watch:
    """Prove that the endpoints are the teacher that is meant; returns a row to watch them by.

    `probes` are prompts as the teacher is asked, with right answers; `weights` the teacher's own, where they are at
    hand (loaded in float32). Raises `PreflightError`, or `BackendError` where a server fails.
    """
    check_cards(scorer, max_length)
    for place in range(len(scorer.endpoints)):
        check_served_vocabulary(scorer, tokenizer, place)
    prompts, answers = [list(prompt) for prompt, _ in probes], [list(answer) for _, answer in probes]
    scores = [scorer.score(prompts, answers, k, [place] * len(probes)) for place in range(len(scorer.endpoints))]
    first = own_logprobs(scores[0], answers)
    for endpoint, found in zip(scorer.endpoints, scores, strict=True):
        gap = max(abs(a - b) for a, b in zip(first, own_logprobs(found, answers), strict=True))
        if gap > tolerance:
            raise PreflightError(
                f"{endpoint} and {scorer.endpoints[0]} differ by {gap:.4g} in the log-probabilities of the same tokens, "
                f"more than the tolerance {tolerance:g}: they must serve the same weights in the same dtype"
            )
    if weights is None:
        for place in range(len(scorer.endpoints)):
            check_greedy(scorer, prompts, k, tolerance, place)
    else:
        model, its_tokenizer = load(weights)
        check_vocabulary(tokenizer, its_tokenizer)
        gap = parity(scores[0], probes, lambda prompt, answer: completion_logprobs(model, prompt, answer))
        if gap > tolerance:
            raise PreflightError(
                f"{scorer.endpoints[0]}: its log-probabilities are {gap:.4g} off those of {weights}, more than the tolerance "
                f"{tolerance:g}: other weights, or another dtype than float32 (a bfloat16 server is about 0.15 off: "
                "serve in float32 or raise the tolerance)"
            )
    shortest = min(range(len(probes)), key=lambda row: len(prompts[row]) + len(answers[row]))
    own = own_logprobs(scores[0][shortest : shortest + 1], answers[shortest : shortest + 1])
    return Watch(prompts[shortest], answers[shortest], own, tolerance)


def check_cards(scorer: TokenScorer, max_length: int) -> None:
    """Every endpoint must serve the model, with room for `max_length` tokens, and no adapter beside it.

    An adapter is a sign of --enable-lora, with which concurrent requests for prompt log-probabilities kill vLLM's engine;
    a server that was started so and lists none cannot be told from one that was not.
    """
    for endpoint, cards in zip(scorer.endpoints, scorer.cards(), strict=True):
        named = {card.id: card for card in cards}
        if scorer.model not in named:
            raise PreflightError(f"{endpoint} serves {sorted(named)}, expected {scorer.model!r}")
        if adapters := [card.id for card in cards if card.parent is not None]:
            raise PreflightError(
                f"{endpoint} serves LoRA adapters ({', '.join(adapters)}): with --enable-lora concurrent prompt_logprobs "
                "kill vLLM's engine; serve the teacher without it"
            )
        room = named[scorer.model].max_model_len
        if room is not None and room <= max_length:
            raise PreflightError(
                f"{endpoint}: max_model_len is {room}, and max_length {max_length} needs at least {max_length + 1} "
                "(the server writes one token more)"
            )


def check_served_vocabulary(scorer: Endpoints, tokenizer: Any, place: int) -> None:
    """The server's tokenizer must decode every id of the student's tokenizer as that does.

    Rows of either model beyond the tokenizer (padding, as 151,936 against 152,064) do not matter: no text has them.
    """
    runs = [list(range(start, min(start + DECODED, len(tokenizer)))) for start in range(0, len(tokenizer), DECODED)]
    for ids, text in zip(runs, scorer.texts(runs, place), strict=True):
        if text == tokenizer.decode(ids):
            continue
        differing = _differing(scorer, tokenizer, place, ids)
        (theirs,) = scorer.texts([differing], place)
        raise PreflightError(
            f"{scorer.endpoints[place]}: it and the student have different vocabularies: {differing[:8]} is "
            f"{theirs[:40]!r} to the server, {tokenizer.decode(differing)[:40]!r} to the student"
        )


def _differing(scorer: Endpoints, tokenizer: Any, place: int, ids: list[int]) -> list[int]:
    """The first part of `ids` that still reads otherwise to the server, halved as long as a half does."""
    middle = len(ids) // 2
    for half in (ids[:middle], ids[middle:]) if middle else ():
        if scorer.texts([half], place) != [tokenizer.decode(half)]:
            return _differing(scorer, tokenizer, place, half)
    return ids


def check_greedy(scorer: TokenScorer, prompts: Sequence[Sequence[int]], k: int, tolerance: float, place: int) -> None:
    """The tokens that the server itself writes greedily must be the likeliest where it scores them."""
    written = scorer.go_on(prompts, WRITTEN, place)
    for said, places in zip(written, scorer.score(prompts, written, k, [place] * len(prompts)), strict=True):
        for number, (token, likeliest) in enumerate(zip(said, places, strict=True)):
            top, best = next(iter(likeliest.items()))
            if best - likeliest[token] > tolerance:
                raise PreflightError(
                    f"{scorer.endpoints[place]}: the server writes token {token} greedily (place {number}), but scores "
                    f"{top} as likelier by {best - likeliest[token]:.4g}: what it scores is not what it writes with"
                )


def own_logprobs(scores: Sequence[Sequence[Likeliest]], answers: Sequence[Sequence[int]]) -> list[float]:
    """The log-probabilities of the answers' own tokens, row after row."""
    pairs = zip(scores, answers, strict=True)
    return [place[token] for places, answer in pairs for place, token in zip(places, answer, strict=True)]


def parity(scores: Sequence[Sequence[Likeliest]], probes: Sequence[Probe], local: Logprobs) -> float:
    """The largest difference between scored log-probabilities and those of `local`, over every id that came back."""
    gap = 0.0
    for places, (prompt, answer) in zip(scores, probes, strict=True):
        logprobs_CV = local(prompt, answer)
        for likeliest, logprobs_V in zip(places, logprobs_CV, strict=True):
            theirs = torch.tensor(list(likeliest.values()), dtype=logprobs_V.dtype)
            gap = max(gap, (logprobs_V[list(likeliest)] - theirs).abs().max().item())
    return gap


@torch.no_grad()
def completion_logprobs(model: Any, prompt: Sequence[int], answer: Sequence[int]) -> torch.Tensor:
    """(C, V) the model's log-probabilities at the C tokens of an answer."""
    ids = torch.tensor([[*prompt, *answer]], device=model.device)
    return model(ids).logits[0, len(prompt) - 1 : -1].float().log_softmax(-1).cpu()
