"""Packed rows give what each row gives alone."""

from __future__ import annotations

import random
import types
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, Starcoder2Config, Starcoder2ForCausalLM
from transformers.utils import logging

from intentfold.example import trl_row
from intentfold.runtime.decoding import has_linear_attention
from intentfold.training.packing import Packed, Row, Trie, families, lay, pack, packed_hidden, side_by_side
from intentfold.training.preflight import prompt_ids
from intentfold.training.segments import Segments, attend_by_segments, segmentable
from intentfold.training.sft import _completion_loss
from tests.tiny import script, tiny_dataset, tiny_hybrid, tiny_judgements, tiny_model, tiny_tokenizer


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


def dialogue(seed: int) -> list[Row]:
    """Turns that leave a trunk one after the other, some with two branches, in any order; now and then equal prompts."""
    rng = random.Random(seed)
    trunk = [rng.randrange(3, 60) for _ in range(120)]
    rows, fork = [], 0
    for _ in range(rng.randint(1, 5)):
        fork += rng.randint(1, 20)
        for _ in range(rng.randint(1, 2)):
            prompt = [*trunk[:fork], *(rng.randrange(3, 60) for _ in range(rng.randint(0, 8)))]
            rows += [Row([*prompt, *(rng.randrange(3, 60) for _ in range(rng.randint(1, 5)))], len(prompt))] * rng.randint(1, 2)
    rng.shuffle(rows)
    return rows


def small_model(dtype: torch.dtype, attention: str = "sdpa", vocabulary: int = 60, seed: int = 3) -> torch.nn.Module:
    """LayerNorm, and no step in float32 alone: what is computed in float64 is exact."""
    torch.manual_seed(seed)
    config = Starcoder2Config(
        vocab_size=vocabulary,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        sliding_window=None,
        attn_implementation=attention,
    )
    model = Starcoder2ForCausalLM(config).to(dtype).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model


def distance(ours: tuple[torch.Tensor, ...], theirs: tuple[torch.Tensor, ...]) -> float:
    """Of two gradients, relative to the norm of the second."""
    apart, norm = (torch.sqrt(sum((g.double() ** 2).sum() for g in some)) for some in (map(torch.sub, ours, theirs), theirs))
    return float(apart / norm)


def check_equal(model: torch.nn.Module, rows: list[Row], tolerance: float) -> None:
    packed = loss_of(model, pack(rows, model.model))
    alone = one_by_one(model, rows)
    assert packed.item() == pytest.approx(alone.item(), rel=tolerance)
    grads = [torch.autograd.grad(loss, list(model.parameters())) for loss in (packed, alone)]
    assert distance(*grads) <= tolerance


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=3))
def test_loss_and_gradients_equal_one_row_per_example(seeds: list[int]) -> None:
    rows = [row for seed in seeds for row in dialogue(seed)]
    check_equal(small_model(torch.float64), rows, 1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_in_float32_they_are_as_near(seed: int) -> None:
    check_equal(small_model(torch.float32), dialogue(seed), 1e-5)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-8), (torch.float32, 1e-5)])
@pytest.mark.parametrize("seed", range(3))
def test_so_do_a_students_and_a_privileged_teachers_passes(seed: int, dtype: torch.dtype, tolerance: float) -> None:
    student, teacher = small_model(dtype), small_model(dtype, seed=4)
    rng = random.Random(seed)
    rows = dialogue(seed)
    told = [
        Row([*row.ids[: row.prompt], *(rng.randrange(3, 60) for _ in range(4)), *row.ids[row.prompt :]], row.prompt + 4)
        for row in rows
    ]

    def logprobs(model: torch.nn.Module, some: list[Row], together: bool) -> torch.Tensor:
        if together:
            return model.lm_head(packed_hidden(model.model, pack(some, model.model))).log_softmax(-1)
        alone = [model(torch.tensor([row.ids])).logits[0, row.prompt - 1 : -1] for row in some]
        return torch.cat(alone).log_softmax(-1)

    grads = []
    for together in (True, False):
        p_NV = logprobs(student, rows, together)
        with torch.no_grad():
            q_NV = logprobs(teacher, told, together)
        loss = (p_NV.exp() * (p_NV - q_NV)).sum()  # reverse KL
        grads.append(torch.autograd.grad(loss, list(student.parameters())))
    assert distance(*grads) <= tolerance


