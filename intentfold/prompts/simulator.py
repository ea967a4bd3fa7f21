"""The simulated user's prompt: the conversation so far, and what the next message has to say."""

from __future__ import annotations

from collections.abc import Sequence

from intentfold.codec.escape import escape
from intentfold.dialogue import Dialogue, Turn

SYSTEM = (
    "You are the user who talks to an assistant. Say what you are told to say as your next message, in your own words: "
    "keep every name, number and value as it is written, leave nothing out and add nothing. Write the message alone."
)
CONTENT = "{messages}Say: {told}"
_REFUSED = "\nThese messages were refused; write another:\n{refused}"
_NAMES = {"user": "You", "assistant": "Assistant", "system": "System"}


def simulator_prompt(dialogue: Dialogue, told: str, refused: Sequence[str] = ()) -> Dialogue:
    """The messages for the user's next turn, which says what `told` says; `refused` are earlier ones and what was wrong."""
    lines = "".join(f"{_NAMES[turn.role]}: {escape(turn.content)}\n" for turn in dialogue)
    again = _REFUSED.format(refused="\n".join(f"- {escape(text)}" for text in refused)) if refused else ""
    return Turn("system", SYSTEM), Turn("user", CONTENT.format(messages=lines, told=escape(told)) + again)
