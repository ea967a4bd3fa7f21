"""Sharded GSM8K: the numbers of the shards are those of the question that stand once on both sides."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from intentfold.sources.gsm8k import Piece, word_problem
from intentfold.sources.gsm8k_arithmetic import find_numbers, trace
from intentfold.sources.loading import Skip, SourceError, checked
from intentfold.sources.shards import SPLIT, Shards
from intentfold.task import SourceTask


def task(shards: Shards) -> SourceTask:
    """A word problem told in its shards; the intent is the request where it states no number."""
    question = " ".join(shards.field("question", str).split())
    solution, answer = shards.field("answer", str), answer_of(shards.where, shards.record)
    if any("{" in text for text in shards.texts):
        raise Skip("braces in a shard")
    arithmetic = trace(question, solution, Fraction(answer))
    found = {position: find_numbers(text) for position, text in enumerate(shards.texts)}
    there = Counter(number.value for numbers in found.values() for number in numbers)
    asked = Counter(number.value for number in arithmetic.numbers)
    once = {n.value: n for n in arithmetic.numbers if asked[n.value] == 1 and there[n.value] == 1}
    pieces = [
        Piece(text, tuple((n.start, n.end, once[n.value]) for n in found[position] if n.value in once and not n.fixed))
        for position, text in enumerate(shards.texts)
    ]
    asks = 0 if len(pieces) > 1 and not found[0] else None
    return word_problem(shards.id, question, answer, arithmetic, pieces, asks, SPLIT)


def answer_of(where: str, record: Mapping[str, Any]) -> str:
    """The number behind the solution's `####`."""
    solution = checked(where, record, {"answer": str})["answer"]
    marked = re.search(r"####\s*(-?[\d,]*\.?\d+)\s*$", solution)
    if marked is None:
        raise SourceError(f"{where}: field answer must end in `#### number`, got {solution[-40:]!r}")
    return marked[1].replace(",", "")