def test_so_do_questions_about_one_output() -> None:
    tokenizer = tiny_tokenizer()
    rows = []
    for example in tiny_judgements(2):
        prompt = prompt_ids(tokenizer, trl_row(example)["prompt"], {})
        rows.append(Row([*prompt, *tokenizer(example.completion)["input_ids"], tokenizer.eos_token_id], len(prompt)))
    model = small_model(torch.float64, vocabulary=len(tokenizer))
    packed = pack(rows, model)
    assert packed.computed < 0.6 * packed.apart
    check_equal(model, rows, 1e-8)


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("checkpointing", [False, True])
def test_with_either_attention_and_recomputed(attention: str, checkpointing: bool, tmp_path: Path) -> None:
    model = AutoModelForCausalLM.from_pretrained(tiny_model(tmp_path), attn_implementation=attention, dtype=torch.float64)
    if checkpointing:
        model.train().gradient_checkpointing_enable({"use_reentrant": False})
    rows = rows_of(random.Random(1), trunks=3, branches=4)
    assert families(rows) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    before = one_by_one(model, rows).item()
    check_equal(model, rows, 1e-6)  # norms, and eager's softmax, are taken in float32
    assert one_by_one(model, rows).item() == before, "without segments it is the model's own attention"


def test_a_trunk_is_laid_once() -> None:
    rows = [Row([*range(3, 23), 30 + n, 40, 41], 21) for n in range(5)]
    packed = pack(rows, small_model(torch.float64))
    assert packed.ids_BT.shape == (1, 20 + 5 * 3)
    assert packed.labels_N.tolist() == [40, 41] * 5
    assert (packed.computed, packed.apart) == (35, 115)


def test_branches_leave_the_trunk_each_at_its_place() -> None:
    rows = [Row([1, 2, 8, 9], 3), Row([1, 2, 3, 4, 8, 9], 5), Row([1, 2, 3, 4, 5, 7], 5)]
    laid = lay(Trie(), [row.ids for row in rows])
    assert laid.ids_1T.tolist() == [[1, 2, 3, 4, 8, 9, 5, 7, 8, 9]]
    assert laid.positions_1T.tolist() == [[0, 1, 2, 3, 4, 5, 4, 5, 2, 3]]
    assert laid.paths == [[0, 1, 8, 9], [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 6, 7]]
    assert [part.sees for part in laid.parts] == [((0, 6),), ((0, 4), (6, 8)), ((0, 2), (8, 10))]


def test_equal_rows_are_computed_once_and_count_twice() -> None:
    rows = [Row([5, 6, 7, 20, 21], 3), Row([5, 6, 7, 20, 22], 3), Row([5, 6, 7, 20, 21], 3)]
    packed = pack(rows, small_model(torch.float64))
    assert packed.ids_BT.tolist() == [[5, 6, 7, 20, 21, 22]]
    assert packed.labels_N.tolist() == [20, 21, 20, 22, 20, 21]
    assert packed.before_N.tolist() == [2, 3, 2, 3, 2, 3]


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


def test_late_turns_are_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = [f"--base={tiny_model(tmp_path)}", "--early=7", "--late=9", "--repeats=1", "--max_tokens=2"]
    script("scripts/bench_turns.py").main(flags)
    said = capsys.readouterr().out
    assert "compact state, turn 9: " in said
    assert "whole history: 1." in said


def test_rows_can_be_taken_apart() -> None:
    rows = rows_of(random.Random(3), trunks=1, branches=3)
    model = small_model(torch.float64)
    assert side_by_side(rows).ids_BT.shape[0] == 3
    assert loss_of(model, side_by_side(rows)).item() == pytest.approx(loss_of(model, pack(rows, model)).item(), rel=1e-9)


def test_layers_that_take_no_segments_get_rows_and_a_notice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny_hybrid(tiny_model(tmp_path / "plain"), tmp_path / "hybrid")
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64)
    assert has_linear_attention(model)
    said: list[str] = []
    monkeypatch.setattr(logging.get_logger("intentfold.training.packing"), "warning_once", said.append)
    rows = rows_of(random.Random(1), trunks=2, branches=3)
    inputs = padded(rows)
    wrapped = types.SimpleNamespace(get_base_model=lambda: model)
    total, _, count, computed = _completion_loss(wrapped, inputs)
    assert total.item() == pytest.approx(one_by_one(model, rows).item(), rel=1e-6)  # logits are taken in float32
    assert computed == 1.0
    assert count == sum(len(row.ids) - row.prompt for row in rows)
    [notice] = said
    assert notice.startswith("Qwen3_5TextModel: its layers keep a running state")
    laid = lay(Trie(), [row.ids for row in rows])
    with pytest.raises(RuntimeError, match="Qwen3_5TextModel: 1 of 2 layers heeded which tokens see which"):
        attend_by_segments(model.model, Segments(laid.parts), input_ids=laid.ids_1T, position_ids=laid.positions_1T)


def test_a_window_of_tokens_takes_no_segments() -> None:
    model = small_model(torch.float64)
    assert segmentable(model)
    model.config.sliding_window = 16
    assert not segmentable(model)


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
