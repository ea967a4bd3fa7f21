"""Dialogues of people with the state that annotators wrote to every user turn: what the loaders of such corpora give."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

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


def slot_words(*parts: str) -> str:
    """A slot's names as words: `hotel` and `pricerange` stay as they are, `arriveBy` and `number_of_seats` are taken apart."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", " ".join(parts).replace("_", " "))
    return " ".join(word.lower() for word in spaced.split() if not word.isdigit())


def value_words(value: str) -> str:
    """A value as it is held; `dontcare` in any of its spellings is `DONT_CARE`."""
    plain = " ".join(value.split())
    return DONT_CARE if re.fullmatch(r"do(n'?t| not)\s?care", plain.lower()) else plain
