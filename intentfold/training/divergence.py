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
    ours_NH: torch.Tensor, our_head: Any, theirs_NG: torch.Tensor, their_head: Any, beta: float, temperature: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """The divergence summed over N tokens, and the sum of our entropies (no gradient). Heads are linear layers over V tokens.

    `beta` as TRL defines it: 1 is KL(ours || theirs), 0 is KL(theirs || ours), between them the generalised Jensen-Shannon
    divergence (Agarwal et al. 2024, On-Policy Distillation of Language Models, section 2). Taken in float32 or better.
    """
    heads = (our_head.weight, our_head.bias, their_head.weight, their_head.bias)
    return _Divergence.apply(ours_NH, theirs_NG, *heads, beta, temperature)


class _Divergence(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        ours_NH: torch.Tensor,
        theirs_NG: torch.Tensor,
        weight_VH: torch.Tensor,
        bias_V: torch.Tensor | None,
        their_weight_VG: torch.Tensor,
        their_bias_V: torch.Tensor | None,
        beta: float,
        temperature: float,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        wide = torch.promote_types(ours_NH.dtype, torch.float32)
        needed = ctx.needs_input_grad
        total, entropy = (torch.zeros((), dtype=wide, device=ours_NH.device) for _ in range(2))
        with (
            torch.autocast(ours_NH.device.type, enabled=False),
            maybe_gather_lm_head_ctx(weight_VH, bias_V),
            maybe_gather_lm_head_ctx(their_weight_VG, their_bias_V),
        ):
            # What autocast would have rounded stays rounded: hidden states and weights, not their products.
            ours = weight_VH.to(ours_NH.dtype).to(wide)
            theirs = ours if their_weight_VG is weight_VH else their_weight_VG.to(theirs_NG.dtype).to(wide)
            grad_NH = torch.zeros_like(ours_NH) if needed[0] else None
            grad_VH = torch.zeros_like(ours) if needed[2] else None
            grad_V = torch.zeros_like(bias_V, dtype=wide) if bias_V is not None and needed[3] else None
            for start in range(0, len(ours_NH), CHUNK):
                some = slice(start, start + CHUNK)
                hidden_CH = ours_NH[some].to(wide)
                p_CV = _logprobs(hidden_CH, ours, bias_V, temperature)
                q_CV = _logprobs(theirs_NG[some].to(wide), theirs, their_bias_V, temperature)
                shares_CV = p_CV.exp()
                entropy -= torch.dot(shares_CV.flatten(), p_CV.flatten())
                loss, grad_CV = _divergence(p_CV, q_CV, shares_CV, beta)
                total += loss
                grad_CV /= temperature
                if grad_NH is not None:
                    grad_NH[some] = (grad_CV @ ours).to(grad_NH.dtype)
                if grad_VH is not None:
                    grad_VH.addmm_(grad_CV.T, hidden_CH)
                if grad_V is not None:
                    grad_V += grad_CV.sum(0)
        ctx.save_for_backward(grad_NH, grad_VH, grad_V)
        ctx.dtypes = weight_VH.dtype, None if bias_V is None else bias_V.dtype
        ctx.mark_non_differentiable(entropy)
        return total, entropy

    @staticmethod
    def backward(ctx: Any, scale: torch.Tensor, _: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        grad_NH, grad_VH, grad_V = ctx.saved_tensors
        weight, bias = ctx.dtypes
        return (
            None if grad_NH is None else grad_NH * scale.to(grad_NH.dtype),
            None,
            None if grad_VH is None else (grad_VH * scale).to(weight),
            None if grad_V is None else (grad_V * scale).to(bias),
            *(None,) * 4,
        )


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
    """The divergence summed over C tokens, and its gradient by our logits. `shares_CV` are exp(p), and are not needed after."""
    if beta == 0.0:
        other_CV = q_CV.exp()
        return torch.dot(other_CV.flatten(), (q_CV - p_CV).flatten()), shares_CV - other_CV
    if beta == 1.0:
        gap_CV = p_CV - q_CV
        weight, rest = 1.0, shares_CV.new_zeros(())
    else:
        mixed_CV = torch.logaddexp(p_CV + math.log1p(-beta), q_CV + math.log(beta))
        rest = (q_CV.exp() * (q_CV - mixed_CV)).sum()
        gap_CV, weight = p_CV - mixed_CV, 1.0 - beta
    each_C1 = (shares_CV * gap_CV).sum(-1, keepdim=True)
    grad_CV = gap_CV.sub_(each_C1).mul_(shares_CV).mul_(weight)
    return beta * rest + weight * each_C1.sum(), grad_CV
