"""The annotator's prompt: what one turn of a person changes in what they want, each change with their own words for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from intentfold.codec.escape import escape
from intentfold.codec.state import state_lines
from intentfold.dialogue import Dialogue, Turn
from intentfold.intent import IntentState
from intentfold.records import RECORD

SYSTEM = (
    "You keep the list of what a user wants from an assistant. Write the changes that the user's last turn makes to the list, "
    "and no others. A change is one line: `SET name: value` for a requirement that is new or has a new value, `DELETE name` for "
    "one that is withdrawn, `REPRIORITIZE name: must`, `preferred` or `optional`. Take names that stand on the list as they are; "
    "take values as they were said. With each change goes a quote: the words of the user's last turn that say so, to the letter. "
    "Answer with one "
    'JSON object: {"edits": [{"line": "…", "quote": "…"}]}; an empty list where nothing changes.'
)
_CONTENT = "The list:\n{state}\n\nAssistant: {reply}\nUser: {user}{refused}"
_REFUSED = "\n\nThese answers were refused:\n{refused}"


@dataclass(frozen=True, slots=True)
class QuotedEdit:
    """One line of the delta codec, and the user's words behind it."""

    __pydantic_config__ = RECORD

    line: str
    quote: str


@dataclass(frozen=True, slots=True)
class Annotation:
    """What one turn changes."""

    __pydantic_config__ = RECORD

    edits: tuple[QuotedEdit, ...]


def annotator_prompt(state: IntentState, reply: str, user: str, refused: Sequence[str] = ()) -> Dialogue:
    """The messages for one turn: the list before it, what the assistant said last, and what was refused."""
    again = _REFUSED.format(refused="\n".join(f"- {escape(text)}" for text in refused)) if refused else ""
    shown = _CONTENT.format(state=state_lines(state), reply=escape(reply) or "-", user=escape(user), refused=again)
    return Turn("system", SYSTEM), Turn("user", shown)
