"""What can be said otherwise in a wish to a service, and wishes that come and go.

These are proposals: what they do to a run only a judge can tell, so nothing of them is verified (design D6).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

MOST_VALUES = 6
_CLOCK = re.compile(r"\b(\d{1,2})(:\d{2}(?: ?[AP]M\b)?| ?[AP]M\b| o['’]clock)", re.IGNORECASE)
_AMOUNT = re.compile(r"\b(\d+)( ?(?:yuan|RMB|minutes|hours|people|servings|portions|cups|kilometers|km|jin)\b)", re.IGNORECASE)
_NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
# Words of one row can stand for one another.
_ROWS = (
    ("mildly spicy", "extremely spicy", "medium spicy", "slightly spicy", "very spicy", "numbingly spicy"),
    ("beef", "pork", "chicken", "lamb", "fish", "shrimp", "duck"),
    ("hot", "iced", "lukewarm", "chilled", "warm", "room-temperature"),
    ("low-sugar", "sugar-free", "half-sugar", "full-sugar", "unsweetened", "extra-sweet"),
    ("small", "large", "medium", "extra-large", "regular", "tiny"),
    ("lunch", "dinner", "breakfast", "brunch", "supper", "afternoon tea"),
    ("midnight", "noon", "sunrise", "sunset", "dawn", "dusk"),
    ("home", "office", "school", "hotel", "gym", "library"),
    ("daughter", "son", "wife", "husband", "mother", "father", "child", "grandma", "grandpa"),
    ("friend", "colleague", "assistant", "boss", "neighbour", "roommate", "boyfriend", "girlfriend"),
)
# Wishes about no domain in particular: their parameter's name, their words, and what these may say.
DECOYS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "where to leave it": ("Have everything left {value}.", ("at the front desk", "with the guard", "by the side entrance")),
    "note": ("Put the note {value} on whatever you order.", ("'call twice'", "'do not ring'", "'no plastic bags'")),
    "rating": ("Take only places rated {value} or better.", ("4.8", "4.9", "5.0")),
    "ceiling": ("Spend no more than {value} yuan in all.", ("10", "12", "15")),
    "payment": ("Leave every order unpaid until {value}.", ("tonight", "tomorrow", "I am back")),
    "gift": ("Add {value} to the first order.", ("a birthday candle", "a greeting card", "a gift box")),
}


def variable(sentence: str, names: Iterable[Iterable[str]]) -> tuple[str, str, list[str]] | None:
    """The sentence with `{value}` in one place, what stands there, and other things that could; None without such a place.

    `names` are rows of names that can stand for one another: those of the environment's things of one kind. Of the places
    the one with the most alternatives is taken, names first among equals.
    """
    if "{" in sentence:
        return None
    found = max(_places(sentence, names), key=lambda place: len(place[2]), default=None)
    if found is None or not found[2]:
        return None
    start, end, values = found
    return f"{sentence[:start]}{{value}}{sentence[end:]}", sentence[start:end], values


def _places(sentence: str, names: Iterable[Iterable[str]]) -> Iterator[tuple[int, int, list[str]]]:
    for row in (*names, _NUMBERS, *_ROWS):
        every = list(dict.fromkeys(row))
        for word in sorted(every, key=len, reverse=True):
            match = re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-]|['’]s? |\s?pot\b)", sentence, re.IGNORECASE)
            if match:
                others = [other for other in every if other.casefold() != word.casefold()]
                yield match.start(), match.end(), others[:MOST_VALUES]
                break
    if match := _CLOCK.search(sentence):
        day = 24 if int(match[1]) > 12 else 12
        hours = [(int(match[1]) + later - 1) % day + 1 for later in (1, 2, -1, 3, -2, 4)]
        yield match.start(), match.end(), [f"{hour}{match[2]}" for hour in hours]
    if match := _AMOUNT.search(sentence):
        amounts = dict.fromkeys(round(int(match[1]) * factor) for factor in (2, 1.5, 3, 0.5, 4, 5))
        yield match.start(), match.end(), [f"{amount}{match[2]}" for amount in amounts if amount not in (0, int(match[1]))]


def decoys(others: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Parameters of extra wishes; `others` are names of things that the task does not ask for."""
    found = {name: _parameter(text, values) for name, (text, values) in DECOYS.items()}
    things = list(dict.fromkeys(name for name in others if "{" not in name))
    if things:
        found["something else"] = _parameter("Also order one {value}.", things[:MOST_VALUES])
    return found


def _parameter(text: str, values: Iterable[str]) -> dict[str, Any]:
    return {"type": "string", "values": list(values), "optional": True, "spoken": [], "text": text}
