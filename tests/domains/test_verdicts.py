"""How parts combine, and bounds on numbers, by tables."""

from __future__ import annotations

import pytest

from intentfold.domains.verdicts import combined, limit, limited

S, V, U = "satisfied", "violated", "unknown"
COMBINED = [
    ([S, S], "and", S), ([S, V], "and", V), ([S, U], "and", U), ([U, V], "and", V), ([U, U], "and", U), ([], "and", U),
    ([S, V], "or", S), ([V, V], "or", V), ([U, V], "or", U), ([S, U], "or", S), ([U, U], "or", U), ([], "or", U),
]  # fmt: skip


@pytest.mark.parametrize(("verdicts", "operator", "expected"), COMBINED)
def test_combined(verdicts, operator, expected) -> None:
    assert combined(verdicts, operator) == expected


LIMITED = [
    ("under $40", 39.99, S), ("under $40", 40, V), ("below 40", 40, V), ("less than $40", 12, S),
    ("up to $40", 40, S), ("at most 40", 40.01, V), ("$40", 40, S), ("40", 41, V), ("$1,200", 1200, S),
    ("at least 4", 4, S), ("at least 4", 3.9, V), ("over 4", 4, V), ("more than 4", 4.5, S),
    ("cheap", 3, U), ("under $40", None, U), ("", 1, U),
]  # fmt: skip


@pytest.mark.parametrize(("value", "number", "expected"), LIMITED)
def test_limited(value, number, expected) -> None:
    assert limited(value, number) == expected


def test_a_bare_number_bounds_from_below_where_more_is_better() -> None:
    assert limited("4", 5, lower=True) == S
    assert limited("4", 3, lower=True) == V
    assert limit("at most 4", lower=True) == limit("at most 4")
