"""Rows of a recovery run on hand-written trajectories: sums by turn, gaps, domains, coverage."""

from __future__ import annotations

import pytest

from intentfold.domains.registry import RULES
from intentfold.metrics.recovery import report
from intentfold.metrics.recovery.actions import score_actions
from intentfold.metrics.recovery.intention import score_intentions
from intentfold.metrics.recovery.matching import Failed, RuleMatcher
from tests.trajectories import CHEAP, RED, SOFT_BLUE, journey, mug

TRAJECTORIES = [mug(), mug("shop-2"), journey()]


def measured(predicted, matcher=None):
    actions = [
        [RULES[t.domain].choose(t.environment, state) for state in states]
        for t, states in zip(TRAJECTORIES, predicted, strict=True)
    ]
    intentions = score_intentions(TRAJECTORIES, predicted, matcher or RuleMatcher())
    return [report.measure(i, score_actions(t, a)) for i, t, a in zip(intentions, TRAJECTORIES, actions, strict=True)]


GOLD = [[turn.intention for turn in t.turns] for t in TRAJECTORIES]


def test_the_gold_itself_is_recovered_in_full() -> None:
    found = measured(GOLD)
    for ratios in found:
        for metric in (
            "intention_recovery",
            "precision",
            "priority_accuracy",
            "hard_success",
            "intention_coverage",
            "action_coverage",
        ):
            assert ratios[metric][0] == ratios[metric][1], metric
        assert ratios["action_score"] == pytest.approx(ratios["reference_score"])
    assert found[0]["obsolete_retention"] == (0, 2)
    assert found[0]["obsolete_base_rate"] == (2, 5)
    assert found[0]["intention_recovery, single"] == (2, 2)
    assert found[0]["intention_recovery, compound"] == (2, 2)
    assert found[0]["intention_recovery, changes 2"] == (2, 2)
    assert [found[0][f"atom_recovery, age {age}"] for age in ("1", "2", "3", "4+")] == [(4, 4), (1, 1), (1, 1), (0, 0)]
    assert found[2]["priority, gold must as must"] == (2, 2)


def test_nothing_predicted() -> None:
    """No recovery, nothing to be precise about or to retain; the actor buys what is cheapest."""
    found = measured([[() for _ in states] for states in GOLD])
    shop = found[0]
    assert shop["intention_recovery"] == (0, 5)
    assert (shop["precision"], shop["priority_accuracy"], shop["obsolete_retention"]) == ((0, 0), (0, 0), (0, 0))
    # The steel mug in blue at $9 meets the must-haves of all turns (red and the diets are wishes), of the wishes only the blue.
    assert shop["hard_success"] == (5, 5)
    assert shop["action_score"][0] == pytest.approx(1 + 0 + 1 / 3 + 0 + 0)
    assert shop["failures, incomplete recovery, other requirement"] == (0, 0)
    # Two rooms of the bunk house (80) are cheaper than the loft (200), and no entire home.
    assert found[2]["hard_success"] == (0, 2)
    assert found[2]["failures, incomplete recovery, other requirement"] == (2, 2)


def test_a_slip_shows_where_it_belongs() -> None:
    kept = [*GOLD[0][:3], (RED, CHEAP, SOFT_BLUE), GOLD[0][4]]
    found = measured([kept, *GOLD[1:]])
    assert found[0]["precision"] == pytest.approx((4 + 2 / 3, 5))
    assert found[0]["obsolete_retention"] == (1, 2)
    assert found[0]["predicted new"] == (1 + 2 + 0 + 1 + 2, 14)


def test_rows_stand_by_domain_with_gaps_and_comparisons() -> None:
    nothing = measured([[() for _ in states] for states in GOLD])
    everything = measured(GOLD)
    rows = report.rows("arm", "scripted", TRAJECTORIES, everything)
    by_name = {(row.domain, row.metric): row for row in rows}
    assert by_name["shop", "intention_recovery"].mean == 1.0
    assert by_name["shop", "intention_recovery"].n == 10
    assert by_name["trip", "intention_recovery"].n == 2
    assert by_name["shop", "compound_gap"].mean == 0.0
    assert by_name["trip", "age_gap"].mean is None  # nothing is four turns old there
    assert {row.condition for row in rows} == {"fixed_replay"}
    gains, compared = report.comparison_rows("gain", ("arm", "none"), "scripted", TRAJECTORIES, (everything, nothing), 0.02)
    assert {row.domain: row.mean for row in gains if row.metric == "gain, intention_recovery"} == {"shop": 1.0, "trip": 1.0}
    assert compared["shop, gain, intention_recovery"].verdict == "inconclusive"  # two clusters prove nothing
    taus = report.agreement_rows("scripted", TRAJECTORIES, {"a": everything, "b": nothing})
    assert {row.mean for row in taus if row.domain == "shop"} == {1.0}
    assert "| shop | intention_recovery | 1.000" in report.table(rows)


def test_ungraded_turns_lower_the_coverage_and_nothing_else() -> None:
    class Failing:
        name = "failing"

        def match(self, questions):
            return [Failed("api", "down"), *RuleMatcher().match(questions)[1:]]

    found, whole = measured(GOLD, Failing()), measured(GOLD)
    assert found[0]["intention_coverage"] == (4, 5)
    assert found[0]["intention faults, api"] == (1, 5)
    assert found[0]["intention_recovery"] == (4, 4)
    assert found[0]["hard_success"] == whole[0]["hard_success"]
    assert found[1] == whole[1]
