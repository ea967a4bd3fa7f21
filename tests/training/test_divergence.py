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
        wanted = (p.exp() * (p - q)).sum()
    elif beta == 0.0:
        wanted = (q.exp() * (q - p)).sum()
    else:
        m = (beta * q.exp() + (1 - beta) * p.exp()).log()
        wanted = (beta * q.exp() * (q - m) + (1 - beta) * p.exp() * (p - m)).sum()
    total, entropy = head_divergence(ours, head, theirs, other, beta, temperature)
    assert total.item() == pytest.approx(wanted.item(), rel=1e-12)
    assert entropy.item() == pytest.approx(-(p.exp() * p).sum().item(), rel=1e-12)
    assert not entropy.requires_grad
    over = [ours, *head.parameters()]
    for mine, right in zip(torch.autograd.grad(total / 3, over), torch.autograd.grad(wanted / 3, over), strict=True):
        assert (mine - right).norm() <= 1e-12 * right.norm()


def test_no_gradient_is_kept_for_a_frozen_head():
    head = torch.nn.Linear(6, 30).requires_grad_(False)
    hidden = torch.randn(3, 6, requires_grad=True)
    total, _ = head_divergence(hidden, head, torch.randn(3, 6), torch.nn.Linear(6, 30), 1.0, 1.0)
    assert [kept is None for kept in total.grad_fn.saved_tensors] == [False, True, True]
    total.backward()
    assert hidden.grad.abs().max() > 0
    assert head.weight.grad is None


def test_under_autocast_products_are_not_rounded():
    torch.manual_seed(1)
    head, hidden = torch.nn.Linear(64, 300, bias=False), torch.randn(5, 64).bfloat16()
    other = torch.randn(5, 64).bfloat16()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        total, _ = head_divergence(hidden, head, other, head, 1.0, 1.0)
    rounded = head.weight.bfloat16().float()
    p, q = ((x.float() @ rounded.T).log_softmax(-1) for x in (hidden, other))
    assert total.dtype == torch.float32
    assert total.item() == pytest.approx((p.exp() * (p - q)).sum().item(), rel=1e-5)
