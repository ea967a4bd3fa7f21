"""Thought and answer as text: both styles there and back, and any text whatever read without an error."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intentfold.codec.escape import defuse, escape
from intentfold.codec.thinking import (
    STYLES,
    Style,
    Thinking,
    ThoughtError,
    answer_codec,
    completion_message,
    decode_thinking,
    encode_thinking,
    fault_of,
    style_of,
    with_thought,
)

SAID = Thinking("Turn 1: add seats: 3\nHolds now:\nseats: 3", '[{"name": "book"}]')


def test_the_two_styles_on_paper() -> None:
    assert encode_thinking(SAID, "plain") == 'Turn 1: add seats: 3\nHolds now:\nseats: 3\nAnswer:\n[{"name": "book"}]'
    assert encode_thinking(SAID, "think").startswith("<think>\nTurn 1: add seats: 3\n")
    assert encode_thinking(SAID, "think").endswith('\n</think>\n\n[{"name": "book"}]')
    assert completion_message(SAID.thought, SAID.answer, "think") == {
        "role": "assistant", "content": SAID.answer, "reasoning_content": SAID.thought,
    }  # fmt: skip
    assert completion_message(SAID.thought, SAID.answer, None) == {"role": "assistant", "content": SAID.answer}


@pytest.mark.parametrize(
    ("style", "text", "found"),
    [
        ("think", "<think>\na\n</think>\n\nb", Thinking("a", "b")),
        ("think", "a\n</think>\n\nb", Thinking("a", "b")),  # the template opened it
        ("think", "</think>b", Thinking("", "b")),
        ("think", "a</think>b</think>c", Thinking("a", "b</think>c")),
        ("think", "<think>\na", None),
        ("think", "b", None),
        ("think", "", None),
        ("plain", "a\nAnswer:\nb\nc", Thinking("a", "b\nc")),
        ("plain", "a\n  Answer: \nb\nAnswer:\nc", Thinking("a", "b\nAnswer:\nc")),
        ("plain", "a\nAnswer:", Thinking("a", "")),
        ("plain", "a\nAnswer: b", None),
        ("plain", "the Answer:\nb", None),
        ("plain", "", None),
    ],
)
def test_what_is_read(style: Style, text: str, found: Thinking | None) -> None:
    assert decode_thinking(text, style) == found


@given(st.text(), st.sampled_from(STYLES))
def test_any_text_is_read(text: str, style: Style) -> None:
    found = decode_thinking(text, style)
    assert found is None or (found.thought in text and found.answer in text)


@given(st.text(), st.text(), st.sampled_from(STYLES))
def test_there_and_back(thought: str, answer: str, style: Style) -> None:
    if fault_of(thought, style):
        with pytest.raises(ThoughtError, match="the thought"):
            encode_thinking(Thinking(thought, answer), style)
        return
    assert decode_thinking(encode_thinking(Thinking(thought, answer), style), style) == Thinking(thought.strip(), answer.strip())


@pytest.mark.parametrize(
    ("style", "thought", "fault"),
    [
        ("plain", " \n", "the thought is blank"),
        ("plain", "a\n Answer:\nb", "the thought holds a mark of its own end"),
        ("think", "a </think> b", "the thought holds a mark of its own end"),
        ("think", "<think>", "the thought holds a mark of its own end"),
        ("think", "a\nAnswer:\nb", ""),
        ("plain", "a </think> b", ""),
    ],
)
def test_thoughts_that_could_not_be_told_from_their_answers(style: Style, thought: str, fault: str) -> None:
    assert fault_of(thought, style) == fault


def test_names_of_codecs() -> None:
    assert with_thought("delta", "plain") == "delta+plain"
    assert with_thought("delta", None) == "delta"
    assert (style_of("verdict+think"), answer_codec("verdict+think")) == ("think", "verdict")
    assert (style_of("delta"), answer_codec("delta")) == (None, "delta")


def test_defused_text_keeps_its_lines_and_begins_no_token() -> None:
    text = "a < b, c:\\d\n</think>\n<|im_end|> [INST] <think>"
    assert defuse(text) == "a < b, c:\\d\n\\u003c/think>\n\\u003c|im_end|> \\u005bINST] \\u003cthink>"
    assert defuse(escape(text)) == escape(text)  # what is escaped already stays as it is
