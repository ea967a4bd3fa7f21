"""The full-state codec, for comparison with the delta codec: the whole state after the turn, one SET or ADD line per item.

Dependencies are written as `+k`, the k-th line. The edits are recovered with `diff`.
"""

from __future__ import annotations

from intentfold.codec.edits import decode_edits, encode_edits
from intentfold.intent import Edit, IntentState, Rejected, diff, fold_leniently


def encode_state(state: IntentState) -> str:
    """Every item of `state`, dependencies first; `NONE` for the empty state."""
    return encode_edits(diff(IntentState(), state), IntentState())


def decode_state(text: str, state: IntentState) -> tuple[tuple[Edit, ...], tuple[Rejected, ...]]:
    """The edits from `state` to the state that `text` spells, and the lines that could not be read.

    Lines that add nothing are rejected; an item that an unreadable line may have meant is then gone, as it is for
    any reader of a full state.
    """
    edits, unread = decode_edits(text, IntentState())
    additions = [edit for edit in edits if edit.op == "ADD"]
    others = tuple(
        Rejected(f"{edit.op} {edit.id}", "a full state is made of SET and ADD lines") for edit in edits if edit.op != "ADD"
    )
    target, refused = fold_leniently(IntentState(), additions)
    return diff(state, target), (*unread, *others, *refused)
