"""Built trajectories: the same for the same seed, said in full, done by the actor, and mixed as intended."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest

from intentfold.construct.shop_world import ShopWorld, builtin_requests
from intentfold.construct.trajectories import MIXES, build_trajectory, mix_of
from intentfold.construct.trip_world import TripWorld, builtin_records
from intentfold.construct.wording import bank
from intentfold.domains.registry import RULES, unmet
from intentfold.intent import IntentState, canonical, fold
from intentfold.mining.examples import oracle_examples
from intentfold.mining.targets import supported_edits
from intentfold.trajectory import Trajectory, as_episode
from tests.trajectories import journey, mug


def build(domain: str, count: int, wording="train") -> list[Trajectory]:
    rng = random.Random("requests")
    sources = builtin_requests(count, rng, bank(wording, 0, "trajectory_")) if domain == "shop" else builtin_records(count, rng)
    found = []
    for number, source in enumerate(sources):
        place = random.Random(number)
        world = ShopWorld(source, place) if domain == "shop" else TripWorld(source, place)
        found.append(build_trajectory(world, wording, wording, 3, number, MIXES[domain]))
    return found


@pytest.fixture(scope="module")
def built() -> dict[str, list[Trajectory]]:
    return {domain: build(domain, 40) for domain in ("shop", "trip")}


def test_the_same_seed_builds_the_same(built) -> None:
    assert [t.hash() for t in build("shop", 40)] == [t.hash() for t in built["shop"]]
    assert [t.hash() for t in build("trip", 40)] == [t.hash() for t in built["trip"]]


@pytest.mark.parametrize("domain", ["shop", "trip"])
def test_every_change_is_said_and_nothing_else_changes(built, domain) -> None:
    for trajectory in built[domain]:
        before: dict = {}
        for number, turn in enumerate(trajectory.turns):
            now = {(r.field, r.scope): r for r in turn.intention}
            assert len(now) == len(turn.intention)
            touched = {(c.field, c.scope): c.kind for c in turn.changes}
            assert len(touched) == len(turn.changes)
            said = turn.utterance.casefold()
            for place in before.keys() | now.keys():
                old, new = before.get(place), now.get(place)
                if number and place not in touched:
                    assert old == new
                if new is not None and (old is None or old.value != new.value):
                    assert new.value.casefold() in said or all(part.casefold() in said for part in new.split()[0]), (new, said)
                if number and place in touched:
                    seen = {
                        "add": old is None and new is not None,
                        "remove": new is None,
                        "reprioritise": bool(old and new and old.value == new.value and old.priority != new.priority),
                        "override": bool(old and new and old.value != new.value and old.priority == new.priority),
                        "relax": bool(old and new and old.value != new.value and old.priority == new.priority),
                    }
                    assert seen[touched[place]], (trajectory.id, number, place)
            assert (turn.driver in ("feasibility", "preference")) == bool(turn.changes)
            before = now


@pytest.mark.parametrize("domain", ["shop", "trip"])
def test_reference_actions_can_be_done_and_labels_are_true(built, domain) -> None:
    rules = RULES[domain]
    for trajectory in built[domain]:
        missed_before = ()
        for turn in trajectory.turns:
            assert rules.fault(trajectory.environment, turn.reference) == ""
            missed = unmet(domain, trajectory.environment, turn.reference, turn.intention)
            assert turn.feasible == (not any(r.priority == "must" for r in missed))
            if turn.driver == "feasibility":
                first = turn.changes[0]
                assert (first.field, first.scope) in {(r.field, r.scope) for r in missed_before}
            missed_before = missed


@pytest.mark.parametrize("domain", ["shop", "trip"])
def test_the_oracle_edits_are_what_the_window_supports(built, domain) -> None:
    for trajectory in built[domain]:
        episode, before = as_episode(trajectory), IntentState()
        for number, step in enumerate(episode.turns):
            target = supported_edits(before, episode, number, 3)
            assert canonical(fold(before, target)) == canonical(step.state), (trajectory.id, number, step.user, target)
            before = step.state


def test_they_are_training_material(built) -> None:
    examples = [e for t in built["trip"] for e in oracle_examples(as_episode(t))]
    assert {e.provenance.family for e in examples} == {"trip"}
    assert any(re.search(r"SET \((must|preferred|optional); for ", e.completion) for e in examples)
    assert any("REPRIORITIZE" in e.completion for e in examples)


def test_wordings_of_a_split_come_from_its_own_bank(built) -> None:
    other = build("trip", 10, "test")
    assert {t.wording for t in other} == {"test"}
    assert not {u.utterance for t in other for u in t.turns} & {u.utterance for t in built["trip"] for u in t.turns if u.changes}


def test_the_mix_is_counted_by_hand() -> None:
    mix = mix_of([mug(), mug("shop-2")])
    assert (mix.trajectories, mix.origins, mix.turns, mix.changed, mix.events) == (2, 2, 10, 8, 12)
    assert mix.kinds == pytest.approx({"add": 0.5, "override": 1 / 6, "remove": 1 / 6, "reprioritise": 1 / 6}, abs=1e-4)
    assert (mix.compound, mix.feasibility, mix.infeasible_turns) == (0.5, 0.0, 0.0)
    with pytest.raises(ValueError, match="one domain"):
        mix_of([mug(), journey()])


def test_the_mix_comes_near_the_papers(built) -> None:
    """IntentDelta, section 4.3, within what forty trajectories can tell."""
    for domain in ("shop", "trip"):
        mix = mix_of(built[domain])
        assert mix.kinds["reprioritise"] == pytest.approx(mix.paper["reprioritise"], abs=0.08)
        assert mix.compound == pytest.approx(mix.paper["compound"], abs=0.1)
        assert mix.feasibility == pytest.approx(mix.paper["feasibility"], abs=0.12)
        assert set(mix.kinds) == {"add", "override", "relax", "remove", "reprioritise"}
        assert Counter(t.domain for t in built[domain]) == {domain: 40}
