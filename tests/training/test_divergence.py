"""The divergence of two heads against the definition and autograd, in float64, over more tokens than one chunk."""

# ruff: noqa: E402
from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from intentfold.training import divergence
from intentfold.training.divergence import head_divergence


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("temperature", [1.0, 0.7])
@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
def test_value_and_gradients_are_the_definitions(beta, temperature, bias, monkeypatch):
    monkeypatch.setattr(divergence, "CHUNK", 4)
    torch.manual_seed(0)
    ours = torch.randn(11, 6, dtype=torch.float64, requires_grad=True)
    theirs = torch.randn(11, 9, dtype=torch.float64)
    head, other = (torch.nn.Linear(width, 30, bias=bias, dtype=torch.float64) for width in (6, 9))
    p, q = ((layer(x) / temperature).log_softmax(-1) for layer, x in ((head, ours), (other, theirs)))
    if beta == 1.0:
        wanted = (p.exp() * (p - q)).sum(-1)
    elif beta == 0.0:
        wanted = (q.exp() * (q - p)).sum(-1)
    else:
        m = (beta * q.exp() + (1 - beta) * p.exp()).log()
        wanted = (beta * q.exp() * (q - m) + (1 - beta) * p.exp() * (p - m)).sum(-1)
    each, entropy = head_divergence(ours, head.weight, head.bias, theirs, other.weight, other.bias, beta, temperature)
    assert torch.allclose(each, wanted, rtol=1e-12)
    assert torch.allclose(entropy, -(p.exp() * p).sum(-1), rtol=1e-12)
    assert not entropy.requires_grad
    over = [ours, *head.parameters()]
    for weights in (torch.full((11,), 0.3, dtype=torch.float64), torch.rand(11, dtype=torch.float64)):
        grads = [torch.autograd.grad((some * weights).sum(), over, retain_graph=True) for some in (each, wanted)]
        for mine, right in zip(*grads, strict=True):
            assert (mine - right).norm() <= 1e-12 * right.norm()


def test_no_gradient_is_kept_for_a_frozen_head():
    head = torch.nn.Linear(6, 30).requires_grad_(False)
    hidden = torch.randn(3, 6, requires_grad=True)
    other = torch.nn.Linear(6, 30)
    each, _ = head_divergence(hidden, head.weight, head.bias, torch.randn(3, 6), other.weight, other.bias, 1.0, 1.0)
    assert [kept is None for kept in each.grad_fn.saved_tensors[6:]] == [False, True, True]
    each.sum().backward()
    assert hidden.grad.abs().max() > 0
    assert head.weight.grad is None


def test_under_autocast_products_are_not_rounded():
    torch.manual_seed(1)
    head, hidden = torch.nn.Linear(64, 300, bias=False), torch.randn(5, 64).bfloat16()
    other = torch.randn(5, 64).bfloat16()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        each, _ = head_divergence(hidden, head.weight, None, other, head.weight, None, 1.0, 1.0)
    rounded = head.weight.bfloat16().float()
    p, q = ((x.float() @ rounded.T).log_softmax(-1) for x in (hidden, other))
    assert each.dtype == torch.float32
    assert torch.allclose(each, (p.exp() * (p - q)).sum(-1), rtol=1e-5)
