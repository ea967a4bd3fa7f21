"""Metrics of learned assets: satisfaction, paths, repeated runs, by hand and by an independent computation."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from intentfold.metrics.live import lift, lifts, measures, satisfaction, untraced
from intentfold.trace import LiveRun


def run(target: str, first: str, final: str, **rest) -> LiveRun:
    def bits(text: str) -> tuple[bool, ...]:
        return tuple(character == "1" for character in text)

    nothing = "0" * len(first)
    return LiveRun(
        method=rest.get("method", "live_assets"),
        kind="replay",
        target=target,
        cluster=rest.get("cluster", "u"),
        run=rest.get("run", 0),
        weights=rest.get("weights", (1.0,) * len(first)),
        first=bits(first),
        final=bits(final),
        selected=None if rest.get("untraced") else bits(rest.get("selected", "1" * len(first))),
        identified=None if rest.get("untraced") else bits(rest.get("identified", nothing)),
        acted=bits(rest.get("acted", nothing)),
        passed=rest.get("passed", True),
        revisions=rest.get("revisions", 0),
        untraced=rest.get("untraced", ""),
    )


def test_tokens_are_those_of_models_and_a_scripted_role_has_none() -> None:
    runs = [
        replace(run("a", "1", "1"), tokens={"worker": 30, "selection": 5}),
        replace(run("a", "1", "1", run=1), tokens={"worker": 50, "selection": 5}),
        replace(run("b", "1", "1", cluster="v"), tokens={"worker": 40}),
    ]
    found = measures(runs)
    means = {name: None if one is None else (one.mean, one.n) for name, one in found.items() if name.startswith("tokens")}
    assert means == {
        "tokens a run, worker": (40.0, 3),
        "tokens a run, checker": None,
        "tokens a run, selection": (pytest.approx(10 / 3), 3),
        "tokens a run": (pytest.approx(130 / 3), 3),
    }
    assert measures([run("a", "1", "1")])["tokens a run"] is None


def test_satisfaction_is_weighted() -> None:
    one = run("t", "100", "101", weights=(2.0, 1.0, 1.0))
    assert satisfaction(one) == pytest.approx(3 / 4)
    assert satisfaction(one, first=True) == pytest.approx(1 / 2)


def test_executions_are_averaged_within_a_target_and_targets_weigh_the_same() -> None:
    runs = [run("a", "0", "0"), run("b", "1", "1", cluster="v"), run("b", "1", "1", run=1, cluster="v")]
    found = measures(runs)["satisfaction"]
    assert found is not None
    assert (found.mean, found.n) == (0.5, 2)


def test_the_path_of_what_the_first_candidate_fails() -> None:
    runs = [
        # found, acted on, fulfilled; the same in vain; found, fulfilled by luck; not found; fulfilled without being found
        run("a", "000001", "101011", identified="111000", acted="110010", passed=False, revisions=2),
        run("a", "111111", "111111", run=1),
        run("b", "1", "0", cluster="v"),
        run("b", "1", "1", cluster="v", run=1, passed=False),
    ]
    found = {name: None if one is None else one.mean for name, one in measures(runs).items()}
    assert found["identified"] == pytest.approx(3 / 5)
    assert found["identified and acted on"] == pytest.approx(2 / 5)
    assert found["identified, acted on, fulfilled"] == pytest.approx(1 / 5)
    assert found["fulfilled given identified"] == pytest.approx(2 / 3)
    assert found["passed with unmet, of all runs"] == pytest.approx(1 / 4)
    assert found["passed with unmet, of those that pass"] == pytest.approx(1 / 2)
    assert found["difference between two runs"] == pytest.approx((1 / 3 + 1.0) / 2)
    assert found["revisions"] == pytest.approx(0.5)


def test_selection_is_the_first_step_of_the_path() -> None:
    runs = [
        # the first is met at once; of four that fail, two were selected, one of them found
        run("a", "10000", "11001", selected="10110", identified="00100"),
        run("b", "00", "00", cluster="v", untraced="notes hold no intents", method="skill"),
    ]
    found = {name: None if one is None else (one.mean, one.n) for name, one in measures(runs).items()}
    assert found["selected"] == (pytest.approx(2 / 4), 4)
    assert found["identified"] == (pytest.approx(1 / 4), 4)
    assert found["identified given selected"] == (pytest.approx(1 / 2), 2)
    assert found["runs whose findings cannot be followed"] == (pytest.approx(1 / 2), 2)
    assert untraced(runs) == {"skill": "notes hold no intents"}
    alone = measures(runs[1:])
    assert [alone[name] for name in ("selected", "identified", "identified given selected")] == [None] * 3


def test_requirements_met_in_both_runs() -> None:
    runs = [run("a", "00", "10"), run("a", "00", "11", run=1)]
    found = measures(runs)["requirements met in both runs"]
    assert found is not None
    assert (found.mean, found.n) == (0.5, 2)


def test_lifts_against_an_independent_computation() -> None:
    rng = random.Random(0)
    ours, theirs, expected = [], [], []
    for number in range(40):
        a, b = (["".join(rng.choices("01", k=3)) for _ in range(2)] for _ in range(2))
        for place in range(2):
            ours.append(run(f"t{number}", "000", a[place], run=place, cluster=f"u{number % 7}"))
            theirs.append(
                run(f"t{number}", "000", b[place], run=place, cluster=f"u{number % 7}", method="no_runtime", passed=None)
            )
        expected.append(sum(c == "1" for c in "".join(a)) / 6 - sum(c == "1" for c in "".join(b)) / 6)
    found = lift(ours, theirs, 0.02)
    assert found.mean == pytest.approx(sum(expected) / 40)
    assert (found.n, found.clusters) == (40, 7)
    assert lifts([*ours, *theirs], 0.02) == {("live_assets", "replay", "lift over no_runtime"): found}
    with pytest.raises(ValueError, match="the same targets, in the same order"):
        lift(ours, theirs[::-1], 0.02)


def test_a_method_without_a_checker_passes_nothing() -> None:
    found = measures([run("a", "0", "0", passed=None)])
    assert found["passed with unmet, of those that pass"] is None
    assert found["passed with unmet, of those checked"] is None


def test_a_run_in_which_nothing_was_checked_is_no_pass_and_shows() -> None:
    runs = [run("a", "0", "0", passed=None), run("b", "0", "0"), run("c", "0", "0", passed=False), run("d", "1", "1")]
    found = {name: None if one is None else one.mean for name, one in measures(runs).items()}
    assert found["runs in which something was checked"] == pytest.approx(3 / 4)
    assert found["passed with unmet, of all runs"] == pytest.approx(1 / 4)
    assert found["passed with unmet, of those checked"] == pytest.approx(1 / 3)
    assert found["passed with unmet, of those that pass"] == pytest.approx(1 / 2)
