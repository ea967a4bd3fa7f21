"""The distillation trainer: its loss against TRL's and a naive one, its teachers, its proofs."""

# ruff: noqa: E402
from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from peft import LoraConfig, get_peft_model
from trl import DistillationConfig, DistillationTrainer

from intentfold import models
from intentfold.runtime.decoding import continuations
from intentfold.training import opd
from intentfold.training.example_rows import ExampleRows
from intentfold.training.opd import OnPolicyTrainer, by_length, in_passes, in_the_loss, on_track, trimmed
from intentfold.training.packing import packed_hidden
from intentfold.training.preflight import PreflightError
from intentfold.training.rollouts import Rollout, oracle_folds
from intentfold.training.served import ServedTeacher
from intentfold.training.teachers import LocalTeacher, TeacherPrompt, right_padded
from intentfold.training.weighting import Weighting
from tests.tiny import tiny_episodes, tiny_judgements, tiny_model

EPISODES = tiny_episodes(6)
GATE = oracle_folds(tiny_episodes(2, seed=1), "delta", 3)


def adapted(base, seed):
    """A student whose fresh adapter does something, and so differs from its base."""
    model, tokenizer = models.load(base, dtype="float32")
    model = get_peft_model(model, LoraConfig(target_modules=["q_proj", "v_proj", "up_proj"], r=4))
    torch.manual_seed(seed)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.2)
    return model, tokenizer


def make(
    folder, kind="base", sees="privileged", beta=1.0, examples=(), served=None, branches=0, rows="folds", source=None, **changes
):
    model, tokenizer = adapted(tiny_model(folder / "student"), 0)
    prompt = TeacherPrompt(tokenizer, {}, sees, examples)
    larger = models.load(tiny_model(folder / "teacher", seed=7, layers=3))[0] if kind == "model" else None
    teacher = ServedTeacher(prompt, served, k=4) if kind == "served" else LocalTeacher(prompt, model=larger)
    config = DistillationConfig(
        output_dir=str(folder),
        per_device_train_batch_size=3,
        gradient_accumulation_steps=2,
        max_steps=changes.pop("max_steps", 2),
        max_completion_length=12,
        beta=beta,
        report_to="none",
        bf16=False,
        gradient_checkpointing=False,
        dataloader_pin_memory=False,
        **changes,
    )
    rollout = Rollout(
        tiny_episodes(6, branches=branches), codec="delta", window=3, own_state_share=0.5, seed=0, branches=branches
    )
    judgements = ExampleRows(tiny_judgements())
    return OnPolicyTrainer(
        rollout=source or (judgements if rows == "examples" else rollout),
        teacher=teacher,
        gate=judgements.asked[:6] if rows == "examples" else GATE,
        max_prompt=1000,
        model=model,
        teacher_model=larger,
        args=config,
        processing_class=tokenizer,
    )


def sampled(trainer):
    """A generation batch of six folds in two micro-batches."""
    trainer._gated = True
    trainer.model.train()
    rows = next(iter(trainer.get_train_dataloader()))
    return [trainer._prepare_inputs(rows), trainer._buffered_inputs[1]]


@pytest.mark.parametrize(("rows", "beta"), [("folds", 0.0), ("folds", 0.3), ("folds", 1.0), ("examples", 1.0)])
def test_with_equal_prompts_the_loss_is_trls(tmp_path, rows, beta):
    trainer = make(tmp_path, "model", sees="plain", beta=beta, rows=rows)
    for inputs in sampled(trainer):
        for items in (None, torch.tensor(50.0)):
            ours = trainer._compute_loss(trainer.model, inputs, items)
            theirs = DistillationTrainer._compute_loss(trainer, trainer.model, inputs, items)
            assert ours[0].item() == pytest.approx(theirs[0].item(), rel=1e-5)
            assert ours[1].item() == pytest.approx(theirs[1].item(), rel=1e-5)
            assert ours[2] == theirs[2] > 0
            grads = []
            for loss in (ours[0], theirs[0]):
                trainer.model.zero_grad()
                loss.backward()
                grads.append(torch.cat([p.grad.flatten() for p in trainer.model.parameters() if p.grad is not None]))
            assert torch.allclose(*grads, rtol=1e-3, atol=1e-7)
            assert grads[0].abs().max() > 0


