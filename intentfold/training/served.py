"""A teacher behind vLLM endpoints: its likeliest tokens where the student's stand, and what is learned from them (design D4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from intentfold.runtime.roles import BackendError
from intentfold.runtime.scoring import Likeliest, TokenScorer
from intentfold.training.arguments import ServedLoss
from intentfold.training.divergence import outcome
from intentfold.training.preflight import PreflightError

if TYPE_CHECKING:
    from intentfold.training.teachers import TeacherPrompt

ABSENT = -1  # in the place of an id, where the teacher gave fewer
_NEVER = -1e4  # a log-probability whose exponential is 0 and whose differences are finite
_REST = 1e-6  # the least probability of "any other": below it float32 sums of probabilities tell nothing


@dataclass(frozen=True)
class Watch:
    """A row that every endpoint scores again in every round: what answers must be what answered before the first step."""

    prompt: Sequence[int]
    completion: Sequence[int]
    logprobs: Sequence[float]
    tolerance: float

    def check(self, endpoint: str, places: Sequence[Likeliest]) -> None:
        """Raise `BackendError` where the row's own tokens no longer have the log-probabilities that they had."""
        found = [place[token] for place, token in zip(places, self.completion, strict=True)]
        gap = max(abs(a - b) for a, b in zip(found, self.logprobs, strict=True))
        if gap > self.tolerance:
            raise BackendError(
                f"{endpoint}: the same row's log-probabilities are {gap:.4g} off those before the first step, more than "
                f"the tolerance {self.tolerance:g}: another model answers under the same name. Serve the teacher again"
            )


class ServedTeacher:
    """A teacher that is asked once per optimizer step, all rows of a rank in one concurrent round; ids in, ids out.

    The support at each place is the teacher's `k` likeliest tokens, the sampled token, and "any other" (the tail bucket:
    what the rest of the vocabulary has together, of both; ids beyond the student's vocabulary are part of it). With
    `loss` divergence the loss is the generalised Jensen-Shannon divergence between the two distributions on this
    support. Putting tokens together in a bucket is a (deterministic) channel, and no channel increases an f-divergence
    (data-processing inequality; Cover and Thomas, Elements of Information Theory, section 2.8, for the KL divergence): the
    loss bounds the divergence over the whole vocabulary from below and reaches it as k grows. With `policy_gradient` it is
    `clipped_policy_gradient` of the sampled tokens, whose expectation has the gradient of the whole reverse KL.

    What it costs: vLLM computes each row whole, for requests for prompt log-probabilities do not read its prefix cache
    (vllm-project/vllm issue 23399). Rows that share a trunk of T tokens are paid for with all their tokens, not with
    T once: with 6 questions about one output, 700 of 750 tokens shared, 4,500 tokens instead of 1,000. Its
    answers hold k entries for every token of the prompt too, of which only the completion's are kept.
    """

    def __init__(
        self,
        prompt: TeacherPrompt,
        scorer: TokenScorer,
        *,
        k: int,
        loss: ServedLoss = "divergence",
        clip: float = 0.2,
        watch: Watch | None = None,
    ) -> None:
        self.prompt, self.scorer, self.k, self.watch = prompt, scorer, k, watch
        self.loss, self.clip = loss, clip

    def columns(self, prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]]) -> dict[str, torch.Tensor]:
        """`teacher_ids` and `teacher_logprobs`, (rows, longest completion, k + 1), the likeliest first.

        Raises `BackendError` where an endpoint fails, answers something else than it was asked, or is another model.
        """
        endpoints = self.scorer.endpoints if self.watch else []
        watched = [(self.watch.prompt, self.watch.completion) for _ in endpoints] if self.watch else []
        rows = [*watched, *zip(prompts, completions, strict=True)]
        # The watched row is endpoint n's n-th, and the rows go on in turn.
        scores = self.scorer.score([prompt for prompt, _ in rows], [said for _, said in rows], self.k)
        if self.watch:
            for endpoint, places in zip(endpoints, scores, strict=False):
                self.watch.check(endpoint, places)
        return as_columns(scores[len(watched) :], self.k)

    def divergence(
        self, trainer: Any, student: Any, hidden_NH: torch.Tensor, inputs: dict[str, Any], scale: Any, weights_N: Any = None
    ) -> Any:
        if trainer.temperature != 1.0:
            raise PreflightError(
                f"temperature must be 1 with a served teacher, got {trainer.temperature}: vLLM's prompt log-probabilities "
                "are the model's own at temperature 1"
            )
        keep = inputs["completion_mask"].bool()
        logprobs_NV = student.get_output_embeddings()(hidden_NH).float().log_softmax(-1)
        ids_NS, theirs_NS = inputs["teacher_ids"][keep], inputs["teacher_logprobs"][keep]
        if self.loss == "policy_gradient":
            sampled_N1 = inputs["completion_ids"][keep][:, None]
            ours_N = logprobs_NV.gather(-1, sampled_N1)[:, 0]
            theirs_N = theirs_NS.masked_fill(ids_NS != sampled_N1, _NEVER).amax(-1)
            # What was sampled some steps ago comes with the log-probabilities that it was sampled with.
            before_N = inputs["sampled_logprobs"][keep] if "sampled_logprobs" in inputs else ours_N.detach()
            each_N = clipped_policy_gradient(ours_N, theirs_N, before_N, self.clip)
        else:
            known_NS = (ids_NS != ABSENT) & (ids_NS < logprobs_NV.size(-1))
            ours_NS = logprobs_NV.gather(-1, ids_NS.where(known_NS, 0)).masked_fill(~known_NS, _NEVER)
            each_N = coarse_divergence(ours_NS, theirs_NS.masked_fill(~known_NS, _NEVER), trainer.beta)
        detached_NV = logprobs_NV.detach()
        entropy_N = -(detached_NV.exp() * detached_NV).sum(-1)
        return outcome(each_N, entropy_N, scale, weights_N)

    def says(self, trainer: Any, student: Any, inputs: dict[str, Any]) -> torch.Tensor:
        return inputs["teacher_ids"][inputs["completion_mask"].bool()][:, 0]


