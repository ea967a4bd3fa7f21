"""The prompt of a role that thinks before it answers, and that of the teacher who writes such thoughts.

Both are a role's own prompt with a word more: what the role is shown, and how it answers, stay as they are.
"""

from __future__ import annotations

from dataclasses import replace

from intentfold.codec.escape import defuse
from intentfold.codec.thinking import ANSWER, CLOSE, OPEN, Style
from intentfold.dialogue import Dialogue, Turn
from intentfold.records import content_hash

# Version of how what is shown is made harmless, and of how thought and answer are joined.
LINES = "1"
# A template that keeps reasoning needs no word: it opens the thought itself.
THINK: dict[Style, str] = {"think": "", "plain": f" Think first, turn by turn; then write `{ANSWER}`, and below it the answer."}
TEACH = (
    " First write how you get to the answer: go through what was said turn by turn, each time what is added, replaced or "
    f"withdrawn; then list what holds now. Then write a line `{ANSWER}` and below it the answer alone, in the form asked for."
)
HINT = (
    "\n\n[A note for you alone]\n{hint}\n[End of the note. Write as one who found this out from the conversation; do not speak "
    "of the note.]"
)
# By these a thought betrays what its writer was shown.
BETRAYALS = ("the note", "a note for me", "was told the answer", "given the right answer")


def thinking_prompt(prompt: Dialogue, style: Style) -> Dialogue:
    """The role's prompt, asked to think first. Nothing in it can begin a token of the template, such as `<think>`."""
    return _told(prompt, THINK[style])


def teacher_prompt(prompt: Dialogue, hint: str, *, writes: bool) -> Dialogue:
    """The role's prompt for a teacher: with a `hint` (privileged; empty for none), and asked to write its way to the answer.

    A teacher that thinks of its own accord (not `writes`) is asked for the answer alone: its thought is the way.
    """
    told = _told(prompt, TEACH if writes else "")
    if not hint:
        return told
    return (*told[:-1], replace(told[-1], content=told[-1].content + HINT.format(hint=defuse(hint))))


def betrays(thought: str) -> bool:
    """Whether a thought speaks of what its writer alone was shown."""
    said = " ".join(thought.casefold().split())
    return any(words in said for words in BETRAYALS)


def thinking_template_hash(style: Style) -> str:
    """Identity of what thinking adds to a role's template."""
    return content_hash("\x00".join((LINES, THINK[style], *((OPEN, CLOSE) if style == "think" else (ANSWER,)))))


def _told(prompt: Dialogue, words: str) -> Dialogue:
    harmless = tuple(replace(turn, content=defuse(turn.content)) for turn in prompt)
    if not words:
        return harmless
    if harmless and harmless[0].role == "system":
        return (replace(harmless[0], content=_joined(harmless[0].content, words)), *harmless[1:])
    return (Turn("system", words.strip()), *harmless)


def _joined(system: str, words: str) -> str:
    """The words behind the first line: what a task gives its solver stands below."""
    first, newline, rest = system.partition("\n")
    return f"{first}{words}{newline}{rest}"