@pytest.mark.parametrize(("rows", "beta"), [("folds", 0.0), ("folds", 0.3), ("folds", 1.0), ("examples", 0.3), ("examples", 1.0)])
def test_the_privileged_loss_is_the_naive_one(tmp_path, rows, beta):
    trainer = make(tmp_path, "base", beta=beta, rows=rows)
    for inputs in sampled(trainer):
        ours, entropy, count = trainer._compute_loss(trainer.model, inputs, None)
        total, entropies, tokens = 0.0, 0.0, 0
        for row in range(len(inputs["prompt_ids"])):
            said = inputs["completion_ids"][row][inputs["completion_mask"][row].bool()]
            asked = inputs["prompt_ids"][row][inputs["prompt_mask"][row].bool()]
            told = inputs["teacher_prompt_ids"][row][inputs["teacher_prompt_mask"][row].bool()]
            assert len(told) > len(asked)
            with torch.no_grad():
                p = trainer.model(torch.cat([asked, said])[None]).logits[0, len(asked) - 1 : -1].log_softmax(-1)
                with trainer.model.disable_adapter():
                    q = trainer.model(torch.cat([told, said])[None]).logits[0, len(told) - 1 : -1].log_softmax(-1)
            if beta == 1.0:
                each = (p.exp() * (p - q)).sum(-1)
            elif beta == 0.0:
                each = (q.exp() * (q - p)).sum(-1)
            else:
                m = (beta * q.exp() + (1 - beta) * p.exp()).log()
                each = beta * (q.exp() * (q - m)).sum(-1) + (1 - beta) * (p.exp() * (p - m)).sum(-1)
            total += each.sum().item()
            entropies -= (p.exp() * p).sum().item()
            tokens += len(said)
        assert count == tokens
        assert ours.item() == pytest.approx(total / tokens, rel=1e-3)  # differences of float32 logarithms
        assert entropy.item() == pytest.approx(entropies, rel=1e-4)


def test_the_loss_is_averaged_over_generated_tokens(tmp_path):
    trainer = make(tmp_path, "base")
    first, second = sampled(trainer)
    tokens = int(first["completion_mask"].sum() + second["completion_mask"].sum())
    assert first["num_items_in_batch"] == tokens
    trainer.model.train()
    both = sum(trainer.compute_loss(trainer.model, inputs).item() for inputs in (first, second))
    sums = [trainer._compute_loss(trainer.model, inputs, 1)[0].item() for inputs in (first, second)]
    assert both == pytest.approx(sum(sums) / tokens, rel=1e-5)


def naive_divergence(trainer, inputs, row):
    """KL(student || teacher) at each token of a row of a batch."""
    said = inputs["completion_ids"][row][inputs["completion_mask"][row].bool()]
    asked = inputs["prompt_ids"][row][inputs["prompt_mask"][row].bool()]
    told = inputs["teacher_prompt_ids"][row][inputs["teacher_prompt_mask"][row].bool()]
    with torch.no_grad():
        p = trainer.model(torch.cat([asked, said])[None]).logits[0, len(asked) - 1 : -1].log_softmax(-1)
        with trainer.model.disable_adapter():
            q = trainer.model(torch.cat([told, said])[None]).logits[0, len(told) - 1 : -1].log_softmax(-1)
    return said.tolist(), (p.exp() * (p - q)).sum(-1).tolist()


WEIGHTS = Weighting({"ADD": 3.0, "REPLACE": 0.25, "REJECTED": 0.5}, {"exact": 0.1, "wrong": 2.0})


def told_apart(trainer, monkeypatch):
    """The two micro-batches of a step, and for every token its operation, its weight and its divergence as worked out here."""
    trainer._gated = True
    trainer.model.train()
    rows = next(iter(trainer.get_train_dataloader()))
    folds = trainer.rollout.begin(rows, 0, 0)
    right = [fold.completion() for fold in folds]
    assert {text.split(" ")[0] for text in right} == {"SET"}
    # Three right, one with a line too many, one that is no edit, one that says nothing.
    said = [*right[:3], f"{right[3]}\nSET mood: gloomy", "what?\nNONE", ""]
    ids = [[*trainer._tokenizer(text)["input_ids"], trainer.eos_token_ids[0]] for text in said]
    operations = [[fold.right[0].op] for fold in folds[:3]]
    operations += [[folds[3].right[0].op, "ADD"], ["REJECTED", "REJECTED"], ["REJECTED"]]
    outcomes = ["exact"] * 3 + ["wrong"] * 3
    expected = {}
    for text, tokens, of_lines, outcome in zip(said, ids, operations, outcomes, strict=True):
        lines = [*text.split("\n")]
        by_token = [op for line, op in zip(lines, of_lines, strict=True) for _ in range(len(line) + 1)]
        assert len(by_token) == len(tokens)
        row = trainer.weighting.outcomes.get(outcome, 1.0)
        expected.setdefault(tuple(tokens), []).append([(op, row * trainer.weighting.operations.get(op, 1.0)) for op in by_token])
    monkeypatch.setattr(trainer, "_sample", lambda prompts: ids)
    batches = [trainer._prepare_inputs(rows), trainer._buffered_inputs[1]]
    found = []
    for inputs in batches:
        for row in range(len(inputs["prompt_ids"])):
            tokens, each = naive_divergence(trainer, inputs, row)
            known = expected[tuple(tokens)]
            assert all(one == known[0] for one in known)
            found += [(op, weight, divergence) for (op, weight), divergence in zip(known[0], each, strict=True)]
    return batches, found


