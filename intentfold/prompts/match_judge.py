"""The matching judge's prompt: numbered requirements on both sides, without their priorities (IntentDelta, C.4)."""

from __future__ import annotations

from collections.abc import Sequence

from intentfold.codec.escape import escape
from intentfold.dialogue import Turn

SYSTEM = (
    "Pair each predicted requirement with the gold requirement that says the same: the same value, for the same person, "
    "place or time. Wording and field names may differ. Use no requirement twice. "
    "Write one pair a line as `predicted-gold`, such as `2-1`; write NONE if nothing pairs."
)


def match_judge_prompt(
    predicted: Sequence[tuple[str, str, str | None]], gold: Sequence[tuple[str, str, str | None]]
) -> tuple[Turn, ...]:
    """The messages for one question; a requirement is (field, value, scope)."""
    return Turn("system", SYSTEM), Turn("user", f"Predicted:\n{_lines(predicted)}\nGold:\n{_lines(gold)}")


def _lines(requirements: Sequence[tuple[str, str, str | None]]) -> str:
    return "\n".join(
        f"{number} {escape(field)}: {escape(value)}{f' (for {escape(scope)})' if scope else ''}"
        for number, (field, value, scope) in enumerate(requirements, start=1)
    )
