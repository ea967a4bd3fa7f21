"""The tracker's prompt: what it sees of a dialogue before it writes edits (design D1).

What is shared between the turns of a dialogue stands first, what varies last (D5): with the whole history the prompt of
a turn begins with that of the turn before, but for its state. Text from the dialogue is escaped to one line each, so
that none of it can pass for a part of the template or a chat-template token.
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
# The hashes of adapters hold these strings to the letter; nothing stands in {history} of a window.
_LAYOUT = "{system}\x00{history}State:\n{state}\n{retired}{recent}{privileged}"
_WHOLE = "{system}\x00{history}State:\n{state}{retired}{privileged}"
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

    `window` is how many of its last messages are shown behind the state; None shows all, before the state.
    `privileged` puts the right edits into the prompt, for a self-teacher.
    """
    if not dialogue or dialogue[-1].role != "user":
        raise ValueError("the dialogue to fold must end with a user turn")
    if window is not None and window < 1:
        raise ValueError(f"window must be at least 1 or None, got {window}")
    right = "" if privileged is None else f"\nRight answer:\n{tracker_completion(state, privileged, codec)}"
    retired = f"Retired:\n{retired_lines(state)}" if state.retired else ""
    if window is None:
        layout, history, recent = _WHOLE, trunk(dialogue), ""
        retired = retired and f"\n{retired}"
    else:
        layout, history, recent = _LAYOUT, "", "\n".join(_lines(dialogue[-window:]))
        retired = retired and f"{retired}\n"
    content = layout.split("\x00")[1].format(
        history=history, state=state_lines(state), retired=retired, recent=recent, privileged=right
    )
    return Turn("system", SYSTEM[codec]), Turn("user", content)


def tracker_completion(state: IntentState, edits: Sequence[Edit], codec: Codec) -> str:
    """What the tracker should write: the edits, or the whole state after them."""
    return encode_edits(edits, state) if codec == "delta" else encode_state(fold(state, edits))


def trunk(dialogue: Dialogue) -> str:
    """What every whole-history prompt of the dialogue begins its last message with, whatever the state is."""
    return "".join(f"{line}\n" for line in _lines(dialogue))


def trunk_of(content: str) -> str:
    """The trunk of a prompt's last message, empty where it shows a window: no line of a dialogue reads "State:"."""
    return content[: content.index("State:\n")] if content.startswith("State:\n") else content[: content.index("\nState:\n") + 1]


def tracker_template_hash(codec: Codec, window: int | None = WINDOW) -> str:
    """Identity of the template; it travels in every example and adapter. One for all windows, another for the whole history."""
    return content_hash("\x00".join((_WHOLE if window is None else _LAYOUT, SYSTEM[codec], LINES)))


def _lines(dialogue: Dialogue) -> list[str]:
    return [f"{_NAMES[turn.role]}: {escape(turn.content)}" for turn in dialogue]
