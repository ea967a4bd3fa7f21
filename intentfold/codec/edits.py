"""The delta codec (design D1): edits one per line, and a parser that is total on arbitrary text.

    SET destination city: Porto
    SET (must; for Ana) seats: 3
    ADD destination city: Porto
    ADD : words of a goal that has no slot
    ADD conclusion [nights; +1] total: 4
    REPLACE #3: other words
    REPRIORITIZE (for Ana) seats: optional
    DELETE seats
    NONE

SET is a REPLACE where one active item has that name and an ADD where none has: which of the two follows from the
state, so a model need not tell, and from the lines before it: a name that they delete is free, and none is set twice. Where
value and priority are both new, the item is deleted and added, for an output edits an item once (never written so). ADD
and REPLACE are written where SET would mean another thing (one more item of a name that is taken; an item without a name),
and read everywhere.

An item is named as the state shows it (`names`): by its slot, which a small model copies far more surely than it looks
up a number, or by `#id` where the slot would not do. `+1` names the first item added by the same output. An item with a
slot whose text is not `slot: value` adds its own words after ` || `.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Literal, get_args

from intentfold.codec.escape import escape, split_unescaped, unescape
from intentfold.codec.state import KINDS, attributes, find, holders, names, slot_key, slot_name
from intentfold.intent import Edit, IntentState, Kind, Rejected, fold_leniently, normalise
from intentfold.task import Priority

NONE = "NONE"
# What a line folds to. SET is one of the first four by the state that it meets; what folds to nothing is REJECTED.
LineOperation = Literal["ADD", "REPLACE", "DELETE", "REPRIORITIZE", "NONE", "REJECTED"]
MAX_LINES = 200
_ATTRIBUTES = re.compile(r"\(((?:[^()\\]|\\.)*)\) ")
_DEPENDS = re.compile(r"\[((?:[^\[\]\\]|\\.)*)\] ")
_ID = re.compile(r"#(\d{1,9})")
_BY_ID = re.compile(r"#\d{1,9}: ")


def encode_edits(edits: Sequence[Edit], state: IntentState) -> str:
    """The edits of `state` as text, `NONE` for none."""
    called = names(state)
    held = {slot_key(item.slot, item.scope) for item in state.items if item.slot is not None}
    lines = []
    for edit in edits:
        lines.append(_encode(edit, called, held))
        if edit.op == "ADD" and edit.slot is not None:
            held.add(slot_key(edit.slot, edit.scope))
    return "\n".join(lines) or NONE


def _encode(edit: Edit, called: Mapping[int, str], held: Collection[tuple[str, str]]) -> str:
    if edit.op == "ADD":
        kind = "" if edit.kind == "goal" else f"{edit.kind} "
        free = edit.slot is not None and slot_key(edit.slot, edit.scope) not in held
        op = "SET" if free and not kind and not edit.depends_on else "ADD"
        return f"{op} {kind}{_depends(edit, called)}{attributes(edit.priority, edit.scope)}{_what(edit)}"
    name = _called(edit.id or 0, called)
    if edit.op == "DELETE":
        return f"DELETE {name}"
    if edit.op == "REPRIORITIZE":
        return f"REPRIORITIZE {name}: {edit.priority}"
    op = "REPLACE" if name.startswith("#") else "SET"
    if edit.value is None:
        return f"{op} {name}: {escape(edit.text or '', '|')}"
    return f"{op} {name}: {escape(edit.value, '|')}{_words(edit)}"


def _called(id: int, called: Mapping[int, str]) -> str:
    return called.get(id, f"#{id}")


def _depends(edit: Edit, called: Mapping[int, str]) -> str:
    if not edit.depends_on:
        return ""
    return f"[{'; '.join(_called(d, called) if d > 0 else f'+{-d}' for d in edit.depends_on)}] "


def _what(edit: Edit) -> str:
    if edit.slot is None:
        return f": {escape(edit.text or '', '|')}"
    return f"{slot_name(edit.slot)}: {escape(edit.value or '', '|')}{_words(edit)}"


def _words(edit: Edit) -> str:
    return "" if edit.text is None else f" || {escape(edit.text, '|')}"


def decode_edits(text: str, state: IntentState) -> tuple[tuple[Edit, ...], tuple[Rejected, ...]]:
    """The edits that `text` states and the lines that state none, for any text whatever.

    `state` is what the edits are of: it tells which item a name means, and whether a REPLACE gives a value (the item
    has a slot) or words. Ids are not checked here: `fold_leniently` does that.
    """
    edits: list[Edit] = []
    rejected: list[Rejected] = []
    lines = _lines(text)
    for line, said in zip(lines[:MAX_LINES], _read(lines, state), strict=True):
        if isinstance(said, str):
            rejected.append(Rejected(line[:200], said))
        else:
            edits += said
    if not lines:
        rejected.append(Rejected("", f"no output; {NONE} was expected where nothing changes"))
    if len(lines) > MAX_LINES:
        rejected.append(Rejected(lines[MAX_LINES][:200], f"more than {MAX_LINES} lines"))
    return tuple(edits), tuple(rejected)


def line_operations(text: str, state: IntentState) -> tuple[LineOperation, ...]:
    """What each line of `text` (parted at line feeds, so there is at least one) folds to, for any text whatever.

    A line that states no edit, or one that the state does not take (`fold_leniently`), is REJECTED; a SET of value and
    priority both is a REPLACE. A blank line goes with the line before it, at the beginning with the first that is not blank.
    """
    lines = _lines(text)
    operations: list[LineOperation] = []
    edits: list[Edit] = []
    refused = 0
    for said in _read(lines, state):
        if isinstance(said, str):
            operations.append("REJECTED")
            continue
        edits += said
        before, refused = refused, len(fold_leniently(state, edits)[1])
        one: LineOperation = "NONE" if not said else said[0].op if len(said) == 1 else "REPLACE"
        operations.append("REJECTED" if refused > before else one)
    operations += ["REJECTED"] * (len(lines) - len(operations))
    if not lines:
        operations = ["REJECTED"]
    place, found = 0, []
    for line in text.split("\n"):
        found.append(operations[max(0, place + bool(line.strip()) - 1)])
        place += bool(line.strip())
    return tuple(found)


def _lines(text: str) -> list[str]:
    """The lines that are not blank."""
    return [stripped for line in text.split("\n") if (stripped := line.strip())]


def _read(lines: Sequence[str], state: IntentState) -> list[tuple[Edit, ...] | str]:
    """The edits that each of the first `MAX_LINES` lines states (none for a lone NONE), or why it states none."""
    if lines == [NONE]:
        return [()]
    read: list[tuple[Edit, ...] | str] = []
    edits: list[Edit] = []
    for line in lines[:MAX_LINES]:
        said = _decode(line, state, edits)
        if isinstance(said, str):
            read.append(said)
            continue
        stated = (said,) if isinstance(said, Edit) else said
        read.append(stated)
        edits += stated
    return read


def _decode(line: str, state: IntentState, before: Sequence[Edit]) -> Edit | tuple[Edit, Edit] | str:
    if line == NONE:
        return f"{NONE} beside other lines"
    op, _, rest = line.partition(" ")
    if op not in ("SET", "ADD", "REPLACE", "DELETE", "REPRIORITIZE") or not rest:
        return "not an edit"
    if op == "SET":
        return _decode_set(rest, state, before)
    if op == "ADD":
        return _decode_add(rest, state)
    if op == "DELETE":
        id = _named(rest, state)
        return id if isinstance(id, str) else Edit("DELETE", id=id)
    # An attribute may hold a colon, a name may not.
    scope = _ATTRIBUTES.match(rest)
    start = scope.end() if scope else 0
    parts = split_unescaped(rest[start:], ": ")
    if parts is None:
        return f"{op} reads `name: {'priority' if op == 'REPRIORITIZE' else 'value'}`"
    id, given = _named(rest[:start] + parts[0], state), parts[1]
    if isinstance(id, str):
        return id
    if op == "REPRIORITIZE":
        priority = _priority(given)
        return (
            f"priority must be one of {get_args(Priority)}"
            if priority is None
            else Edit("REPRIORITIZE", id=id, priority=priority)
        )
    value, words = _value_and_words(given)
    item = state.get(id)
    if item is not None and item.slot is None:
        return Edit("REPLACE", id=id, text=value)
    return Edit("REPLACE", id=id, value=value, text=words)


def _decode_set(rest: str, state: IntentState, before: Sequence[Edit]) -> Edit | tuple[Edit, Edit] | str:
    if _BY_ID.match(rest):
        return _decode(f"REPLACE {rest}", state, before)
    edit = _decode_add(rest, state)
    if isinstance(edit, str) or edit.slot is None:
        return edit
    if edit.kind != "goal" or edit.depends_on:
        return "SET takes no kind and no dependencies: ADD does"
    name = slot_key(edit.slot, edit.scope)
    if any(one.op == "ADD" and one.slot is not None and slot_key(one.slot, one.scope) == name for one in before):
        return f"{edit.slot!r} is set twice: ADD makes one more item of a name"
    left, _ = fold_leniently(state, [one for one in before if one.op == "DELETE"])
    if not holders(left, edit.slot, edit.scope):
        return edit
    item = find(left, edit.slot, edit.scope)
    if item is None:
        return f"more than one active item is named {edit.slot!r}, or it goes by its id: ADD or REPLACE tells which is meant"
    if edit.priority in (None, item.priority):
        return Edit("REPLACE", id=item.id, value=edit.value, text=edit.text)
    if normalise(edit.value or "") != normalise(item.value or ""):
        # An output edits an item once, so the item goes and comes back with what it rested on, as `diff` has it: both or neither.
        both = Edit("DELETE", id=item.id), replace(edit, kind=item.kind, depends_on=item.depends_on)
        _, refused = fold_leniently(state, before)
        _, now = fold_leniently(state, [*before, *both])
        return both if len(now) == len(refused) else now[len(refused)].reason
    return Edit("REPRIORITIZE", id=item.id, priority=edit.priority)


def _named(name: str, state: IntentState) -> int | str:
    """The id that a name means, or why it means none."""
    by_id = _ID.fullmatch(name)
    if by_id:
        return int(by_id[1])
    scope, slot = None, name
    match = _ATTRIBUTES.match(name)
    if match:
        if not match[1].startswith("for "):
            return f"a name reads `slot`, `(for scope) slot` or `#id`, got {name[:100]!r}"
        scope, slot = unescape(match[1][4:]), name[match.end() :]
    item = find(state, unescape(slot), scope)
    return f"no active item, or more than one, is named {name[:100]!r}" if item is None else item.id


def _decode_add(rest: str, state: IntentState) -> Edit | str:
    priority, scope = None, None
    kind: Kind = "goal"
    depends: list[int] = []
    for word in KINDS:
        if rest.startswith(word + " "):
            kind, rest = word, rest[len(word) + 1 :]
            break
    match = _DEPENDS.match(rest)
    if match:
        remaining = match[1]
        while remaining:
            name, remaining = split_unescaped(remaining, "; ") or (remaining, "")
            added = re.fullmatch(r"\+(\d{1,9})", name)
            needed = -int(added[1]) if added else _named(name, state)
            if isinstance(needed, str):
                return needed
            depends.append(needed)
        rest = rest[match.end() :]
    match = _ATTRIBUTES.match(rest)
    if match:
        remaining = match[1]
        while remaining:
            first, remaining = split_unescaped(remaining, "; ") or (remaining, "")
            if first.startswith("for "):
                scope = unescape(first[4:])
            elif (priority := _priority(first)) is None:
                return f"attribute must be a priority or `for …`, got {first!r}"
        rest = rest[match.end() :]
    if rest.startswith(": "):
        return Edit("ADD", text=unescape(rest[2:]), kind=kind, depends_on=tuple(depends), scope=scope, priority=priority)
    parts = split_unescaped(rest, ": ")
    if parts is None or not parts[0]:
        return "an added item reads `slot: value` or `: text`"
    if _ID.fullmatch(parts[0]):
        return f"an added item has no id yet, got {parts[0]!r}"
    value, words = _value_and_words(parts[1])
    return Edit(
        "ADD",
        text=words,
        kind=kind,
        depends_on=tuple(depends),
        slot=unescape(parts[0]),
        value=value,
        scope=scope,
        priority=priority,
    )


def _value_and_words(rest: str) -> tuple[str, str | None]:
    parts = split_unescaped(rest, " || ")
    if parts is None:
        return unescape(rest), None
    return unescape(parts[0]), unescape(parts[1])


def _priority(text: str) -> Priority | None:
    return next((p for p in get_args(Priority) if p == text), None)
