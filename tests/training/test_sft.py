"""The SFT trainer's loss against TRL's own and a naive one."""

# ruff: noqa: E402
from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch")

from datasets import Dataset
from peft import LoraConfig, get_peft_model
from trl import SFTConfig, SFTTrainer

from intentfold import models
from intentfold.example import trl_row
from intentfold.training.sft import CompletionTrainer
from intentfold.training.weighting import Weighting
from tests.tiny import tiny_examples, tiny_model


@pytest.fixture
def trainer(tmp_path):
    return make(tmp_path)


def make(tmp_path, weighting=None, **changes):
    model, tokenizer = models.load(tiny_model(tmp_path / "base"), dtype="float64")
    model = get_peft_model(model, LoraConfig(target_modules=["q_proj", "down_proj"], r=4), autocast_adapter_dtype=False)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.1)
    config = SFTConfig(
        output_dir=str(tmp_path),
        max_length=None,
        completion_only_loss=True,
        per_device_train_batch_size=4,
        max_steps=2,
        report_to="none",
        bf16=False,
        gradient_checkpointing=False,
        dataloader_pin_memory=False,
        **changes,
    )
    examples = tiny_examples()
    rows = [{name: row[name] for name in ("prompt", "completion")} for row in map(trl_row, examples)]
    if weighting is None:
        weighting = Weighting()
    else:
        rows = [{**row, "operations": list(one.provenance.operations)} for row, one in zip(rows, examples, strict=True)]
    return CompletionTrainer(
        weighting=weighting, model=model, args=config, train_dataset=Dataset.from_list(rows), processing_class=tokenizer
    )


def gradients(model, loss):
    model.zero_grad()
    loss.backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("items", [None, torch.tensor(37)])
def test_loss_and_gradients_are_trls(trainer, items):
    batch = next(iter(trainer.get_train_dataloader()))
    trainer.model.train()
    ours = trainer.compute_loss(trainer.model, copy.copy(batch), num_items_in_batch=items)
    our_gradients = gradients(trainer.model, ours)
    theirs = SFTTrainer.compute_loss(trainer, trainer.model, copy.copy(batch), num_items_in_batch=items)
    their_gradients = gradients(trainer.model, theirs)
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-5)  # TRL projects in float32
    assert our_gradients.keys() == their_gradients.keys() != set()
    for name, gradient in our_gradients.items():
        assert torch.allclose(gradient, their_gradients[name], rtol=1e-4, atol=1e-7), name


def test_loss_is_the_mean_over_completion_tokens(trainer):
    batch = next(iter(trainer.get_train_dataloader()))
    trainer.model.train()
    ours = trainer.compute_loss(trainer.model, copy.copy(batch))
    total, count = 0.0, 0
    for ids, labels, mask in zip(batch["input_ids"], batch["labels"], batch["attention_mask"], strict=True):
        length = int(mask.sum())
        logprobs = trainer.model(ids[None, :length]).logits[0].log_softmax(-1)
        for place in range(1, length):
            if labels[place] != -100:
                total -= logprobs[place - 1, labels[place]].item()
                count += 1
    assert count > 4
    assert ours.item() == pytest.approx(total / count, rel=1e-6)


def step(trainer):
    """The micro-batches of a step and its number of tokens, as Trainer draws them."""
    passes = trainer.args.gradient_accumulation_steps
    trainer.model.train()
    return trainer.get_batch_samples(iter(trainer.get_train_dataloader()), passes, trainer.args.device)


def test_a_weighted_loss_is_the_weighted_mean_over_the_step(tmp_path):
    trainer = make(tmp_path, Weighting({"ADD": 0.25, "REPLACE": 3.0}), gradient_accumulation_steps=3)
    batches, count = step(trainer)
    ours = sum(trainer.compute_loss(trainer.model, batch, num_items_in_batch=count).item() for batch in batches)
    # Each row of this data is one line: the whole completion, and what the template puts after it, weighs the same. One and
    # the same line adds in one row and replaces in another.
    examples = tiny_examples()
    total, weights, seen = 0.0, 0.0, set()
    for batch in batches:
        for ids, labels, mask in zip(batch["input_ids"], batch["labels"], batch["attention_mask"], strict=True):
            length = int(mask.sum())
            logprobs = trainer.model(ids[None, :length]).logits[0].log_softmax(-1)
            text = trainer.processing_class.decode(ids[:length])
            ((operation,),) = {e.provenance.operations for e in examples if f"{e.messages[1].content}<|im_end|>" in text}
            seen.add(operation)
            weight = {"ADD": 0.25, "REPLACE": 3.0}[operation]
            for place in range(1, length):
                if labels[place] != -100:
                    total -= weight * logprobs[place - 1, labels[place]].item()
                    weights += weight
    assert seen == {"ADD", "REPLACE"}
    assert ours == pytest.approx(total / weights, rel=1e-5)


def test_weights_of_one_change_nothing(tmp_path):
    losses = []
    for weighting in (None, Weighting()):
        torch.manual_seed(0)
        trainer = make(tmp_path, weighting, gradient_accumulation_steps=2)
        batches, count = step(trainer)
        assert ("weights" in batches[0]) == (weighting is not None)
        losses.append([trainer.compute_loss(trainer.model, batch, num_items_in_batch=count).item() for batch in batches])
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


def test_the_weights_are_scaled_over_all_ranks(tmp_path, monkeypatch):
    trainer = make(tmp_path, Weighting({"REPLACE": 3.0}), gradient_accumulation_steps=2)
    batches, count = step(trainer)
    alone = torch.cat([batch["weights"].flatten() for batch in batches])
    assert alone.sum().item() == pytest.approx(float(count), rel=1e-5)
    monkeypatch.setattr(trainer.accelerator, "gather", lambda tensor: torch.stack([tensor, 3 * tensor]))
    batches, _ = step(trainer)
    beside = torch.cat([batch["weights"].flatten() for batch in batches])
    assert torch.allclose(beside, alone / 4, rtol=1e-5)


def test_no_gradient_reaches_the_base(trainer):
    batch = next(iter(trainer.get_train_dataloader()))
    trainer.model.train()
    found = gradients(trainer.model, trainer.compute_loss(trainer.model, batch))
    assert found
    assert all("lora_" in name for name in found)
