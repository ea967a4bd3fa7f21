"""MultiWOZ 2.1 (Eric et al. 2020) as ConvLab-2 packs it: `log` alternates user and system turns.

The state after a user's turn stands in the `metadata` of the system turn behind it: per domain `semi` and `book`, a text a slot,
empty, `not mentioned` or `none` where nothing is wanted. Of alternatives (`17:30|16:30`) the first is taken. A slot that a
domain has in both parts is another one of each: that of `book` is named with the word "booking".
"""

from __future__ import annotations

import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from intentfold.sources.loading import Skip, SourceError, checked, expect_file, parsed
from intentfold.sources.stated_dialogues import StatedDialogue, StatedTurn, slot_words, value_words

CORPUS, LICENSE = "multiwoz21", "CC-BY-4.0"
NOTHING = ("", "not mentioned", "none")
# What an agent fills in when it books: no wish.
_BOOKED = "booked"
_WORDS = {"pricerange": "price range", "leaveAt": "departure time", "arriveBy": "arrival time"}


def load_multiwoz(path: Path) -> tuple[list[StatedDialogue], dict[str, int]]:
    """The dialogues of a JSON file, or of the one in a zip, and how many were left out, by reason."""
    dialogues: list[StatedDialogue] = []
    skipped: Counter[str] = Counter()
    for name, record in _records(path):
        try:
            dialogues.append(_dialogue(f"{path}: dialogue {name}", name, record))
        except Skip as reason:
            skipped[str(reason)] += 1
    return dialogues, dict(skipped)


def _records(path: Path) -> Iterator[tuple[str, Any]]:
    expect_file(path, "MultiWOZ 2.1 dialogues, a JSON object by name (or that in a zip)")
    try:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                [inside] = [name for name in archive.namelist() if name.endswith(".json")]
                text = archive.read(inside)
        else:
            text = path.read_bytes()
    except (ValueError, zlib.error, zipfile.BadZipFile) as error:
        raise SourceError(f"{path}: expected one JSON file: {error}") from None
    data = parsed(str(path), text)
    if not isinstance(data, dict):
        raise SourceError(f"{path}: expected dialogues by name, got {type(data).__name__}")
    yield from data.items()


def _dialogue(where: str, name: str, record: Any) -> StatedDialogue:
    log = checked(where, record, {"log": list})["log"]
    if len(log) < 2:
        raise Skip("no turn with a state")
    if len(log) % 2:
        raise Skip("does not end with an answer")
    turns = []
    for number in range(0, len(log), 2):
        user = checked(f"{where}, turn {number}", log[number], {"text": str, "metadata": dict})
        agent = checked(f"{where}, turn {number + 1}", log[number + 1], {"text": str, "metadata": dict})
        if not agent["metadata"]:
            raise Skip("an answer without a state")
        turns.append(StatedTurn(user["text"], _state(f"{where}, turn {number + 1}", agent["metadata"]), agent["text"]))
    return StatedDialogue(CORPUS, name, LICENSE, tuple(turns))


def _state(where: str, metadata: dict[str, Any]) -> dict[str, str]:
    state = {}
    for domain, parts in metadata.items():
        fields: dict[str, type] = {"semi": dict, "book": dict}
        one = checked(f"{where}: metadata.{domain}", parts, fields)
        for part, slot, value in ((p, *pair) for p in fields for pair in one[p].items() if pair[0] != _BOOKED):
            if not isinstance(value, str):
                raise SourceError(f"{where}: field metadata.{domain}.{part}.{slot} must be a text, got {str(value)[:80]!r}")
            first = value.split("|")[0].strip()
            if first not in NOTHING:
                both = ["booking"] if part == "book" and slot in one["semi"] else []
                state[slot_words(where, domain, *both, _WORDS.get(slot, slot))] = value_words(first)
    return state
