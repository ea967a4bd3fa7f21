"""Thoughts in training are what the model's template keeps and what serving reads back; else it is an error that says so."""

from __future__ import annotations

from importlib.resources import files

import pytest

pytest.importorskip("torch")

from intentfold.codec.thinking import Style, Thinking, decode_thinking
from intentfold.example import trl_row
from intentfold.graders import grade
from intentfold.mining.rationales import agent_case, scripted_drafts, sift
from intentfold.training import preflight
from intentfold.training.preflight import PreflightError, prompt_ids
from tests.episodes import house
from tests.tiny import CHATML, tiny_tokenizer


def tokenizer(name: str):
    """The byte tokenizer with a published chat template, or with the plain one."""
    if name == "chatml":
        return tiny_tokenizer(CHATML)
    return tiny_tokenizer((files("trl") / "chat_templates" / f"{name}.jinja").read_text())


@pytest.mark.parametrize(
    ("name", "style", "kwargs"),
    [
        ("chatml", "plain", {}),
        ("qwen3", "think", {"enable_thinking": True}),
        ("qwen3", "plain", {"enable_thinking": False}),
        ("qwen3_5_think", "think", {"enable_thinking": True}),
        ("qwen3_5_think", "think", {}),
        ("qwen3_5_nothink", "think", {"enable_thinking": True}),
    ],
)
def test_what_fits_passes(name: str, style: Style, kwargs: dict[str, bool]) -> None:
    preflight.check_thinking(tokenizer(name), kwargs, style)


@pytest.mark.parametrize(
    ("name", "style", "kwargs", "reason"),
    [
        ("chatml", "think", {}, "the chat template drops the reasoning of a message: mine with style plain"),
        ("qwen3", "think", {"enable_thinking": False}, r"with chat_template_kwargs \{enable_thinking: true\}"),
        ("qwen3_5_think", "think", {"enable_thinking": False}, "ends in a thought that is over"),
        ("qwen3_5_nothink", "think", {}, "ends in a thought that is over"),
        ("qwen3_5_think", "plain", {}, "opens a thought of its own"),
    ],
)
def test_what_does_not_is_said_clearly(name: str, style: Style, kwargs: dict[str, bool], reason: str) -> None:
    with pytest.raises(PreflightError, match=reason):
        preflight.check_thinking(tokenizer(name), kwargs, style)


@pytest.mark.parametrize(("name", "style"), [("chatml", "plain"), ("qwen3", "think"), ("qwen3_5_think", "think")])
def test_a_row_is_its_prompt_at_inference_and_reads_back_as_thought_and_answer(name: str, style: Style) -> None:
    known = tokenizer(name)
    case = agent_case(house(), "drift", grade)
    [one] = sift(case, scripted_drafts([case]), style, 1)[0]
    row = {"id": "e:0", "chat_template_kwargs": {}, **trl_row(one)}
    prompt = prompt_ids(known, row["prompt"], {})
    whole = prompt_ids(known, [*row["prompt"], *row["completion"]], {}, generation_prompt=False)
    made = {"input_ids": whole, "labels": [-100] * len(prompt) + whole[len(prompt) :]}
    preflight.check_rows([row], [made], known, [known.eos_token_id], 10_000)
    written = known.decode(whole[len(prompt) : whole.index(known.eos_token_id, len(prompt))], skip_special_tokens=True)
    assert decode_thinking(written, style) == Thinking(one.thought, one.completion)
    lost = {**row, "completion": [{**row["completion"][0], "reasoning_content": "other"}]} if style == "think" else None
    if lost is not None:
        with pytest.raises(PreflightError, match="the completion reads"):
            preflight.check_rows([lost], [made], known, [known.eos_token_id], 10_000)