def test_no_pass_is_spent_on_rows_that_weigh_nothing(tmp_path, monkeypatch):
    trainer = make(tmp_path, "base")
    trainer.weighting = Weighting({}, {"exact": 0.0})
    batches, tokens = told_apart(trainer, monkeypatch)
    assert sum(len(inputs["prompt_ids"]) for inputs in batches) == 3
    assert all(weight == 1.0 for _, weight, _ in tokens)


@pytest.mark.parametrize(
    ("weights", "passes", "groups", "kept"),
    [
        ([1, 0, 2, 0], 1, None, [0, 2]),
        ([0, 0, 2, 0], 3, None, [0, 1, 2]),
        ([0, 0, 0, 0], 1, None, [0]),
        ([1, 0, 0, 0, 0, 1], 1, [0, 0, 1, 1, 2, 2], [0, 2, 5]),
    ],
)
def test_every_pass_and_every_dialogue_keeps_a_row(weights, passes, groups, kept):
    assert in_the_loss(weights, passes, groups) == kept


@pytest.mark.parametrize(
    "weighting", [WEIGHTS, Weighting(), Weighting({}, {"exact": 0.0})], ids=["both", "even", "only wrong rows"]
)
def test_the_loss_is_the_weighted_mean_over_the_step(tmp_path, monkeypatch, weighting):
    trainer = make(tmp_path, "base")
    trainer.weighting = weighting
    batches, tokens = told_apart(trainer, monkeypatch)
    assert {op for op, _, _ in tokens} >= {"ADD", "REJECTED"}
    ours = sum(trainer.compute_loss(trainer.model, inputs).item() for inputs in batches)
    wanted = sum(weight * divergence for _, weight, divergence in tokens) / sum(weight for _, weight, _ in tokens)
    assert ours == pytest.approx(wanted, rel=1e-3)
    plain = sum(divergence for _, _, divergence in tokens) / len(tokens)
    assert (abs(plain - wanted) < 1e-3 * plain) == (weighting != WEIGHTS), "rows of no weight are not in the batches"


def test_weights_of_one_change_no_bit(tmp_path):
    trainer = make(tmp_path, "base")
    for inputs in sampled(trainer):
        bare = {name: value for name, value in inputs.items() if name not in ("weights", "operations")}
        values, grads = [], []
        for asked in (inputs, bare):
            loss = trainer.compute_loss(trainer.model, asked)
            trainer.model.zero_grad()
            loss.backward()
            values.append(loss.item())
            grads.append(torch.cat([p.grad.flatten() for p in trainer.model.parameters() if p.grad is not None]))
        assert values[0] == values[1]
        assert torch.equal(*grads)


def test_the_weights_are_scaled_over_all_ranks(tmp_path, monkeypatch):
    alone = make(tmp_path / "a", "base")
    alone.weighting = WEIGHTS
    batches, _ = told_apart(alone, monkeypatch)
    tokens = int(batches[0]["num_items_in_batch"])
    ours = sum(float(inputs["weights"].sum()) for inputs in batches)
    assert ours == pytest.approx(tokens, rel=1e-5)
    beside = make(tmp_path / "b", "base")
    beside.weighting = WEIGHTS
    others = iter([100.0, 700.0])  # tokens of another rank, and the sum of their weights

    def gather(tensor):
        return torch.stack([tensor.float(), torch.tensor(next(others))])

    monkeypatch.setattr(beside.accelerator, "gather", gather)
    batches, found = told_apart(beside, monkeypatch)
    mine = sum(weight for _, weight, _ in found)
    assert batches[0]["num_items_in_batch"] == tokens + 100
    scaled = sum(float(inputs["weights"].sum()) for inputs in batches)
    assert scaled == pytest.approx(mine * (tokens + 100) / (mine + 700), rel=1e-5)


