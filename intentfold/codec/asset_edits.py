"""Asset edits as text, one per line, and a parser that is total on arbitrary text; a situation as the lines that it reads.

    INTENT: why the user wants it
    REQUIRE +1: what can be checked
    FACT +1: what the user told || words of the user, verbatim
    EXPLAIN 3: a better explanation
    REVISE 4: a better requirement
    WITHDRAW 5
    NONE

A number names an intent, requirement or fact of the situation; `+1` the first INTENT of the same output.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from intentfold.asset import AssetEdit, AssetOp, Situation
from intentfold.codec.escape import escape, split_unescaped, unescape
from intentfold.intent import Rejected

# Version of how situations and edits are written: a model trained on one cannot read another.
LINES = "1"
NONE = "NONE"
MAX_LINES = 100
_LINE = re.compile(r"(EXPLAIN|REQUIRE|REVISE|FACT|WITHDRAW) (\+?)(\d{1,6})(?:: (.*))?")


def situation_lines(situation: Situation) -> str:
    """The intents with their parts, by number; `empty` for none."""
    lines = []
    for intent in situation.intents:
        lines.append(f"{intent.id} intent: {escape(intent.explanation)}")
        lines += [f"{part.id} requirement: {escape(part.text)}" for part in intent.requirements]
        lines += [f"{part.id} fact: {escape(part.text, '|')} || {escape(part.quotation.text, '|')}" for part in intent.facts]
    return "\n".join(lines) or "empty"


def encode_asset_edits(edits: Sequence[AssetEdit]) -> str:
    """The edits as text, `NONE` for none."""
    return "\n".join(_encode(edit) for edit in edits) or NONE


def _encode(edit: AssetEdit) -> str:
    if edit.op == "INTENT":
        return f"INTENT: {escape(edit.text)}"
    named = f"{edit.op} {edit.id if edit.id > 0 else f'+{-edit.id}'}"
    if edit.op == "WITHDRAW":
        return named
    if edit.op == "FACT":
        return f"{named}: {escape(edit.text, '|')} || {escape(edit.quotation, '|')}"
    return f"{named}: {escape(edit.text)}"


def decode_asset_edits(text: str) -> tuple[tuple[AssetEdit, ...], tuple[Rejected, ...]]:
    """The edits that `text` states and the lines that state none, for any text whatever.

    Whether the numbers exist and the quotations are verbatim, `fold_asset` looks.
    """
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if lines == [NONE]:
        return (), ()
    if not lines:
        return (), (Rejected("", f"no output; {NONE} was expected where nothing changes"),)
    edits: list[AssetEdit] = []
    rejected: list[Rejected] = []
    for line in lines[:MAX_LINES]:
        edit = _decode(line)
        if isinstance(edit, str):
            rejected.append(Rejected(line[:200], edit))
        else:
            edits.append(edit)
    if len(lines) > MAX_LINES:
        rejected.append(Rejected(lines[MAX_LINES][:200], f"more than {MAX_LINES} lines"))
    return tuple(edits), tuple(rejected)


def _decode(line: str) -> AssetEdit | str:
    if line.startswith("INTENT: "):
        return AssetEdit("INTENT", text=unescape(line[len("INTENT: ") :]))
    match = _LINE.fullmatch(line)
    if match is None:
        return f"{NONE} beside other lines" if line == NONE else "not an edit of an asset"
    op: AssetOp = match[1]  # type: ignore[assignment]
    id, words = int(match[3]), match[4]
    if id == 0:
        return "numbers begin at 1"
    if match[2]:
        id = -id
    if op == "WITHDRAW":
        return "WITHDRAW takes a number and no words" if words is not None else AssetEdit(op, id)
    if words is None:
        return f"{op} reads `{op} number: words`"
    if op != "FACT":
        return AssetEdit(op, id, unescape(words))
    parts = split_unescaped(words, " || ")
    return "FACT reads `words || quotation`" if parts is None else AssetEdit(op, id, unescape(parts[0]), unescape(parts[1]))
