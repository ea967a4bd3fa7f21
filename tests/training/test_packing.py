"""Packed rows give what each row gives alone."""

from __future__ import annotations

import random
import types
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from transformers import AutoModelForCausalLM

from intentfold.runtime.decoding import has_linear_attention
from intentfold.training.packing import Packed, Row, families, pack, packed_hidden
from intentfold.training.sft import _completion_loss
from tests.tiny import script, tiny_dataset, tiny_hybrid, tiny_model


def rows_of(rng: random.Random, trunks: int, branches: int) -> list[Row]:
    rows = []
    for _ in range(trunks):
        trunk = [rng.randrange(3, 60) for _ in range(rng.randint(20, 30))]
        for _ in range(branches):
            prompt = [*trunk, *(rng.randrange(3, 60) for _ in range(rng.randint(1, 8)))]
            rows.append(Row([*prompt, *(rng.randrange(3, 60) for _ in range(rng.randint(1, 5)))], len(prompt)))
    return rows


def loss_of(model: torch.nn.Module, packed: Packed) -> torch.Tensor:
    logits_NV = model.lm_head(packed_hidden(model.model, packed))
    return F.cross_entropy(logits_NV, packed.labels_N, reduction="sum")


def one_by_one(model: torch.nn.Module, rows: list[Row]) -> torch.Tensor:
    total = torch.zeros((), dtype=torch.float64)
    for row in rows:
        ids = torch.tensor([row.ids])
        logits_TV = model(input_ids=ids).logits[0]
        total = total + F.cross_entropy(logits_TV[row.prompt - 1 : -1], ids[0, row.prompt :], reduction="sum")
    return total


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_loss_and_gradients_equal_one_row_per_example(attention: str, tmp_path: Path) -> None:
    model = AutoModelForCausalLM.from_pretrained(tiny_model(tmp_path), attn_implementation=attention, dtype=torch.float64)
    rows = rows_of(random.Random(1), trunks=3, branches=4)
    assert families(rows) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    packed = loss_of(model, pack(rows))
    ours = torch.autograd.grad(packed, list(model.parameters()))
    alone = one_by_one(model, rows)
    theirs = torch.autograd.grad(alone, list(model.parameters()))
    assert packed.item() == pytest.approx(alone.item(), rel=1e-9)
    norm = torch.sqrt(sum((g**2).sum() for g in theirs))
    assert torch.sqrt(sum(((a - b) ** 2).sum() for a, b in zip(ours, theirs, strict=True))) < 1e-6 * norm


def test_a_trunk_is_laid_once() -> None:
    rows = [Row([*range(3, 23), 30 + n, 40, 41], 21) for n in range(5)]
    packed = pack(rows)
    assert packed.ids_BT.shape == (1, 20 + 5 * 3)
    assert packed.labels_N.tolist() == [40, 41] * 5


def test_equal_prompts_keep_their_last_token_apart() -> None:
    rows = [Row([5, 6, 7, 8, 9, 10, 20, 21], 6), Row([5, 6, 7, 8, 9, 10, 20, 22], 6)]
    packed = pack(rows)
    assert packed.ids_BT.tolist() == [[5, 6, 7, 8, 9, 10, 20, 21, 10, 20, 22]]
    assert packed.positions_BT.tolist() == [[0, 1, 2, 3, 4, 5, 6, 7, 5, 6, 7]]
    assert packed.labels_N.tolist() == [20, 21, 20, 22]


def test_rows_that_only_share_a_template_stay_apart() -> None:
    rows = [Row([1, 2, 3, *range(10, 30)], 20), Row([1, 2, 3, *range(30, 50)], 20)]
    assert families(rows) == [[0], [1]]


def test_a_row_that_would_shorten_the_trunk_too_much_starts_another_family() -> None:
    trunk = list(range(3, 33))
    rows = [Row([*trunk, 40 + n, 50], 31) for n in range(4)] + [Row([*trunk[:12], *range(60, 80)], 30)]
    assert families(rows) == [[0, 1, 2, 3], [4]]


def test_the_benchmark_takes_its_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = [f"--base={tiny_model(tmp_path / 'model')}", f"--data={tiny_dataset(tmp_path / 'data')}", "--rows=8", "--steps=2"]
    script("scripts/bench_packing.py").main(flags)
    said = capsys.readouterr().out
    assert "packed:" in said
    assert "ratio" in said


def test_rows_can_be_taken_apart() -> None:
    rows = rows_of(random.Random(3), trunks=1, branches=3)
    assert pack(rows, alike=False).ids_BT.shape[0] == 3
    assert pack(rows).ids_BT.shape[0] == 1


def test_where_attention_is_linear_rows_are_apart(tmp_path: Path) -> None:
    folder = tiny_hybrid(tiny_model(tmp_path / "plain"), tmp_path / "hybrid")
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64)
    assert has_linear_attention(model)
    rows = rows_of(random.Random(1), trunks=2, branches=3)
    inputs = padded(rows)
    wrapped = types.SimpleNamespace(get_base_model=lambda: model)
    total, _, count = _completion_loss(wrapped, inputs)
    assert total.item() == pytest.approx(one_by_one(model, rows).item(), rel=1e-6)  # logits are taken in float32
    assert count == sum(len(row.ids) - row.prompt for row in rows)
    together = loss_of(model, pack(rows)).item()
    assert together != pytest.approx(total.item(), rel=1e-4), "then packing would do no harm"


def padded(rows: list[Row]) -> dict[str, torch.Tensor]:
    """The rows as TRL's collator gives them."""
    longest = max(len(row.ids) for row in rows)
    ids, mask, labels = [], [], []
    for row in rows:
        pads = longest - len(row.ids)
        ids.append([*row.ids, *[0] * pads])
        mask.append([1] * len(row.ids) + [0] * pads)
        labels.append([-100] * row.prompt + list(row.ids[row.prompt :]) + [-100] * pads)
    return {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask), "labels": torch.tensor(labels)}
