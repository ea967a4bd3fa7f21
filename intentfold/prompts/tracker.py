"""The tracker's prompt: what it sees of a dialogue before it writes edits (design D1).

What is shared between the turns of a dialogue stands first, what varies last (D5). Text from the dialogue is
escaped to one line each, so that none of it can pass for a part of the template or a chat-template token.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from intentfold.codec.edits import encode_edits
from intentfold.codec.escape import escape
from intentfold.codec.full import encode_state
from intentfold.codec.state import LINES, retired_lines, state_lines
from intentfold.dialogue import Dialogue, Turn
from intentfold.intent import Edit, IntentState, fold
from intentfold.records import content_hash

Codec = Literal["delta", "full"]
# The user's turn before, the agent's reply, the user's turn: what "scratch that" needs to be understood.
WINDOW = 3
SYSTEM = {"delta": "Write the edits to the state.", "full": "Write the new state."}
_LAYOUT = "{system}\x00{history}State:\n{state}\n{retired}{recent}{privileged}"
_NAMES = {"user": "User", "assistant": "Agent", "system": "System"}


def tracker_prompt(
    state: IntentState,
    dialogue: Dialogue,
    *,
    codec: Codec = "delta",
    window: int | None = WINDOW,
    privileged: Sequence[Edit] | None = None,
) -> tuple[Turn, ...]:
    """The messages for one fold. `dialogue` ends with the user's turn to be folded.

    `window` is how many of its last messages are shown beside the state; None shows all.
    `privileged` puts the right edits into the prompt, for a self-teacher.
    """
    if not dialogue or dialogue[-1].role != "user":
        raise ValueError("the dialogue to fold must end with a user turn")
    if window is not None and window < 1:
        raise ValueError(f"window must be at least 1 or None, got {window}")
    recent = dialogue[-(WINDOW if window is None else window) :]
    history = dialogue[: -len(recent)] if window is None else ()
    right = "" if privileged is None else f"\nRight answer:\n{tracker_completion(state, privileged, codec)}"
    content = _LAYOUT.split("\x00")[1].format(
        history="".join(f"{line}\n" for line in _lines(history)),
        state=state_lines(state),
        retired=f"Retired:\n{retired_lines(state)}\n" if state.retired else "",
        recent="\n".join(_lines(recent)),
        privileged=right,
    )
    return Turn("system", SYSTEM[codec]), Turn("user", content)


def tracker_completion(state: IntentState, edits: Sequence[Edit], codec: Codec) -> str:
    """What the tracker should write: the edits, or the whole state after them."""
    return encode_edits(edits, state) if codec == "delta" else encode_state(fold(state, edits))


def tracker_template_hash(codec: Codec) -> str:
    """Identity of the template; it travels in every example and adapter."""
    return content_hash("\x00".join((_LAYOUT, SYSTEM[codec], LINES)))


def _lines(dialogue: Dialogue) -> list[str]:
    return [f"{_NAMES[turn.role]}: {escape(turn.content)}" for turn in dialogue]
