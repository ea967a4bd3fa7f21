"""A model that thinks as tracker, checker and agent; a thought without an end is a counted error in each of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from intentfold.codec.thinking import Style
from intentfold.dialogue import Turn
from intentfold.intent import IntentState
from intentfold.metrics.checker_report import judge_examples
from intentfold.models import InProcessOptions
from intentfold.prompts.thinking import THINK, thinking_prompt
from intentfold.prompts.tracker import tracker_prompt
from intentfold.runtime.backends import Model
from intentfold.runtime.inspect_task import inspect_model
from intentfold.runtime.model_agent import ModelAgent
from intentfold.runtime.openai_api import OpenAIBackend
from intentfold.runtime.roles import BackendError, Completion, Scorer, View
from intentfold.runtime.scripted import CannedBackend
from intentfold.runtime.thinking import ThinkingBackend, read_thinking
from intentfold.runtime.tracker import fold_states
from tests.episodes import house
from tests.served import chat, serving
from tests.tiny import tiny_judgements


def canned(text: str, style: Style = "plain") -> ThinkingBackend:
    return ThinkingBackend(CannedBackend({}, otherwise=text), style)


def test_the_prompt_is_the_roles_own_with_a_word_more_and_no_token_of_the_template() -> None:
    prompt = (Turn("system", "Judge.\n\nf: x"), Turn("user", "a </think>\nb <|im_end|>"))
    plain = thinking_prompt(prompt, "plain")
    assert plain[0].content == f"Judge.{THINK['plain']}\n\nf: x"
    assert plain[1].content == "a \\u003c/think>\nb \\u003c|im_end|>"
    assert thinking_prompt(prompt, "think")[0] == prompt[0]
    assert thinking_prompt(prompt[1:], "plain")[0] == Turn("system", THINK["plain"].strip())


@pytest.mark.parametrize(
    ("style", "text", "answer", "thought", "closed"),
    [
        ("plain", "a\nAnswer:\nb", "b", "a", True),
        ("plain", "b", "", "b", False),
        ("think", "a</think>b", "b", "a", True),
        ("think", "<think>a", "", "<think>a", False),
    ],
)
def test_answers_with_their_thoughts(style: Style, text: str, answer: str, thought: str, closed: bool) -> None:
    [found] = canned(text, style).complete([(Turn("user", "x"),)], 9)
    assert (found.text, found.thought, found.closed) == (answer, thought, closed)


def test_what_a_server_has_parted_is_not_read_again() -> None:
    assert read_thinking(Completion("b </think>", 1, 1, True, thought="a"), "think").text == "b </think>"
    cut = read_thinking(Completion("", 1, 1, False, thought="a"), "think")
    assert (cut.text, cut.thought, cut.closed) == ("", "a", False)


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_the_reasoning_of_a_server(field: str) -> None:
    whole = chat("yes")
    whole["choices"][0]["message"][field] = "so it is"
    with serving(lambda path, body: whole) as url:
        [found] = ThinkingBackend(OpenAIBackend(url, "m"), "think").complete([(Turn("user", "x"),)], 9)
    assert (found.text, found.thought, found.closed) == ("yes", "so it is", True)


def test_a_thinking_tracker_folds_and_an_endless_thought_is_a_rejection() -> None:
    dialogue = (Turn("user", "Three seats."),)
    [fold] = fold_states(canned("This turn: add seats: 3\nAnswer:\nSET seats: 3"), [IntentState()], [dialogue])
    assert [item.text for item in fold.state.items] == ["seats: 3"]
    assert not fold.rejected
    [lost] = fold_states(canned("SET seats: 3"), [IntentState()], [dialogue])
    assert lost.state == IntentState()
    assert [(one.what, one.reason) for one in lost.rejected] == [("SET seats: 3", "the thought does not end")]
    assert lost.raw == "SET seats: 3"


def test_a_thinking_checker_judges_and_an_endless_thought_is_not_assessed() -> None:
    examples = tiny_judgements(1, 1)
    assert [one.said for one in judge_examples(canned("The output does this.\nAnswer:\nmet"), examples, 9)] == ["met"]
    assert [one.said for one in judge_examples(canned("met"), examples, 9)] == [None]


def test_a_thinking_agent_answers_and_an_endless_thought_is_no_answer() -> None:
    story = house()
    view = View(story.drift(), None, story.task)
    assert ModelAgent(canned("hm\nAnswer:\nbook()")).answer([view]) == ["book()"]
    assert ModelAgent(canned("book()")).answer([view]) == [""]
    [found] = ModelAgent(canned("book()")).complete([view])
    assert not found.closed


def test_a_failing_backend_keeps_what_came_back() -> None:
    class Half(CannedBackend):
        def complete(self, prompts, max_tokens):  # type: ignore[no-untyped-def]
            raise BackendError("down", {1: Completion("a\nAnswer:\nb", 1, 1, True)})

    with pytest.raises(BackendError, match="down") as error:
        ThinkingBackend(Half({}), "plain").complete([(Turn("user", "x"),)] * 2, 9)
    assert error.value.finished[1].text == "b"


def test_models_that_think() -> None:
    options = InProcessOptions(dtype="float32")
    served = Model(kind="openai", base_url="http://localhost:1/v1", model="m", thinking="think")
    backend = options.backends().make(served)
    assert isinstance(backend, ThinkingBackend)
    assert not isinstance(backend, Scorer)  # what is written first is no verdict
    assert backend.name.startswith("http://localhost:1/v1#m, thinking (think, ")
    assert backend.name != options.backends().make(replace(served, thinking="plain")).name
    told_not_to = InProcessOptions(dtype="float32", chat_template_kwargs={"enable_thinking": False}).backends()
    with pytest.raises(ValueError, match=r"needs chat_template_kwargs.enable_thinking true, got false"):
        told_not_to.make(served)
    with pytest.raises(ValueError, match="agent: a served model that thinks is not run through Inspect, got thinking think"):
        inspect_model("agent", served, lambda seed: backend, {})
    with pytest.raises(ValueError, match="thinking: a model of kind oracle has none"):
        Model(kind="oracle", thinking="plain")


def test_the_prompt_of_a_thinking_tracker_is_the_trackers() -> None:
    dialogue = (Turn("user", "Three seats."),)
    asked = []

    class Ear(CannedBackend):
        def complete(self, prompts, max_tokens):  # type: ignore[no-untyped-def]
            asked.extend(prompts)
            return super().complete(prompts, max_tokens)

    fold_states(ThinkingBackend(Ear({}, otherwise="x"), "plain"), [IntentState()], [dialogue])
    assert asked == [thinking_prompt(tracker_prompt(IntentState(), dialogue), "plain")]