def test_the_divergence_is_logged_by_operation(tmp_path, monkeypatch):
    trainer = make(tmp_path, "base")
    trainer.weighting = WEIGHTS
    batches, tokens = told_apart(trainer, monkeypatch)
    monkeypatch.setattr(trainer.accelerator, "reduce", lambda tensor, how: 2 * tensor if how == "sum" else None)
    for inputs in batches:
        trainer.compute_loss(trainer.model, inputs)
    trainer.log({"loss": 1.0})
    logged = trainer.state.log_history[-1]
    assert {name for name in logged if name.startswith("kl/")} == {f"kl/{op.lower()}" for op, _, _ in tokens}
    for op in {op for op, _, _ in tokens}:
        each = [divergence for other, _, divergence in tokens if other == op]
        assert logged[f"kl/{op.lower()}"] == pytest.approx(sum(each) / len(each), rel=1e-3)
        assert logged[f"tokens/{op.lower()}"] == 2 * len(each)
    assert logged["rollout/outcome_exact"] == 0.5 == logged["rollout/outcome_wrong"]
    trainer.log({"loss": 1.0})
    assert not [name for name in trainer.state.log_history[-1] if name.startswith(("kl/", "tokens/"))]


def test_the_student_is_at_no_distance_from_itself(tmp_path):
    trainer = make(tmp_path, "base", sees="plain")
    trainer.teacher.adapter = trainer.model.active_adapter
    for inputs in sampled(trainer):
        loss, _, _ = trainer._compute_loss(trainer.model, inputs, None)
        assert abs(loss.item()) < 1e-6


def test_the_frozen_adapter_teaches_without_learning(tmp_path):
    trainer = make(tmp_path, "base")
    trainer.model.save_pretrained(tmp_path / "sft")
    trainer.model.load_adapter(str(tmp_path / "sft"), adapter_name="teacher", is_trainable=False)
    trainer.model.set_adapter("default")
    trainer.teacher.adapter = "teacher"
    inputs, _ = sampled(trainer)
    loss, _, _ = trainer._compute_loss(trainer.model, inputs, None)
    loss.backward()
    assert trainer.model.active_adapter == "default"
    grads = {name for name, p in trainer.model.named_parameters() if p.grad is not None and p.grad.abs().max() > 0}
    assert grads
    assert all(".default." in name for name in grads)
    assert all(p.requires_grad == (".default." in name) for name, p in trainer.model.named_parameters())


def test_worked_examples_stand_before_the_question(tmp_path):
    trainer = make(tmp_path, examples=GATE[:2])
    fold = GATE[3]
    text = trainer._tokenizer.decode(trainer.teacher.prompt.ids(fold))
    assert text.count("<|im_start|>assistant") == 3
    assert text.count("<|im_start|>system") == 1
    assert text.index(GATE[0].completion()) < text.rindex(fold.privileged_prompt()[1]["content"])
    assert text.endswith("<|im_start|>assistant\n")


def test_padding_and_micro_batches_change_no_loss(tmp_path):
    trainer = make(tmp_path, "base")
    sampled(trainer)
    folds = trainer.rollout.begin([{"episode": e, "turn": 1, "branch": 0} for e in range(6)], 0, 0)
    prompts = [trainer._ids(fold.prompt()) for fold in folds]
    completions = [[5, 6, 7][: n % 3 + 1] for n in range(6)]
    batch = trainer._batch(folds, prompts, completions)
    whole = trainer._compute_loss(trainer.model, batch, 1)[0].item()
    parts = [trainer._compute_loss(trainer.model, trimmed(batch, torch.tensor([row])), 1)[0].item() for row in range(6)]
    assert whole == pytest.approx(sum(parts), rel=1e-4)


def test_a_state_that_has_outgrown_the_prompt_gives_way_to_the_oracle(tmp_path):
    trainer = make(tmp_path, "base")
    trainer.rollout.own_state_share = 1.0
    trainer.model.train()
    rows = [{"episode": e, "turn": 0, "branch": 0} for e in range(6)]
    folds = trainer.rollout.begin(rows, 0, 0)
    trainer.rollout.finish(folds, ["ADD a: " + "x" * 2000, *["NONE"] * 5])
    trainer._generate_and_score_completions([{**row, "turn": 1} for row in rows])
    assert trainer._metrics["train"]["rollout/overlong"] == [pytest.approx(1 / 6)]
    assert trainer._metrics["train"]["rollout/own_state"] == [pytest.approx(5 / 6)]


