"""The summariser's prompt: for rolling summaries, compaction and recaps (the history-compressing conditions)."""

from __future__ import annotations

from intentfold.codec.escape import escape
from intentfold.dialogue import Dialogue, Turn

SYSTEM = "Summarise the conversation for the assistant that goes on with it. Write at most {words} words and nothing else."
CONTENT = "{summary}{messages}"
BEFORE = "Summary of what came before:\n{summary}\n\n"
_NAMES = {"user": "User", "assistant": "Agent", "system": "System"}


def summary_prompt(summary: str, messages: Dialogue, words: int) -> Dialogue:
    """The messages for one summary of `messages`, and of an earlier summary where there is one."""
    before = BEFORE.format(summary=escape(summary)) if summary else ""
    lines = "\n".join(f"{_NAMES[turn.role]}: {escape(turn.content)}" for turn in messages)
    return Turn("system", SYSTEM.format(words=words)), Turn("user", CONTENT.format(summary=before, messages=lines))
