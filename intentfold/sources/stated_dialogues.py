"""Dialogues of people with the state that annotators wrote to every user turn: what the loaders of such corpora give."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from intentfold.sources.loading import SourceError

DONT_CARE = "no preference"  # what both corpora write as `dontcare`: a wish of its own, not the lack of one


@dataclass(frozen=True, slots=True)
class StatedTurn:
    """What the user says, all that is wanted after it (slot -> value), and the answer, empty where there is none."""

    user: str
    state: Mapping[str, str] = field(hash=False)
    reply: str


@dataclass(frozen=True, slots=True)
class StatedDialogue:
    """One dialogue; `corpus` and `id` are its identity."""

    corpus: str
    id: str
    license: str
    turns: tuple[StatedTurn, ...]


def slot_words(where: str, *parts: str) -> str:
    """A slot's names as words: `hotel` and `pricerange` stay as they are, `arriveBy` and `number_of_seats` are taken apart.

    Raises `SourceError` with the place where no word is left.
    """
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", " ".join(parts).replace("_", " "))
    words = " ".join(word.lower() for word in spaced.split() if not word.isdigit())
    if not words:
        raise SourceError(f"{where}: expected a slot that has a name in words, got {' '.join(parts)[:80]!r}")
    return words


def value_words(value: str) -> str:
    """A value as it is held; `dontcare` in any of its spellings is `DONT_CARE`."""
    plain = " ".join(value.split())
    return DONT_CARE if re.fullmatch(r"do(n'?t| not)\s?care", plain.lower()) else plain
