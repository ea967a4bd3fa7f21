"""The divergence of two heads' distributions with its gradient in one pass: logits of a few tokens at a time, projected once.

TRL's `ChunkedDivergenceFunction`, whose values these are (parity test), projects both models anew in its backward pass: right
where a fused kernel does it, but on a CPU the projections are the cost.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from trl.trainer.utils import maybe_gather_lm_head_ctx

CHUNK = 128  # tokens of which logits are held at once


def head_divergence(
    ours_NH: torch.Tensor,
    weight_VH: torch.Tensor,
    bias_V: torch.Tensor | None,
    theirs_NG: torch.Tensor,
    their_weight_VG: torch.Tensor,
    their_bias_V: torch.Tensor | None,
    beta: float,
    temperature: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """(N,) divergence at each token, and (N,) entropies of ours (without gradient), from hidden states and heads.

    `beta` as TRL defines it: 1 is KL(ours || theirs), 0 is KL(theirs || ours), between them the generalised Jensen-Shannon
    divergence (Agarwal et al. 2024, On-Policy Distillation of Language Models, section 2). Taken in float32 or better. The
    gradient of our head is for free where all tokens weigh the same; otherwise it takes another pass.
    """
    return _Divergence.apply(ours_NH, weight_VH, bias_V, theirs_NG, their_weight_VG, their_bias_V, beta, temperature)


def outcome(each_N: torch.Tensor, entropy_N: torch.Tensor, scale: Any, weights_N: Any) -> Any:
    """What `Teacher.divergence` returns, from both at each token; over the number of tokens where there is no `scale`."""
    count = torch.tensor(len(each_N), device=each_N.device)
    total = (each_N if weights_N is None else each_N * weights_N).sum()
    return total / (count.clamp(min=1) if scale is None else scale), entropy_N.sum(), count, each_N.detach()


class _Divergence(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        ours_NH: torch.Tensor,
        weight_VH: torch.Tensor,
        bias_V: torch.Tensor | None,
        theirs_NG: torch.Tensor,
        their_weight_VG: torch.Tensor,
        their_bias_V: torch.Tensor | None,
        beta: float,
        temperature: float,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        inputs = (ours_NH, weight_VH, bias_V, theirs_NG, their_weight_VG, their_bias_V)
        found = _pass(*inputs, beta, temperature, needed=ctx.needs_input_grad[:3])
        each_N, entropy_N = found[:2]
        ctx.save_for_backward(*inputs, *found[2:])
        ctx.settings = beta, temperature
        ctx.mark_non_differentiable(entropy_N)
        return each_N, entropy_N

    @staticmethod
    def backward(ctx: Any, scale_N: torch.Tensor, _: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        inputs, (grad_NH, grad_VH, grad_V) = ctx.saved_tensors[:6], ctx.saved_tensors[6:]
        _, weight_VH, bias_V, *_ = inputs
        if grad_NH is not None:
            grad_NH = grad_NH * scale_N[:, None].to(grad_NH.dtype)
        if grad_VH is not None and len(scale_N):
            if bool((scale_N == scale_N[0]).all()):
                grad_VH, grad_V = grad_VH * scale_N[0], None if grad_V is None else grad_V * scale_N[0]
            else:
                again = _pass(*inputs, *ctx.settings, needed=(False, True, grad_V is not None), scale_N=scale_N)
                grad_VH, grad_V = again[3:]
            grad_VH, grad_V = grad_VH.to(weight_VH.dtype), None if grad_V is None else grad_V.to(bias_V.dtype)
        return grad_NH, grad_VH, grad_V, *(None,) * 5


def _pass(
    ours_NH: torch.Tensor,
    weight_VH: torch.Tensor,
    bias_V: torch.Tensor | None,
    theirs_NG: torch.Tensor,
    their_weight_VG: torch.Tensor,
    their_bias_V: torch.Tensor | None,
    beta: float,
    temperature: float,
    *,
    needed: tuple[bool, bool, bool],
    scale_N: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None, torch.Tensor | None, torch.Tensor | None]:
    """Divergence and entropy of each token, and the gradients of the sum (or of the sum times `scale_N`) that are `needed`."""
    wide = torch.promote_types(ours_NH.dtype, torch.float32)
    each: list[torch.Tensor] = [ours_NH.new_zeros(0, dtype=wide)]
    entropies = list(each)
    with (
        torch.autocast(ours_NH.device.type, enabled=False),
        maybe_gather_lm_head_ctx(weight_VH, bias_V),
        maybe_gather_lm_head_ctx(their_weight_VG, their_bias_V),
    ):
        # What autocast has rounded stays rounded: hidden states and weights, not their products.
        ours = weight_VH.to(ours_NH.dtype).to(wide)
        theirs = ours if their_weight_VG is weight_VH else their_weight_VG.to(theirs_NG.dtype).to(wide)
        grad_NH = torch.zeros_like(ours_NH) if needed[0] else None
        grad_VH = torch.zeros_like(ours) if needed[1] else None
        grad_V = torch.zeros_like(bias_V, dtype=wide) if bias_V is not None and needed[2] else None
        for start in range(0, len(ours_NH), CHUNK):
            some = slice(start, start + CHUNK)
            hidden_CH = ours_NH[some].to(wide)
            p_CV = _logprobs(hidden_CH, ours, bias_V, temperature)
            q_CV = _logprobs(theirs_NG[some].to(wide), theirs, their_bias_V, temperature)
            shares_CV = p_CV.exp()
            entropies.append(-torch.linalg.vecdot(shares_CV, p_CV))
            each_C, grad_CV = _divergence(p_CV, q_CV, shares_CV, beta)
            each.append(each_C)
            if temperature != 1.0:
                grad_CV /= temperature
            if scale_N is not None:
                grad_CV *= scale_N[some, None].to(wide)
            if grad_NH is not None:
                grad_NH[some] = (grad_CV @ ours).to(grad_NH.dtype)
            if grad_VH is not None:
                grad_VH.addmm_(grad_CV.T, hidden_CH)
            if grad_V is not None:
                grad_V += grad_CV.sum(0)
    return torch.cat(each), torch.cat(entropies), grad_NH, grad_VH, grad_V


@torch.no_grad()
def token_logprobs(
    hidden_NH: torch.Tensor, weight_VH: torch.Tensor, bias_V: torch.Tensor | None, ids_N: torch.Tensor
) -> torch.Tensor:
    """(N,) log-probabilities (nats) of the tokens `ids_N`; the logits of `CHUNK` tokens are there at a time."""
    wide = torch.promote_types(hidden_NH.dtype, torch.float32)
    with torch.autocast(hidden_NH.device.type, enabled=False), maybe_gather_lm_head_ctx(weight_VH, bias_V):
        weight = weight_VH.to(hidden_NH.dtype).to(wide)
        chunks = zip(hidden_NH.to(wide).split(CHUNK), ids_N.split(CHUNK), strict=True)
        each = [_logprobs(hidden_CH, weight, bias_V, 1.0).gather(-1, ids_C[:, None])[:, 0] for hidden_CH, ids_C in chunks]
    return torch.cat([hidden_NH.new_zeros(0, dtype=wide), *each])


def _logprobs(hidden_CH: torch.Tensor, weight_VH: torch.Tensor, bias_V: torch.Tensor | None, temperature: float) -> torch.Tensor:
    logits_CV = hidden_CH @ weight_VH.T
    if bias_V is not None:
        logits_CV += bias_V
    if temperature != 1.0:
        logits_CV /= temperature
    return logits_CV.log_softmax(-1)


def _divergence(
    p_CV: torch.Tensor, q_CV: torch.Tensor, shares_CV: torch.Tensor, beta: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """(C,) divergence, and its gradient by our logits before the temperature. `shares_CV` are exp(p); `p_CV` is used up."""
    if beta == 0.0:
        other_CV = q_CV.exp()
        return torch.linalg.vecdot(other_CV, q_CV - p_CV), shares_CV - other_CV
    if beta == 1.0:
        gap_CV = p_CV.sub_(q_CV)
        each_C = kl_C = torch.linalg.vecdot(shares_CV, gap_CV)
        weight = 1.0
    else:
        mixed_CV = torch.logaddexp(p_CV + math.log1p(-beta), q_CV + math.log(beta))
        gap_CV = p_CV.sub_(mixed_CV)
        kl_C, weight = torch.linalg.vecdot(shares_CV, gap_CV), 1.0 - beta
        each_C = beta * torch.linalg.vecdot(q_CV.exp(), q_CV - mixed_CV) + weight * kl_C
    return each_C, gap_CV.sub_(kl_C[:, None]).mul_(shares_CV).mul_(weight)
