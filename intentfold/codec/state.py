"""An intent state as the lines that a tracker or an agent reads, and the names by which edits address its items.

destination city: Lisbon
(must; for Ana) seats: 3
#3 the words of a goal that has no slot
conclusion total nights: 4

An item reads as the SET that would make it (`codec/edits.py`), so that whoever edits it copies its name from the
state. Where the name would not tell items apart, the id stands before it and names it.
"""

from __future__ import annotations

import re
from collections import Counter

from intentfold.codec.escape import escape
from intentfold.intent import IntentItem, IntentState, Kind, normalise, slot_text
from intentfold.task import Priority

# Version of how states and edits are written: a model trained on one cannot read another.
LINES = "3"
KINDS: tuple[Kind, ...] = ("conclusion", "format")


def item_line(item: IntentItem, name: str = "") -> str:
    """One item on one line; `name` is put before it where it is an id."""
    parts = [name] if name.startswith("#") else []
    if item.kind != "goal":
        parts.append(item.kind)
    text = f"{slot_name(item.slot or '')}: {escape(item.value or '', '|')}" if _is_named(item) else escape(item.text)
    parts.append(f"{attributes(item.priority, item.scope)}{text}")
    return " ".join(parts)


def attributes(priority: Priority | None, scope: str | None) -> str:
    """`(must; for Ana) `, or nothing where there is neither."""
    parts = [priority or "", f"for {escape(scope, ';()[]')}" if scope else ""]
    return f"({'; '.join(filter(None, parts))}) " if any(parts) else ""


def slot_name(slot: str) -> str:
    """A slot on one line, such that nothing before or after it can be taken for a part of it, nor it for another thing."""
    name = escape(slot, ":;|([])")
    return "\\" + name if name.split(" ")[0] in KINDS or re.match(r"[#+]", name) else name


def names(state: IntentState) -> dict[int, str]:
    """How edits name each active item: `slot`, `(for scope) slot`, or `#id` where that would not tell it from others."""
    count = Counter(slot_key(item.slot, item.scope) for item in state.items if item.slot is not None)
    called = {}
    for item in state.items:
        alone = _is_named(item) and count[slot_key(item.slot, item.scope)] == 1
        called[item.id] = f"{attributes(None, item.scope)}{slot_name(item.slot or '')}" if alone else f"#{item.id}"
    return called


def find(state: IntentState, slot: str, scope: str | None) -> IntentItem | None:
    """The active item that a name means, case and outer punctuation aside."""
    found = holders(state, slot, scope)
    return found[0] if len(found) == 1 and _is_named(found[0]) else None


def holders(state: IntentState, slot: str, scope: str | None) -> list[IntentItem]:
    """The active items of this slot and scope, whether or not a name would tell them apart."""
    return [item for item in state.items if item.slot is not None and slot_key(item.slot, item.scope) == slot_key(slot, scope)]


def _is_named(item: IntentItem) -> bool:
    # An item with words of its own does not show its slot.
    return item.slot is not None and item.text == slot_text(item.slot, item.value or "")


def slot_key(slot: str | None, scope: str | None) -> tuple[str, str]:
    """A slot and its scope as names are compared."""
    return normalise(slot or ""), normalise(scope or "")


def state_lines(state: IntentState) -> str:
    """Every active item, by id; `empty` for none."""
    called = names(state)
    return "\n".join(item_line(item, called[item.id]) for item in sorted(state.items, key=lambda item: item.id)) or "empty"


def retired_lines(state: IntentState) -> str:
    """The items that went away last, oldest first."""
    return "\n".join(item_line(item) for item in state.retired)


def active_lines(items: tuple[IntentItem, ...]) -> str:
    """Items as the agent reads them, without ids: order is for display."""
    return "\n".join(f"- {item_line(item)}" for item in sorted(items, key=lambda item: item.id))
