"""The simulated user's prompt: the conversation so far, and what the next message has to say."""

from __future__ import annotations

from intentfold.codec.escape import escape
from intentfold.dialogue import Dialogue, Turn

SYSTEM = (
    "You are the user who talks to an assistant. Say what you are told to say as your next message, in your own words: "
    "keep every name, number and value as it is written, leave nothing out and add nothing. Write the message alone."
)
CONTENT = "{messages}Say: {told}"
_NAMES = {"user": "You", "assistant": "Assistant", "system": "System"}


def simulator_prompt(dialogue: Dialogue, told: str) -> Dialogue:
    """The messages for the user's next turn, which says what `told` says."""
    lines = "".join(f"{_NAMES[turn.role]}: {escape(turn.content)}\n" for turn in dialogue)
    return Turn("system", SYSTEM), Turn("user", CONTENT.format(messages=lines, told=escape(told)))
