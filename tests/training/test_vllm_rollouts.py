"""What lagging samples weigh, against expectations over every row of a tiny language."""

# ruff: noqa: E402
from __future__ import annotations

from itertools import product

import pytest

torch = pytest.importorskip("torch")

from intentfold.training.vllm_rollouts import covering, importance

TOKENS, LENGTH = 3, 4


def student(seed):
    """Log-probabilities of the next token after every beginning of a row."""
    random = torch.Generator().manual_seed(seed)
    befores = [before for length in range(LENGTH) for before in product(range(TOKENS), repeat=length)]
    return {before: torch.randn(TOKENS, generator=random).log_softmax(-1) for before in befores}


def expectation(sampled_with, now, value, most=None):
    """Of the sum of `value` over a row's places, over all rows; weighted by `importance` where `most` is given."""
    total = 0.0
    for row in product(range(TOKENS), repeat=LENGTH):
        old, new = (torch.stack([who[row[:n]][row[n]] for n in range(LENGTH)]) for who in (sampled_with, now))
        weights = torch.ones(LENGTH) if most is None else importance((new - old)[None], torch.ones(1, LENGTH), most)[0]
        total += float(old.sum().exp()) * sum(float(weights[n]) * value[row[:n]] for n in range(LENGTH))
    return total


def test_weighted_samples_of_an_older_student_are_in_expectation_those_of_now():
    """A token's divergence is a function of what stands before it."""
    old, now = student(1), student(2)
    value = {before: float(torch.rand((), generator=torch.Generator().manual_seed(n))) for n, before in enumerate(old)}
    wanted = expectation(now, now, value)
    assert expectation(old, now, value, most=float("inf")) == pytest.approx(wanted, rel=1e-5)
    assert expectation(old, now, value) != pytest.approx(wanted, rel=1e-2), "without weights it is another"
    assert expectation(old, now, value, most=1.5) < wanted, "held below a bound it is less"


def test_weights_by_hand():
    gap = torch.tensor([[0.5, -1.0, 9.0], [2.0, 3.0, float("nan")]])
    mask = torch.tensor([[1, 1, 1], [1, 1, 0]])
    expected = torch.tensor([[1.0, 1.6487, 0.6065], [1.0, 4.0, 4.0]])
    torch.testing.assert_close(importance(gap, mask, 4.0), expected, atol=1e-4, rtol=0)


def test_the_first_passes_that_hold_all():
    assert covering([{0}, {0, 1}, {1}]) == 2
    assert covering([{0, 1}, {1}]) == 1
    assert covering([]) == 0
