"""Each proof before the first step fails on what it is there for."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("torch")

from intentfold import models
from intentfold.example import trl_row
from intentfold.training import preflight
from intentfold.training.preflight import PreflightError, prompt_ids
from intentfold.training.rollouts import oracle_folds
from tests.tiny import CHATML, tiny_episodes, tiny_examples, tiny_model, tiny_tokenizer

TOKENIZER = tiny_tokenizer()
STOP = TOKENIZER.eos_token_id


def a_row():
    """A row as it goes into TRL, and what should come out of it."""
    row = {"id": "e:0", "chat_template_kwargs": {}, **trl_row(tiny_examples()[0])}
    prompt = prompt_ids(TOKENIZER, row["prompt"], {})
    said = [*TOKENIZER(row["completion"][0]["content"])["input_ids"], STOP]
    return row, {"input_ids": prompt + said, "labels": [-100] * len(prompt) + said}, len(prompt)


def check(row, made, max_length=1024):
    preflight.check_rows([row], [made], TOKENIZER, [STOP], max_length)


def test_a_right_row_passes():
    row, made, _ = a_row()
    check(row, made)


def test_rows_that_train_something_else_are_refused():
    row, made, prompt = a_row()
    ids, labels = made["input_ids"], made["labels"]
    with pytest.raises(PreflightError, match="prompt's ids in training are not those at inference"):
        check(row, {"input_ids": ids[1:], "labels": labels[1:]})
    with pytest.raises(PreflightError, match="loss must cover the completion"):
        check(row, {"input_ids": ids, "labels": [-100] * len(ids)})
    with pytest.raises(PreflightError, match="loss must cover the completion"):
        check(row, {"input_ids": ids, "labels": ids})
    with pytest.raises(PreflightError, match="no stop token"):
        check(row, {"input_ids": ids[:-1], "labels": labels[:-1]})
    with pytest.raises(PreflightError, match="the completion reads"):
        check(row, {"input_ids": [*ids[:-2], STOP], "labels": [*labels[:-2], STOP]})
    with pytest.raises(PreflightError, match=rf"row e:0: {len(ids)} tokens \(prompt {prompt}\), more than max_length {prompt}"):
        check(row, made, max_length=prompt)
    with pytest.raises(PreflightError, match="1 rows went in and 0 came out"):
        preflight.check_rows([row], [], TOKENIZER, [STOP], 1024)


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        (None, "no chat template"),
        (CHATML.replace("{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}", ""), "no generation prompt"),
        ("{% if add_generation_prompt %}Reply:{% endif %}{{ messages[0]['content'] }}", "does not come last"),
    ],
)
def test_templates_that_cannot_ask_are_refused(template, reason):
    with pytest.raises(PreflightError, match=reason):
        preflight.check_template(tiny_tokenizer(template), {})
    preflight.check_template(TOKENIZER, {})


def test_small_datasets_are_refused():
    preflight.check_size(8, 8, "data")
    with pytest.raises(PreflightError, match=r"data: 7 rows are fewer than one optimizer step takes \(8\)"):
        preflight.check_size(7, 8, "data")


def test_other_templates_are_refused():
    examples = tiny_examples()
    old = replace(examples[0], provenance=replace(examples[0].provenance, template="0000"))
    with pytest.raises(PreflightError, match="different templates"):
        preflight.check_one_template([*examples, old])
    with pytest.raises(PreflightError, match="rendered with template 0000, the runtime renders with"):
        preflight.check_one_template([old])
    assert preflight.check_one_template(examples) == examples[0].provenance.template


def test_vocabularies_must_be_equal():
    other = tiny_tokenizer()
    other.add_tokens(["<new>"])
    preflight.check_vocabulary(TOKENIZER, tiny_tokenizer())
    with pytest.raises(PreflightError, match=r"different vocabularies.*<new>"):
        preflight.check_vocabulary(TOKENIZER, other)


def test_prompts_must_leave_room():
    short, long = ([{"role": "user", "content": "seats: 3 " * times}] for times in (20, 60))
    tokens = len(preflight.prompt_ids(TOKENIZER, long, {}))
    assert tokens > len(preflight.prompt_ids(TOKENIZER, short, {}))
    preflight.check_prompt_lengths(TOKENIZER, [("e:0", short), ("e:1", long)], {}, tokens)
    with pytest.raises(PreflightError, match=f"e:1: the prompt has {tokens} tokens, more than the {tokens - 1}"):
        preflight.check_prompt_lengths(TOKENIZER, [("e:0", short), ("e:1", long)], {}, tokens - 1)


def test_prompts_too_short_to_be_too_long_are_not_tokenised(monkeypatch):
    def never(*_, **__):
        raise AssertionError("tokenised")

    monkeypatch.setattr(preflight, "prompt_ids", never)
    short = [{"role": "user", "content": "seats: 3"}]
    preflight.check_prompt_lengths(TOKENIZER, [("e:0", short)], {}, 1024)
    with pytest.raises(AssertionError, match="tokenised"):
        preflight.check_prompt_lengths(TOKENIZER, [("e:0", [{"role": "user", "content": "seats: 3" * 200}])], {}, 1024)


def test_what_the_chat_template_says_by_itself_counts():
    wordy = tiny_tokenizer()
    wordy.chat_template = "{{ 'You answer briefly. ' * 100 }}" + wordy.chat_template
    with pytest.raises(PreflightError, match="e:0: the prompt has"):
        preflight.check_prompt_lengths(wordy, [("e:0", [{"role": "user", "content": "seats: 3"}])], {}, 256)


def test_adapters_must_sit_on_the_language_model(tmp_path):
    from peft import LoraConfig, get_peft_model

    base = tiny_model(tmp_path)
    adapted = get_peft_model(models.load(base)[0], LoraConfig(target_modules=["q_proj"]))
    preflight.check_adapter(adapted)
    for parameter in adapted.parameters():
        parameter.requires_grad = False
    with pytest.raises(PreflightError, match="nothing in the model is trainable"):
        preflight.check_adapter(adapted)
    on_head = get_peft_model(models.load(base)[0], LoraConfig(target_modules=["q_proj", "lm_head"], ensure_weight_tying=True))
    with pytest.raises(PreflightError, match="lm_head"):
        preflight.check_adapter(on_head)


def test_the_gate_lets_only_a_better_teacher_that_stops_through():
    right = [[5, 6, STOP], [7, STOP]]
    scores = preflight.check_teacher(right, [[5, 6, STOP], [8, STOP]], right)
    assert scores == {"teacher": 1.0, "student": 0.5, "teacher_stops": 1.0}
    with pytest.raises(PreflightError, match="nothing to learn from it"):
        preflight.check_teacher(right, right, right)
    with pytest.raises(PreflightError, match="teach the student to write on"):
        preflight.check_teacher([[5, 6, 9], [7, STOP]], [[0, 0, 0], [0, 0]], right)
    with pytest.raises(PreflightError, match="no rows"):
        preflight.check_teacher([], [], [])


def whole_history(count=2):
    return oracle_folds(tiny_episodes(count, turns=3, branches=1), "delta", None, branches=1)


def test_the_turns_of_a_dialogue_share_its_trunk():
    preflight.check_trunks(TOKENIZER, whole_history(), {})
    preflight.check_trunks(TOKENIZER, [], {})
    with pytest.raises(PreflightError, match="tiny-0:0: expected the dialogue as it is"):
        preflight.check_trunks(TOKENIZER, oracle_folds(tiny_episodes(1), "delta", 3), {})
    shouting = tiny_tokenizer(CHATML.replace("message['content']", "(message['content'] | upper)"))
    with pytest.raises(PreflightError, match="tiny-0:0: expected the dialogue as it is"):
        preflight.check_trunks(shouting, whole_history(), {})


def test_a_tokenizer_that_joins_trunk_and_branch_is_told():
    joining = tiny_tokenizer()
    joining.add_tokens(["\nState"])
    with pytest.raises(
        PreflightError, match=r"tiny-0:0: the prompt leaves the trunk at token \d+ of \d+, '\\nState:\\n' for '\\n'"
    ):
        preflight.check_trunks(joining, whole_history(), {})