def as_columns(scores: Sequence[Sequence[Likeliest]], k: int) -> dict[str, torch.Tensor]:
    """Scores of rows as padded tensors: `teacher_ids` and `teacher_logprobs`, (rows, longest, k + 1)."""
    width = max(map(len, scores))
    ids_BCS = torch.full((len(scores), width, k + 1), ABSENT)
    logprobs_BCS = torch.full((len(scores), width, k + 1), _NEVER)
    for row, places in enumerate(scores):
        for place, likeliest in enumerate(places):
            ids_BCS[row, place, : len(likeliest)] = torch.tensor(list(likeliest))
            logprobs_BCS[row, place, : len(likeliest)] = torch.tensor(list(likeliest.values()))
    return {"teacher_ids": ids_BCS, "teacher_logprobs": logprobs_BCS}


def coarse_divergence(ours_NS: torch.Tensor, theirs_NS: torch.Tensor, beta: float) -> torch.Tensor:
    """(N,) generalised Jensen-Shannon divergence over S tokens and "any other", as TRL defines `beta`.

    1 is KL(student || teacher), 0 is KL(teacher || student), between them the mixture is
    (1 - beta) student + beta teacher (Agarwal et al. 2024, On-Policy Distillation of Language Models, section 2).
    """
    ours, theirs = _with_rest(ours_NS), _with_rest(theirs_NS)
    if beta == 1.0:
        return (ours.exp() * (ours - theirs)).sum(-1)
    if beta == 0.0:
        return (theirs.exp() * (theirs - ours)).sum(-1)
    middle = torch.logaddexp(ours + torch.log1p(torch.tensor(-beta)), theirs + torch.log(torch.tensor(beta)))
    return (beta * theirs.exp() * (theirs - middle) + (1 - beta) * ours.exp() * (ours - middle)).sum(-1)


def _with_rest(logprobs_NS: torch.Tensor) -> torch.Tensor:
    rest_N1 = 1.0 - logprobs_NS.double().exp().sum(-1, keepdim=True)
    return torch.cat([logprobs_NS.float(), rest_N1.clamp(min=_REST).log().float()], dim=-1)


def clipped_policy_gradient(ours_N: torch.Tensor, theirs_N: torch.Tensor, before_N: torch.Tensor, clip: float) -> torch.Tensor:
    """(N,) -min(r A, clamp(r, 1 - clip, 1 + clip) A) of sampled tokens, with A = theirs - before and r = exp(ours - before).

    All are log-probabilities (nats) of the token that was sampled: of the student now (`ours_N`, the only one with a
    gradient) and when it was sampled (`before_N`), and of the teacher. Schulman et al. 2017, Proximal Policy Optimization
    Algorithms, equation 7. Where both students are one, its expected gradient is that of KL(student || teacher), for the
    expected gradient of a log-probability is 0.
    """
    advantage_N = (theirs_N - before_N).detach()
    ratio_N = (ours_N - before_N.detach()).exp()
    return -torch.minimum(ratio_N * advantage_N, ratio_N.clamp(1.0 - clip, 1.0 + clip) * advantage_N)


def served_by(args: Any) -> TokenScorer:
    """The endpoints that the arguments `served` and `servers` name."""
    asked = {name: getattr(args.servers, name) for name in ("in_flight", "retries", "timeout", "api_key_variable")}
    return TokenScorer(args.servers.endpoints, args.served.model, **asked)
