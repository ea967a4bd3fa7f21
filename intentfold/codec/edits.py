"""The delta codec (design D1): edits one per line, and a parser that is total on arbitrary text.

    ADD destination city: Lisbon
    ADD (must; for Ana) seats: 3
    ADD : words of a goal that has no slot
    ADD conclusion [1,+1] total nights: 4
    REPLACE 2: 5
    REPRIORITIZE 2: optional
    DELETE 3
    NONE

`+1` names the first ADD of the same output. An item with a slot whose text is not `slot: value` adds its own
words after ` || `.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import get_args

from intentfold.codec.escape import escape, split_unescaped, unescape
from intentfold.intent import Edit, IntentState, Kind, Rejected
from intentfold.task import Priority

NONE = "NONE"
MAX_LINES = 200
_KINDS: tuple[Kind, ...] = ("conclusion", "format")
_ATTRIBUTES = re.compile(r"\(((?:[^()\\]|\\.)*)\) ")
_DEPENDS = re.compile(r"\[([+\d, ]+)\] ")
_NUMBERED = re.compile(r"(REPLACE|DELETE|REPRIORITIZE) (\d{1,9})(?:: ?(.*))?$", re.DOTALL)


def encode_edits(edits: Sequence[Edit]) -> str:
    """The edits as text, `NONE` for none."""
    return "\n".join(map(_encode, edits)) or NONE


def _encode(edit: Edit) -> str:
    if edit.op == "ADD":
        kind = "" if edit.kind == "goal" else f"{edit.kind} "
        return f"ADD {kind}{_depends(edit)}{_attributes(edit)}{_what(edit)}"
    if edit.op == "DELETE":
        return f"DELETE {edit.id}"
    if edit.op == "REPRIORITIZE":
        return f"REPRIORITIZE {edit.id}: {edit.priority}"
    if edit.value is None:
        return f"REPLACE {edit.id}: {escape(edit.text or '', '|')}"
    return f"REPLACE {edit.id}: {escape(edit.value, '|')}{_words(edit)}"


def _depends(edit: Edit) -> str:
    if not edit.depends_on:
        return ""
    return f"[{','.join(str(d) if d > 0 else f'+{-d}' for d in edit.depends_on)}] "


def _attributes(edit: Edit) -> str:
    parts = [edit.priority or "", f"for {escape(edit.scope, ';()')}" if edit.scope else ""]
    return f"({'; '.join(filter(None, parts))}) " if any(parts) else ""


def _what(edit: Edit) -> str:
    if edit.slot is None:
        return f": {escape(edit.text or '', '|')}"
    slot = escape(edit.slot, ":|([")
    # A slot that reads like a kind must not be taken for one.
    slot = "\\" + slot if slot.split(" ")[0] in _KINDS else slot
    return f"{slot}: {escape(edit.value or '', '|')}{_words(edit)}"


def _words(edit: Edit) -> str:
    return "" if edit.text is None else f" || {escape(edit.text, '|')}"


def decode_edits(text: str, state: IntentState) -> tuple[tuple[Edit, ...], tuple[Rejected, ...]]:
    """The edits that `text` states and the lines that state none, for any text whatever.

    `state` tells whether a REPLACE gives a value (the item has a slot) or words. Ids are not checked here:
    `fold_leniently` does that.
    """
    edits: list[Edit] = []
    rejected: list[Rejected] = []
    lines = [line.strip() for line in text.split("\n")]
    lines = [line for line in lines if line]
    if lines == [NONE]:
        return (), ()
    for line in lines[:MAX_LINES]:
        edit = _decode(line, state)
        if isinstance(edit, str):
            rejected.append(Rejected(line[:200], edit))
        else:
            edits.append(edit)
    if not lines:
        rejected.append(Rejected("", f"no output; {NONE} was expected where nothing changes"))
    if len(lines) > MAX_LINES:
        rejected.append(Rejected(lines[MAX_LINES][:200], f"more than {MAX_LINES} lines"))
    return tuple(edits), tuple(rejected)


def _decode(line: str, state: IntentState) -> Edit | str:
    if line == NONE:
        return f"{NONE} beside other lines"
    if line.startswith("ADD "):
        return _decode_add(line[4:])
    match = _NUMBERED.match(line)
    if match is None:
        return "not an edit"
    op, id, rest = match[1], int(match[2]), match[3]
    if op == "DELETE":
        return Edit("DELETE", id=id) if rest is None else "DELETE takes an id alone"
    if not rest:
        return f"{op} {id} gives nothing after the colon"
    if op == "REPRIORITIZE":
        priority = _priority(rest)
        if priority is None:
            return f"priority must be one of {get_args(Priority)}"
        return Edit("REPRIORITIZE", id=id, priority=priority)
    value, words = _value_and_words(rest)
    item = state.get(id)
    if item is not None and item.slot is None:
        return Edit("REPLACE", id=id, text=value)
    return Edit("REPLACE", id=id, value=value, text=words)


def _decode_add(rest: str) -> Edit | str:
    priority, scope = None, None
    kind: Kind = "goal"
    depends: tuple[int, ...] = ()
    for word in _KINDS:
        if rest.startswith(word + " "):
            kind, rest = word, rest[len(word) + 1 :]
            break
    match = _DEPENDS.match(rest)
    if match:
        names = [name.strip() for name in match[1].split(",")]
        if not all(re.fullmatch(r"\+?\d{1,9}", name) for name in names):
            return f"dependencies must be ids, got [{match[1]}]"
        depends = tuple(-int(name[1:]) if name[0] == "+" else int(name) for name in names)
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
        return Edit("ADD", text=unescape(rest[2:]), kind=kind, depends_on=depends, scope=scope, priority=priority)
    parts = split_unescaped(rest, ": ")
    if parts is None or not parts[0]:
        return "an added item reads `slot: value` or `: text`"
    value, words = _value_and_words(parts[1])
    return Edit(
        "ADD",
        text=words,
        kind=kind,
        depends_on=depends,
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
