"""Splits by origin, the papers' pools, and a gate that a leak does not pass."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from intentfold.construct.build import Plan, Source, build_and_keep, shards
from intentfold.construct.episode import build_episode
from intentfold.construct.leakage import TrainingIndex, leakage_error
from intentfold.construct.splits import INTERACTIVE_POOL, POOLS, in_pool, split_of
from intentfold.intent import Edit, fold
from tests.services import record, written
from tests.tasks import flight_task


def test_splits_are_a_function_of_the_origin_at_the_stated_shares() -> None:
    splits = [split_of(f"origin {n}", "tools") for n in range(4000)]
    assert splits == [split_of(f"origin {n}", "tools") for n in range(4000)]
    assert 0.77 < splits.count("train") / 4000 < 0.83
    assert 0.08 < splits.count("test") / 4000 < 0.12
    assert split_of("origin 1", "tools", held_out=["tools"]) == "held_out_family"


def test_pools_do_not_overlap_and_cover_everything() -> None:
    for n in range(2000):
        assert sum(in_pool(f"origin {n}", "tools", pool) for pool in POOLS) == 1


def test_a_shared_origin_is_a_leak() -> None:
    train = build_episode(flight_task(), 3, "train", "train", 1)
    test = build_episode(flight_task(), 3, "test", "test", 2)
    assert {"origin", "final state"} <= {leak.kind for leak in TrainingIndex([train]).leaks(test)}
    kept, leaks = TrainingIndex([train]).part([test])
    assert kept == []
    assert "flight-1-b3-test-2: origin: 'flight-1'" in str(leakage_error("test", leaks))


def test_a_nearly_equal_user_turn_is_a_leak() -> None:
    train = build_episode(flight_task(), 1, "train", "train", 1)
    turn = next(turn for turn in train.turns if turn.edits)
    said = "please could you set the destination city to the sunny town of Lisbon for me"
    told = replace(train, turns=(replace(turn, user=said),))
    elsewhere = fold(turn.state, [Edit("ADD", slot="pet", value="cat")])
    twin = replace(turn, user=said + " thanks", state=elsewhere)
    other = replace(told, task=replace(told.task, origin="o2", request="Another."), turns=(twin,))
    assert [leak.kind for leak in TrainingIndex([told]).leaks(other)] == ["user turn"]
    apart = replace(other, turns=(replace(twin, user="my destination would be Lisbon if you can manage that somehow"),))
    assert TrainingIndex([told]).leaks(apart) == []
    assert TrainingIndex([told]).part([apart]) == ([apart], [])


def test_what_only_a_judge_can_grade_is_in_the_interactive_pool_and_in_no_other_build(tmp_path: Path) -> None:
    data = written(tmp_path / "data", record("1"), record("2"))
    built = {}
    for pool in (None, *POOLS, INTERACTIVE_POOL):
        plan = Plan((Source("vitabench", 2, real=True),), (1,), 0, pool=pool, data=data)
        built[pool] = build_and_keep(plan, shards(plan)[0], tmp_path / str(pool))
    assert {pool for pool, count in built.items() if count} == {INTERACTIVE_POOL} and built[INTERACTIVE_POOL] == 2
