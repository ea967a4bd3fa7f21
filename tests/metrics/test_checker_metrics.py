"""Checker metrics: a table by hand, an independent naive computation on random judgements, calibration, thresholds."""

from __future__ import annotations

import random

import pytest

from intentfold.metrics.checker import (
    VERDICTS,
    Judged,
    agreement,
    choose_threshold,
    decided,
    ece,
    f1,
    false_unmet,
    macro_f1,
    macro_f1_gain,
    not_assessed,
    precision,
    reasons_named,
    recall,
    reliability,
)
from intentfold.runtime.checker import decide

SHORT = {"+": "met", "-": "unmet", "0": "not_applicable", "?": None}


def judged(truths: str, said: str, probabilities: list[tuple[float, ...]] | None = None) -> list[Judged]:
    sure = probabilities or [()] * len(truths)
    return [
        Judged(f"q{n}", f"u{n // 2}", SHORT[t], SHORT[s], "", "", p)  # type: ignore[arg-type]
        for n, (t, s, p) in enumerate(zip(truths, said, sure, strict=True))
    ]


def mean(found) -> float | None:
    return None if found is None else found.mean


def test_a_table_worked_by_hand() -> None:
    some = judged("+++---00", "++--?-0+")
    assert mean(precision(some, "met")) == pytest.approx(2 / 3)
    assert mean(recall(some, "met")) == pytest.approx(2 / 3)
    assert mean(precision(some, "unmet")) == pytest.approx(2 / 3)
    assert mean(recall(some, "unmet")) == pytest.approx(2 / 3)  # the unread one is a miss
    assert mean(precision(some, "not_applicable")) == 1.0
    assert mean(recall(some, "not_applicable")) == 0.5
    assert mean(f1(some, "not_applicable")) == pytest.approx(2 / 3)
    assert mean(macro_f1(some)) == pytest.approx(2 / 3)
    assert mean(false_unmet(some)) == pytest.approx(1 / 5)
    assert mean(not_assessed(some)) == pytest.approx(1 / 8)


def naive_f1(some: list[Judged], verdict: str) -> float | None:
    pairs = [(one.truth == verdict, one.said == verdict) for one in some]
    hit, claimed, there = pairs.count((True, True)), sum(b for _, b in pairs), sum(a for a, _ in pairs)
    if not claimed + there:
        return None
    p, r = hit / claimed if claimed else 0.0, hit / there if there else 0.0
    return 2 * p * r / (p + r) if p + r else 0.0


def test_f1_and_macro_f1_are_those_of_an_independent_computation() -> None:
    rng = random.Random(0)
    for _ in range(200):
        size = rng.randrange(1, 30)
        letters = rng.choice(["+-0", "+-", "-", "+0"])
        some = judged("".join(rng.choices(letters, k=size)), "".join(rng.choices("+-0?", k=size)))
        naive = [naive_f1(some, verdict) for verdict in VERDICTS]
        for verdict, expected in zip(VERDICTS, naive, strict=True):
            assert mean(f1(some, verdict)) == (None if expected is None else pytest.approx(expected))
        counted = [value for value in naive if value is not None]
        found = macro_f1(some)
        assert found is not None
        assert found.mean == pytest.approx(sum(counted) / len(counted))
        assert 0.0 <= found.low <= found.mean <= found.high <= 1.0


def test_gains_are_paired_and_need_the_same_questions() -> None:
    right, wrong = judged("+-0" * 20, "+-0" * 20), judged("+-0" * 20, "+++" * 20)
    gain = macro_f1_gain(right, wrong, 0.01)
    assert gain.mean == pytest.approx(1.0 - 0.5 / 3)  # the other says met alone: F1 of 0.5, 0 and 0
    assert gain.verdict == "superior"
    same = macro_f1_gain(right, right, 0.2)
    assert (same.mean, same.verdict) == (0.0, "equivalent")
    with pytest.raises(ValueError, match="the same, in the same order"):
        macro_f1_gain(right, wrong[::-1], 0.01)


