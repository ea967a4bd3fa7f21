"""Obsolete retention: the one rule by which every evaluation tells that a wish that no longer holds still stands."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from intentfold.intent import normalise

# Field (or slot), value and scope as compared: what a wish says, whatever its priority.
Wish = tuple[str, str, str]


def wish(field: str | None, value: str, scope: str | None) -> Wish:
    """What a wish says. A change of its priority alone leaves it the same wish."""
    return normalise(field or ""), normalise(value), normalise(scope or "")


def retention(right_before: Iterable[tuple[Wish, Wish]], active: Collection[Wish], stands: Collection[Wish]) -> tuple[int, int]:
    """(Retained, opportunities): what was predicted right, was then overridden, relaxed or removed, and still stands.

    `right_before` holds what was meant and how it was predicted, priority included, at the turn before; `active` is what
    is meant now and `stands` what is predicted now. IntentDelta, appendix F: persistence is exact agreement with the prior
    prediction. Reading: a change of priority alone makes nothing obsolete.
    """
    gone = [predicted for meant, predicted in right_before if meant not in active]
    return sum(predicted in stands for predicted in gone), len(gone)
