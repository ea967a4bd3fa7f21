"""Values that could be meant instead of another: near numbers, strings that look alike."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from typing import Any

from intentfold.intent import normalise

MOST_VALUES = 6


def said(value: Any) -> str:
    """A value as a user says it: yes and no, numbers without an exponent where 15 decimals do, else JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        plain = f"{Decimal(repr(value)):f}"
        return plain.removesuffix(".0") if len(plain.partition(".")[2]) <= 15 else repr(value)
    return json.dumps(value, ensure_ascii=False)


def near_numbers(value: int | float) -> list[int | float]:
    """Numbers easily taken for `value`, of its sign, with its decimals: one step off, digits swapped, doubled, ten times."""
    exact = Decimal(repr(value))
    exact = Decimal(int(exact)) if exact % 1 == 0 else exact
    exponent = exact.as_tuple().exponent
    assert isinstance(exponent, int)
    step = Decimal(1).scaleb(exponent)
    digits = str(abs(int(exact.scaleb(-exponent))))
    swapped = Decimal(digits[:-2] + digits[-1] + digits[-2]).scaleb(exponent).copy_sign(exact) if len(digits) > 1 else exact
    candidates = [exact + step, swapped, exact - step, exact * 2, exact + 5 * step, exact * 10, exact + 2 * step]
    kept = [c for c in dict.fromkeys(candidates) if c != exact and (c * exact > 0 if exact else c > 0)]
    return [int(c) if isinstance(value, int) else float(c) for c in kept]


def near_text(text: str) -> list[str]:
    """The text with its last number one higher, two higher and one lower, width kept (dates, codes, times)."""
    numbers = list(re.finditer(r"\d+", text))
    if not numbers:
        return []
    last = numbers[-1]
    found = []
    for step in (1, -1, 2):
        number = int(last[0]) + step
        if number > 0:
            found.append(text[: last.start()] + str(number).zfill(len(last[0])) + text[last.end() :])
    return found


def look_alikes_first(text: str, others: Iterable[str]) -> list[str]:
    """The others, those that share most pairs of letters with `text` first (Dice coefficient; ties by alphabet)."""
    wanted = _pairs(text)

    def likeness(other: str) -> float:
        pairs = _pairs(other)
        return 2 * len(wanted & pairs) / (len(wanted) + len(pairs))

    return sorted(sorted(set(others)), key=likeness, reverse=True)


@lru_cache(maxsize=65536)
def _pairs(text: str) -> frozenset[str]:
    bounded = f" {normalise(text)} "
    return frozenset(map("".join, itertools.pairwise(bounded)))
