"""Distillation on whole dialogues: sampled in waves on one trunk, student and teacher once a dialogue."""

# ruff: noqa: E402
from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from intentfold.prompts.tracker import trunk_of
from intentfold.training.opd import in_passes, trimmed
from intentfold.training.rollouts import Dialogues
from tests.tiny import tiny_episodes
from tests.training.test_opd import make


def dialogues(share=0.5, branches=0):
    episodes = [*tiny_episodes(2, turns=5, branches=branches), *tiny_episodes(4, turns=3, seed=2, branches=branches)]
    return Dialogues(episodes, codec="delta", window=None, own_state_share=share, seed=0, branches=branches)


def prepared(trainer):
    """The micro-batches of one step of six dialogues."""
    trainer._gated = True
    trainer.model.train()
    rows = [{"episode": n} for n in range(6)]
    return [trainer._prepare_inputs(rows), trainer._buffered_inputs[1]]


def naive(trainer, inputs):
    """Reverse KL summed over the generated tokens, row by row."""
    total = torch.zeros(())
    for row in range(len(inputs["prompt_ids"])):
        said = inputs["completion_ids"][row][inputs["completion_mask"][row].bool()]
        asked = inputs["prompt_ids"][row][inputs["prompt_mask"][row].bool()]
        told = inputs["teacher_prompt_ids"][row][inputs["teacher_prompt_mask"][row].bool()]
        p = trainer.model(torch.cat([asked, said])[None]).logits[0, len(asked) - 1 : -1].log_softmax(-1)
        with torch.no_grad(), trainer.model.disable_adapter():
            q = trainer.model(torch.cat([told, said])[None]).logits[0, len(told) - 1 : -1].log_softmax(-1)
        total = total + (p.exp() * (p - q)).sum()
    return total


def gradient(trainer, loss):
    trainer.model.zero_grad()
    loss.backward()
    return torch.cat([p.grad.flatten() for p in trainer.model.parameters() if p.grad is not None])


@pytest.mark.parametrize("branches", [0, 1])
def test_loss_and_gradient_are_those_of_rows_one_by_one(tmp_path, branches):
    trainer = make(tmp_path, "base", source=dialogues(branches=branches))
    for inputs in prepared(trainer):
        ours, _, count = trainer._compute_loss(trainer.model, inputs, 1)
        theirs = naive(trainer, inputs)
        assert count == inputs["completion_mask"].sum()
        assert ours.item() == pytest.approx(theirs.item(), rel=1e-4)
        mine, alone = gradient(trainer, ours), gradient(trainer, theirs)
        assert (mine - alone).norm() <= 1e-5 * alone.norm()
    assert max(trainer._metrics["train"]["computed/passes"]) < 0.75
    assert trainer._metrics["train"]["computed/sampling"][-1] < 0.75


def test_dialogues_stay_whole_in_forward_passes(tmp_path):
    trainer = make(tmp_path, "base", source=dialogues())
    parts = prepared(trainer)
    assert sorted(len(inputs["prompt_ids"]) for inputs in parts) == [9, 13]  # three of three turns; one of three, two of five
    groups = [set(inputs["together"].tolist()) for inputs in parts]
    assert [len(some) for some in groups] == [3, 3]
    assert not groups[0] & groups[1]
    items = [int(inputs["num_items_in_batch"]) for inputs in parts]
    assert items == [sum(int(inputs["completion_mask"].sum()) for inputs in parts)] * 2
    whole = {name: parts[0][name] for name in ("prompt_mask", "completion_mask", "together", "prompt_ids")}
    assert sum(map(len, in_passes(whole, 3, False))) == sum(map(len, in_passes(whole, 3, True))) == len(whole["together"])


def test_turns_are_asked_from_the_students_own_states(tmp_path, monkeypatch):
    trainer = make(tmp_path, "base", source=dialogues(1.0))
    finish = Dialogues.finish
    said: list[tuple[int, int, str]] = []

    def noted(self, folds, outputs):
        said.extend((fold.lane, fold.turn, fold.prompt()[-1]["content"]) for fold in folds)
        return finish(self, folds, ["ADD mood: gloomy"] * len(folds))

    monkeypatch.setattr(Dialogues, "finish", noted)
    prepared(trainer)
    assert len(said) == 2 * 5 + 4 * 3
    for lane, turn, content in said:
        assert trunk_of(content).count("User: ") == turn + 1, lane
        assert content.split("State:\n")[1].startswith("mood: gloomy" if turn else "empty")
    assert trainer._metrics["train"]["rollout/own_state"] == [pytest.approx(16 / 22)]


def test_a_state_that_has_outgrown_the_prompt_gives_way_to_the_oracle(tmp_path, monkeypatch):
    trainer = make(tmp_path, "base", source=dialogues(1.0))
    finish = Dialogues.finish

    def grown(self, folds, outputs):
        return finish(self, folds, ["ADD a: " + "x" * 2000 if fold.turn == 1 and not fold.lane else "NONE" for fold in folds])

    monkeypatch.setattr(Dialogues, "finish", grown)
    prepared(trainer)
    assert trainer._metrics["train"]["rollout/overlong"] == [pytest.approx(1 / 22)]


def test_a_run_that_goes_on_ends_with_the_same_tensors(tmp_path):
    def trained(folder, **resume):
        trainer = make(folder, "base", source=dialogues(), save_steps=1, save_strategy="steps", max_steps=3)
        trainer._gated = True
        trainer.train(**resume)
        return trainer

    whole = trained(tmp_path / "a")
    resumed = trained(tmp_path / "b", resume_from_checkpoint=str(tmp_path / "a" / "checkpoint-1"))
    for ours, theirs in zip(whole.model.parameters(), resumed.model.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    logged = [entry for entry in whole.state.log_history if "computed/passes" in entry]
    assert logged
    assert all(entry["computed/passes"] < 1 > entry["computed/sampling"] for entry in logged)


def test_a_model_that_takes_no_segments_samples_and_learns_row_by_row(tmp_path, monkeypatch):
    trainer = make(tmp_path, "base", source=dialogues())
    trainer.model.config.sliding_window = 4096
    [inputs, _] = prepared(trainer)
    ours, _, _ = trainer._compute_loss(trainer.model, inputs, 1)
    assert "computed/sampling" not in trainer._metrics["train"]
    assert trainer._metrics["train"]["computed/passes"][-1] == 1.0
    trainer.model.config.sliding_window = None
    packed, _, _ = trainer._compute_loss(trainer.model, inputs, 1)
    assert ours.item() == pytest.approx(packed.item(), rel=1e-4)
    one = trainer._compute_loss(trainer.model, trimmed(inputs, torch.tensor([0])), 1)[0]
    assert one.item() < ours.item()