@pytest.mark.parametrize(
    ("said", "right", "kept"),
    [
        ([5, 6, 2], [5, 6, 2], 3),
        ([5, 7, 8, 2], [5, 6, 2], 2),
        ([7, 6, 2], [5, 6, 2], 1),
        ([5, 6], [5, 6, 2], 2),
        ([5, 6, 2], [5], 2),
    ],
)
def test_a_sample_is_on_track_up_to_its_first_error(said, right, kept):
    assert on_track(said, right) == kept


def test_right_answers_end_as_the_tokenizer_ends_them(tmp_path):
    """Not with the first of several stop tokens that the model declares: the chat template ends a turn with its tokenizer's."""
    trainer = make(tmp_path, "base")
    own = trainer._tokenizer.eos_token_id
    trainer.eos_token_ids = [own + 1, own]
    assert [trainer._answer(fold)[-1] for fold in GATE[:3]] == [own] * 3


def test_the_loss_may_end_at_the_first_error(tmp_path, monkeypatch):
    rows = [{"episode": e, "turn": 0, "branch": 0} for e in range(6)]
    kept = {}
    for until_error in (False, True):
        trainer = make(tmp_path / str(until_error), "base")
        trainer.until_error = until_error
        folds = trainer.rollout.begin(rows, 0, 0)
        right = [trainer._answer(fold) for fold in folds]
        said = [[*right[0][:2], 9, 9, 9], *right[1:]]
        assert 9 not in right[0]
        monkeypatch.setattr(trainer, "_sample", lambda prompts, said=said: said)
        batch = trainer._generate_and_score_completions(rows)
        kept[until_error] = batch["completion_mask"].sum(1).tolist()
        # What the dialogue goes on from is the whole output.
        assert trainer._metrics["train"]["rollout/exact"] == [pytest.approx(5 / 6)]
        assert batch["num_items_in_batch"] == sum(kept[until_error])
    assert kept[False][0] == 5 and kept[True][0] == 3
    assert kept[False][1:] == kept[True][1:]


def test_branches_are_trained_on_beside_their_lane(tmp_path):
    plain, beside = make(tmp_path / "a", "base"), make(tmp_path / "b", "base", branches=2)
    assert plain.rollout.branches == 0
    first, second = sampled(beside)
    rows = [*first["prompt_ids"], *second["prompt_ids"]]
    assert len(rows) == 6
    for inputs in (first, second):
        # One lane: the state is the same, the last line is not.
        texts = [
            beside._tokenizer.decode(ids[mask.bool()])
            for ids, mask in zip(inputs["prompt_ids"], inputs["prompt_mask"], strict=True)
        ]
        assert len({text.split("\nUser:")[0] for text in texts}) == 1
        assert len(set(texts)) == 3
        ours = beside._compute_loss(beside.model, inputs, 1)[0].item()
        alone = [beside._compute_loss(beside.model, trimmed(inputs, torch.tensor([row])), 1)[0].item() for row in range(3)]
        assert ours == pytest.approx(sum(alone), rel=1e-4)
    assert set(beside.rollout.reached) == {0, 1}


def test_questions_about_one_output_share_its_trunk_in_sampling_and_in_the_loss(tmp_path, monkeypatch):
    packed, shared = [], []

    def hidden(body, rows):
        packed.append(rows)
        return packed_hidden(body, rows)

    def decode(model, rows, alike, *more):
        shared.append(alike)
        return continuations(model, rows, alike, *more)

    monkeypatch.setattr(opd, "packed_hidden", hidden)
    monkeypatch.setattr(opd, "continuations", decode)
    trainer = make(tmp_path, "base", rows="examples")
    for inputs in sampled(trainer):
        assert len(set(inputs["together"].tolist())) == 1
        trainer._compute_loss(trainer.model, inputs, 1)
        lengths = (inputs["prompt_mask"].sum(1) + inputs["completion_mask"].sum(1)).tolist()
        trunk = max(n for n in range(min(lengths)) if len({tuple(row) for row in asked(inputs, n)}) == 1)
        student, teacher = packed[-2:]
        assert student.ids_BT.shape == (1, sum(lengths) - 2 * trunk)
        assert teacher.ids_BT.shape[0] == 1
    assert shared == [[[0, 1, 2], [3, 4, 5]]]


