"""A thought and the answer behind it as text, and a parser that is total on arbitrary text.

Two styles. `think` is that of models whose chat template keeps reasoning (Qwen3, Qwen3.5):

    <think>
    what leads to the answer
    </think>

    the answer

`plain` is for those whose template has none (SmolLM2), in words alone:

    what leads to the answer
    Answer:
    the answer
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Style = Literal["think", "plain"]
STYLES: tuple[Style, ...] = get_args(Style)
OPEN, CLOSE = "<think>", "</think>"
ANSWER = "Answer:"


class ThoughtError(ValueError):
    """A thought that could not be told from its answer."""


@dataclass(frozen=True, slots=True)
class Thinking:
    """What was thought, and the answer that followed."""

    thought: str
    answer: str


def encode_thinking(thinking: Thinking, style: Style) -> str:
    """What a model writes. Raises `ThoughtError` for a thought that is blank or that holds a mark of its end."""
    thought, answer = thinking.thought.strip(), thinking.answer.strip()
    if fault := fault_of(thought, style):
        raise ThoughtError(f"{fault}, got {thought[:200]!r}")
    return f"{thought}\n{ANSWER}\n{answer}" if style == "plain" else f"{OPEN}\n{thought}\n{CLOSE}\n\n{answer}"


def decode_thinking(text: str, style: Style) -> Thinking | None:
    """The thought that comes to an end first and what follows it, for any text whatever; None where none comes to an end.

    Some templates open the thought in the prompt, so that what is written begins inside it.
    """
    if style == "think":
        thought, close, answer = text.partition(CLOSE)
        return Thinking(thought.strip().removeprefix(OPEN).strip(), answer.strip()) if close else None
    lines = text.split("\n")
    ends = next((place for place, line in enumerate(lines) if line.strip() == ANSWER), None)
    return None if ends is None else Thinking("\n".join(lines[:ends]).strip(), "\n".join(lines[ends + 1 :]).strip())


def fault_of(thought: str, style: Style) -> str:
    """Why a thought could not be written in this style, empty where it can."""
    if not thought.strip():
        return "the thought is blank"
    marked = any(mark in thought for mark in (OPEN, CLOSE))
    if style == "plain":
        marked = any(line.strip() == ANSWER for line in thought.split("\n"))
    return "the thought holds a mark of its own end" if marked else ""


def completion_message(thought: str, answer: str, style: Style | None) -> dict[str, str]:
    """The assistant's message, as a chat template takes it: `think` leaves the tags to the template."""
    if style is None:
        return {"role": "assistant", "content": answer}
    text = encode_thinking(Thinking(thought, answer), style)
    if style == "plain":
        return {"role": "assistant", "content": text}
    return {"role": "assistant", "content": answer.strip(), "reasoning_content": thought.strip()}


def with_thought(codec: str, style: Style | None) -> str:
    """The name of a codec whose completions begin with a thought: `delta+plain`; the codec itself for None."""
    return codec if style is None else f"{codec}+{style}"


def style_of(codec: str) -> Style | None:
    """The style of the thought that completions in this codec begin with, None where they begin with none."""
    return next((style for style in STYLES if codec.endswith(f"+{style}")), None)


def answer_codec(codec: str) -> str:
    """The codec of what follows the thought."""
    return codec.removesuffix(f"+{style_of(codec)}")
