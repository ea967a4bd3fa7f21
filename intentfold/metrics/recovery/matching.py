"""Matching predicted requirements with gold ones, part by part and one to one (IntentDelta, C.4).

Values and scopes decide; a priority never does. A matcher is a rule or a judge: both answer with pairs of positions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from scipy.optimize import linear_sum_assignment

from intentfold.intent import normalise
from intentfold.task import Priority
from intentfold.trajectory import Requirement

Change = Literal["new", "changed", "unchanged"]
Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Atom:
    """One part of a requirement's value; the parts of `a and b` are two atoms with the same field, scope and priority."""

    field: str
    value: str
    scope: str | None
    priority: Priority | None


@dataclass(frozen=True, slots=True)
class Failed:
    """A matching that could not be made: by the judge's words (evaluator) or by its endpoint (api). Never a wrong answer."""

    kind: Literal["evaluator", "api"]
    reason: str


def atoms(intention: Sequence[Requirement]) -> tuple[Atom, ...]:
    """The atoms of an intention, in its order. Alternatives (`a or b`) are one wish and stay one atom."""
    found = []
    for requirement in intention:
        parts, operator = requirement.split()
        for value in parts if operator == "and" else (requirement.value,):
            found.append(Atom(requirement.field, value, requirement.scope, requirement.priority))
    return tuple(found)


class Matcher(Protocol):
    """Pairs predicted atoms with gold ones. `name` stands in every report."""

    @property
    def name(self) -> str: ...

    def match(self, questions: Sequence[tuple[Sequence[Atom], Sequence[Atom]]]) -> list[Pairs | Failed]:
        """For every (predicted, gold) the pairs (predicted position, gold position), one to one, or why there are none."""
        ...


class RuleMatcher:
    """Equal scope and value after normalisation, by optimal assignment: most pairs first, then equal fields."""

    name = "rule"

    def match(self, questions: Sequence[tuple[Sequence[Atom], Sequence[Atom]]]) -> list[Pairs | Failed]:
        """The optimal assignment of each question."""
        return [assign(predicted, gold) for predicted, gold in questions]


def assign(predicted: Sequence[Atom], gold: Sequence[Atom]) -> Pairs:
    """The one-to-one pairs of the greatest number, and among those of the closest fields."""
    if not predicted or not gold:
        return ()
    # A pair is worth more than all closeness together, so that the number of pairs comes first.
    pair = 4.0 * min(len(predicted), len(gold)) + 1
    worth_PG = np.array([[pair + c if (c := closeness(p, g)) is not None else 0.0 for g in gold] for p in predicted])
    rows, columns = linear_sum_assignment(worth_PG, maximize=True)
    return tuple((int(p), int(g)) for p, g in zip(rows, columns, strict=True) if worth_PG[p, g] > 0)


def closeness(predicted: Atom, gold: Atom) -> int | None:
    """How near the fields of two atoms are that say the same, 2 to 0; None where they do not say the same.

    Reading: value and scope decide, but a value that names nothing by itself (a number, yes or no) says the same
    only in a field of the same name, or in one whose name holds the other's.
    """
    if normalise(predicted.scope or "") != normalise(gold.scope or "") or plain_value(predicted.value) != plain_value(gold.value):
        return None
    mine, theirs = normalise(predicted.field), normalise(gold.field)
    if mine == theirs:
        return 2
    if mine and theirs and (set(mine.split()) <= set(theirs.split()) or set(theirs.split()) <= set(mine.split())):
        return 1
    return None if _bare(gold.value) else 0


def plain_value(value: str) -> str:
    """A value as compared: without case, outer punctuation, currency signs, and separators of thousands; alternatives sorted."""
    plain = re.sub(r"(?<=\d),(?=\d{3}\b)", "", normalise(value).replace("$", ""))
    return " or ".join(sorted(part.strip() for part in plain.split(" or ")))


def _bare(value: str) -> bool:
    """Whether a value names nothing without its field."""
    words = re.findall(r"[^\W\d_]+", plain_value(value))
    return all(word in _BARE for word in words)


_BARE = {"yes", "no", "true", "false", "at", "most", "least", "under", "over", "up", "to", "below", "above", "after", "before"}


def changes(previous: Sequence[Atom], now: Sequence[Atom]) -> tuple[tuple[Change, Change], ...]:
    """For every atom of a prediction, how its value and its priority stand to the agent's previous prediction (C.4).

    The same value in the same scope (as `assign` pairs them: rephrasing is no change) is unchanged; another value in the
    same field and scope is changed; what was absent is new. The priority of a new atom is new; else it is changed or
    unchanged, and a changed value alone does not change it. At the first turn all is new.
    """
    found: dict[int, tuple[Change, Change]] = {}
    before = {mine: theirs for mine, theirs in assign(now, previous)}
    for position, old in before.items():
        found[position] = ("unchanged", _priority_change(previous[old], now[position]))
    free = [place for place in range(len(previous)) if place not in before.values()]
    for position, atom in enumerate(now):
        if position in found:
            continue
        same = next((place for place in free if _about(previous[place]) == _about(atom)), None)
        if same is None:
            found[position] = ("new", "new")
        else:
            free.remove(same)
            found[position] = ("changed", _priority_change(previous[same], atom))
    return tuple(found[position] for position in range(len(now)))


def _about(atom: Atom) -> tuple[str, str]:
    return normalise(atom.field), normalise(atom.scope or "")


def _priority_change(before: Atom, now: Atom) -> Change:
    return "unchanged" if before.priority == now.priority else "changed"