def test_calibration_by_hand_and_by_an_independent_computation() -> None:
    sure = [(0.9, 0.05, 0.05), (0.95, 0.05, 0.0), (0.2, 0.6, 0.2), (0.3, 0.3, 0.4)]
    some = judged("+--0", "++-0", sure)
    assert [(b.low, b.n, b.accuracy) for b in reliability(some)] == [(0.4, 1, 1.0), (0.6, 1, 1.0), (0.9, 2, 0.5)]
    assert ece(some) == pytest.approx((0.6 + 0.4 + 2 * 0.425) / 4)
    assert ece(judged("+", "+")) is None
    rng = random.Random(1)
    many, total, bins = [], 0.0, {}
    for _ in range(300):
        a, b, c = (rng.random() for _ in range(3))
        p = (a / (a + b + c), b / (a + b + c), c / (a + b + c))
        truth = rng.choice("+-0")
        many += judged(truth, "+", [p])
        top = max(p)
        place = next(k for k in range(10) if top < (k + 1) / 10)
        bins.setdefault(place, []).append((top, SHORT[truth] == VERDICTS[p.index(top)]))
    for pile in bins.values():
        total += abs(sum(t for t, _ in pile) - sum(r for _, r in pile)) / 300
    assert ece(many) == pytest.approx(total)


@pytest.mark.parametrize(
    ("found", "threshold", "verdict"),
    [
        ((0.5, 0.3, 0.2), 0.5, "met"),
        ((0.5, 0.3, 0.2), 0.3, "unmet"),
        ((0.1, 0.3, 0.6), 0.5, "not_applicable"),
        ((0.1, 0.9, 0.0), 1.1, "met"),
    ],
)
def test_verdicts_from_probabilities(found: tuple[float, ...], threshold: float, verdict: str) -> None:
    assert decide(found, threshold) == verdict


def test_the_threshold_lets_few_through_and_finds_as_many_as_it_can() -> None:
    unmet = [0.9, 0.7, 0.4, 0.2]
    others = [0.6, 0.3, 0.1, 0.05]
    sure = [(1 - p, p, 0.0) for p in unmet + others]
    some = judged("----++00", "++++++++", sure)
    for allowed, threshold, caught in ((0.0, 0.7, 2), (0.25, 0.4, 3), (0.5, 0.2, 4)):
        assert choose_threshold(some, allowed) == threshold
        at = [decided(one, threshold) for one in some]
        assert mean(recall(at, "unmet")) == caught / 4
        found = mean(false_unmet(at))
        assert found is not None
        assert found <= allowed
    unread = Judged("q", "u", "met", None, "", "", (0.9, 0.1, 0.0))
    assert decided(unread, 0.5).said is decided(unread, 0.05).said is None
    assert choose_threshold(judged("-+", "++", [(0.9, 0.1, 0.0), (0.0, 1.0, 0.0)]), 0.0) > 1.0
    with pytest.raises(ValueError, match="a threshold needs probabilities"):
        choose_threshold(judged("-+", "++"), 0.05)


def test_agreement_over_runs_counts_what_is_read_alike() -> None:
    runs = [judged("+-0+", "+-0?"), judged("+-0+", "+-+?")]
    assert mean(agreement(runs)) == 0.5


REASONS = [
    ("the disclosure is not the last line", "the disclosure is not the last line", 1.0),
    ("Its disclosure stands early, last line is another", "the disclosure is not the last line", 1.0),
    ("it is bad", "the disclosure is not the last line", 0.0),
    ("", "the disclosure is not the last line", 0.0),
]


@pytest.mark.parametrize(("reason", "right", "share"), REASONS)
def test_a_reason_names_the_discrepancy(reason: str, right: str, share: float) -> None:
    assert mean(reasons_named([Judged("q", "u", "unmet", "unmet", reason, right)])) == share
    assert reasons_named([Judged("q", "u", "unmet", "met", reason, right)]) is None
