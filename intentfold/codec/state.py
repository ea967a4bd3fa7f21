"""An intent state as the lines that a tracker or an agent reads.

1 destination city: Lisbon
2 seats: 3 (must; for Ana)
3 total nights: 4 [1,2] conclusion
"""

from __future__ import annotations

from intentfold.codec.escape import escape
from intentfold.intent import IntentItem, IntentState


def item_line(item: IntentItem, *, with_id: bool = True) -> str:
    """One item on one line; the id stands first, attributes last."""
    parts = [str(item.id)] if with_id else []
    parts.append(escape(item.text))
    attributes = [item.priority or "", f"for {escape(item.scope, ';)')}" if item.scope else ""]
    if any(attributes):
        parts.append(f"({'; '.join(filter(None, attributes))})")
    if with_id and item.depends_on:
        parts.append(f"[{','.join(map(str, item.depends_on))}]")
    if item.kind != "goal":
        parts.append(item.kind)
    return " ".join(parts)


def state_lines(state: IntentState) -> str:
    """Every active item, by id; `empty` for none."""
    return "\n".join(item_line(item) for item in sorted(state.items, key=lambda item: item.id)) or "empty"


def retired_lines(state: IntentState) -> str:
    """The items that went away last, oldest first; `none` for none."""
    return "\n".join(item_line(item) for item in state.retired) or "none"


def active_lines(items: tuple[IntentItem, ...]) -> str:
    """Items as the agent reads them, without ids: order is for display."""
    return "\n".join(f"- {item_line(item, with_id=False)}" for item in sorted(items, key=lambda item: item.id))
