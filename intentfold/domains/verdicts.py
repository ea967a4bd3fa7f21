"""What an action does to a requirement, and how the parts of a value combine (IntentDelta, C.1).

Only `satisfied` ever earns credit: `unknown` says that nothing in the environment's records settles it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from intentfold.trajectory import Operator

Verdict = Literal["satisfied", "violated", "unknown"]
_LIMIT = re.compile(
    r"(?P<words>under|below|less than|up to|at most|at least|over|above|more than)?\s*\$?(?P<amount>\d[\d,]*(?:\.\d+)?)"
)
_STRICT = ("under", "below", "less than", "over", "above", "more than")


def combined(verdicts: Sequence[Verdict], operator: Operator) -> Verdict:
    """`and` needs every part, `or` one alternative; a part that nothing settles leaves the whole open."""
    ends: tuple[Verdict, Verdict] = ("violated", "satisfied") if operator == "and" else ("satisfied", "violated")
    if not verdicts:
        return "unknown"
    if ends[0] in verdicts:
        return ends[0]
    return ends[1] if all(verdict == ends[1] for verdict in verdicts) else "unknown"


@dataclass(frozen=True, slots=True)
class Limit:
    """A bound on a number, as the words put it: `under $40` is strict, `up to 40` is not."""

    amount: float
    lower: bool
    strict: bool

    def holds(self, number: float) -> bool:
        """Whether the number keeps to the bound."""
        if number == self.amount:
            return not self.strict
        return (number > self.amount) == self.lower


def limit(value: str, *, lower: bool = False) -> Limit | None:
    """The bound that a value states, None where it states none; a bare number is an upper bound, or a lower one."""
    match = _LIMIT.fullmatch(value.strip().casefold())
    if match is None:
        return None
    words = match["words"]
    if words is not None:
        lower = words in ("at least", "over", "above", "more than")
    return Limit(float(match["amount"].replace(",", "")), lower, words in _STRICT)


def limited(value: str, number: float | None, *, lower: bool = False) -> Verdict:
    """The verdict of a bound on a number that may be unknown."""
    bound = limit(value, lower=lower)
    if bound is None or number is None:
        return "unknown"
    return "satisfied" if bound.holds(number) else "violated"