def asked(inputs, tokens):
    """The first tokens of each prompt."""
    return [ids[mask.bool()][:tokens].tolist() for ids, mask in zip(inputs["prompt_ids"], inputs["prompt_mask"], strict=True)]


def test_short_groups_come_first_and_stay_whole():
    lengths, together = [9, 3, 4, 4, 7, 1, 7, 2], [0, 0, 1, 1, 2, 1, 3, 2]
    ones = [[1] * n + [0] * (10 - n) for n in lengths]
    batch = {"prompt_mask": torch.tensor(ones), "completion_mask": torch.ones(8, 1), "together": torch.tensor(together)}
    assert by_length(batch) == [2, 3, 5, 4, 7, 6, 0, 1]


def test_samples_follow_the_students_distribution(tmp_path):
    trainer = make(tmp_path, "base")
    prompts = [trainer._ids(fold.prompt()) for fold in GATE[:2]]
    trainer.args.max_completion_length = 1
    torch.manual_seed(0)
    first = [ids[0] for _ in range(60) for ids in trainer._sample([prompts[0]] * 20 + [prompts[1]])[:20]]
    with torch.no_grad():
        p = trainer.model(torch.tensor([prompts[0]])).logits[0, -1].softmax(-1)
    found = torch.bincount(torch.tensor(first), minlength=len(p)) / len(first)
    assert (found - p).abs().sum() / 2 < 0.25  # total variation; about 0.2 comes from 1,200 draws over 259 ids


# The gate


def test_a_useless_teacher_ends_the_run_before_the_first_step(tmp_path):
    trainer = make(tmp_path, "base")
    with pytest.raises(PreflightError, match="teach the student to write on"):
        trainer.train()
    assert trainer.state.global_step == 0


def test_an_oracle_teacher_passes_the_gate(tmp_path):
    trainer = make(tmp_path, "served", served=Oracle())
    trainer.train()
    gate = trainer.state.log_history[0]
    assert gate["gate/teacher"] == gate["gate/teacher_stops"] == 1.0
    assert gate["gate/student"] < 1.0
    assert trainer.state.global_step == 2


def test_positions_off_by_one_are_found(tmp_path, monkeypatch):
    trainer = make(tmp_path, "served", served=Oracle())
    right = OnPolicyTrainer.completion_hidden
    calls = iter(range(1000))

    def shifted(self, model, inputs):
        hidden = right(self, model, inputs)
        return hidden.roll(1, 0) if next(calls) % 2 else hidden

    monkeypatch.setattr(OnPolicyTrainer, "completion_hidden", shifted)
    with pytest.raises(PreflightError, match="divergence of the student from itself must be 0"):
        trainer.train()


# A served teacher


class Oracle:
    """A scorer that puts almost all mass on what it is shown; counts how often it is asked."""

    endpoints = ("nowhere",)

    def __init__(self):
        self.calls = 0

    def score(self, prompts, completions, k):
        self.calls += 1
        rest = math.log(0.01 / (k - 1))
        others = range(50, 60)
        return [
            [{id: math.log(0.98), **dict.fromkeys([other for other in others if other != id][: k - 1], rest)} for id in ids]
            for ids in completions
        ]


def test_a_served_teacher_is_asked_once_a_step(tmp_path):
    oracle = Oracle()
    trainer = make(tmp_path, "served", served=oracle)
    trainer._gated = True
    trainer.train()
    assert trainer.state.global_step == oracle.calls == 2


def test_right_padding():
    ids, mask = right_padded([[5], [6, 7]], 0)
    assert ids.tolist() == [[5, 0], [6, 7]]
    assert mask.tolist() == [[1, 0], [1, 1]]


@pytest.mark.parametrize(("rows", "passes"), [(5, 4), (18, 16), (8, 4)])
def test_every_pass_has_rows(rows, passes):
    batch = {
        "prompt_ids": torch.zeros(rows, 3),
        "prompt_mask": torch.ones(rows, 3),
        "completion_mask": torch.ones(rows, 2),
        "together": torch.arange(rows) // 2,
    }
    parts = in_passes(batch, passes, False)
    assert len(parts) == passes and all(len(part) for part in parts)
    assert sorted(torch.cat(list(parts)).tolist()) == list(range(rows))
