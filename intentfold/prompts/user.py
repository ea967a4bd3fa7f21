"""The simulated user's prompts: wording what was selected, and reading which wishes a text is about (LiveAsset, B.2)."""

from __future__ import annotations

from collections.abc import Sequence

from intentfold.codec.escape import escape
from intentfold.dialogue import Dialogue, Output, Turn
from intentfold.prompts.checker import checker_trunk

SAY = (
    "You are the user of an agent. Write your next message to it, in your own words: raise every point below and nothing else. "
    "Add no wish, no praise and no advice. Keep every name, number and code. Where you quote the result, quote it word for word "
    "between quotation marks. Write the message alone."
)
_SAY = "{shown}Points:\n{points}{refused}"
_REFUSED = "\nThese messages were refused; write another:\n{refused}"
READ = (
    "Which of the wishes does the text raise, by stating them or by pointing at what goes against them? Write their numbers "
    "separated by spaces. Add 0 where it asks for something that is none of them. Write NONE where it raises nothing."
)
_READ = "Wishes:\n{wishes}\nText: {text}"


def user_prompt(dialogue: Dialogue, output: Output, points: Sequence[str], refused: Sequence[str] = ()) -> Dialogue:
    """The messages for wording one message about `output`, the agent's answer to `dialogue`.

    `points` are what it must raise; `refused` are messages that were tried before, each with what was wrong.
    """
    again = _REFUSED.format(refused=_lines(refused)) if refused else ""
    shown = checker_trunk(dialogue, output)
    return Turn("system", SAY), Turn("user", _SAY.format(shown=shown, points=_lines(points), refused=again))


def reader_prompt(text: str, wishes: Sequence[str]) -> Dialogue:
    """The messages for reading which of `wishes`, numbered from 1, a text raises."""
    shown = "\n".join(f"{number} {escape(wish)}" for number, wish in enumerate(wishes, start=1))
    return Turn("system", READ), Turn("user", _READ.format(wishes=shown, text=escape(text)))


def _lines(texts: Sequence[str]) -> str:
    return "\n".join(f"- {escape(text)}" for text in texts)
