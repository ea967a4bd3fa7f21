"""Episodes: the oracle's edits and states agree, end at the task's goals, and every stale item costs credit."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from intentfold.construct.episode import Style, build_episode
from intentfold.construct.simulator import conclusion_value
from intentfold.construct.stale import Unbuildable, as_items
from intentfold.graders import grade
from intentfold.intent import IntentState, canonical, fold
from intentfold.records import from_json, to_json
from intentfold.runtime.executor import execute
from intentfold.task import Goal
from intentfold.trace import Episode, Load
from tests.tasks import SLOTS, flight_task

SEEDS = range(25)


def episodes(load: Load = 3) -> list[Episode]:
    return [build_episode(flight_task(), load, "train", "train", seed) for seed in SEEDS]


@pytest.mark.parametrize("load", [1, 3, 5])
def test_edits_lead_from_state_to_state(load: Load) -> None:
    for episode in episodes(load):
        state = IntentState()
        for turn in episode.turns:
            state = fold(state, turn.edits)
            assert state == turn.state


BRANCHY = Style(branches=3)


def test_branches_are_other_turns_from_the_same_state() -> None:
    for seed in SEEDS:
        episode = build_episode(flight_task(), 3, "train", "train", seed, style=BRANCHY)
        before, texts = IntentState(), set()
        for number, turn in enumerate(episode.turns):
            assert len(turn.branches) == 3
            for place, branch in enumerate(turn.branches, start=1):
                taken = episode.taking(number, place)
                assert taken.turns[:-1] == episode.turns[:number]
                assert taken.final_state == fold(before, branch.edits)
                assert taken.drift()[:-1] == episode.drift(number)[:-1]
                assert taken.drift()[-1].content == branch.user
                texts.add(branch.user)
            before = turn.state
        # Branches are of their own: hardly two of a dialogue are worded alike.
        assert len(texts) > 2 * len(episode.turns)


def test_branches_hold_changes_of_mind_that_no_schedule_holds() -> None:
    episodes = [build_episode(flight_task(), 1, "train", "train", seed, style=BRANCHY) for seed in range(12)]
    scheduled = {turn.user for episode in episodes for turn in episode.turns}
    strays = [b for e in episodes for turn in e.turns for b in turn.branches if b.user not in scheduled]
    ops = Counter(edit.op for branch in strays for edit in branch.edits)
    phenomena = Counter(p for branch in strays for p in branch.phenomena)
    assert min(ops[op] for op in ("ADD", "REPLACE", "DELETE", "REPRIORITIZE")) >= 5, ops
    # At load 1 a schedule has few variants: most replacements are strays.
    assert ops["REPLACE"] > sum(edit.op == "REPLACE" for e in episodes for turn in e.turns for edit in turn.edits)
    assert min(phenomena[p] for p in ("anaphora", "readd", "back")) >= 5, phenomena


def test_held_out_dialogues_have_no_branches() -> None:
    episode = build_episode(flight_task(), 3, "test", "test", 0, style=BRANCHY)
    assert not any(turn.branches for turn in episode.turns)


def test_the_last_state_is_what_the_task_asks_for() -> None:
    for episode in episodes():
        goals = {(item.slot, item.value) for item in episode.final_state.items if item.kind == "goal"}
        assert goals == set(SLOTS)
        assert grade(episode.task, execute(episode.task, episode.final_state.items).answer).full


@pytest.mark.parametrize("load", [1, 3, 5])
def test_the_load_is_the_number_of_verified_variants_and_decoys(load: Load) -> None:
    for episode in episodes(load):
        kinds = [stale.kind for stale in episode.stale]
        assert (kinds.count("variant"), kinds.count("decoy")) == (load, load)
        for stale in episode.stale:
            kept = [goal for goal in episode.task.goals if goal.slot != stale.slot]
            obeyed = (*kept, Goal("stale", stale.text, stale.slot, stale.value))
            assert not grade(episode.task, execute(episode.task, as_items(obeyed)).answer).full


def test_every_stale_item_was_once_active_and_is_not_at_the_end() -> None:
    for episode in episodes():
        ever = {item.text for turn in episode.turns for item in turn.state.items}
        # A turn may state and take back at once only what another turn shows; decoys stand at least one turn.
        decoys = {stale.text for stale in episode.stale if stale.kind == "decoy"}
        assert decoys <= ever
        assert not decoys & {item.text for item in episode.final_state.items}


def test_the_last_turn_is_neutral() -> None:
    for episode in episodes():
        last = episode.turns[-1]
        assert all(edit.kind == "conclusion" for edit in last.edits)
        assert last.phenomena == ("final",)
        assert not any(value.casefold() in last.user.casefold().split() for _, value in SLOTS)


def test_no_drift_has_the_same_turns_and_states_the_requirements_first() -> None:
    for episode in episodes():
        assert len(episode.no_drift) == len(episode.drift())
        assert [turn.role for turn in episode.no_drift] == [turn.role for turn in episode.drift()]
        assert all(value in episode.no_drift[0].content for _, value in SLOTS)
        assert episode.no_drift[0].content == episode.clean


def test_the_phenomena_all_occur() -> None:
    seen = {p for load in (1, 3, 5) for episode in episodes(load) for turn in episode.turns for p in turn.phenomena}
    wanted = "anaphora implicit several back readd chat mention confirm ordinal answer priority format final"
    assert set(wanted.split()) <= seen


def test_conclusions_are_stated_and_invalidated() -> None:
    stated = fallen = 0
    for episode in episodes(5):
        before: set[str] = set()
        for turn in episode.turns:
            now = {item.text for item in turn.state.items if item.kind == "conclusion"}
            stated += len(now - before)
            fallen += len(before - now)
            before = now
    assert stated > 5
    assert fallen > 5


@pytest.mark.parametrize(
    ("value", "concluded"),
    [
        ("7", "14"),
        ("07", "14"),
        ("-2.5", "-5"),
        ("1,200", "2400"),
        ("١٢", None),
        ("1_0", None),
        ("1e5", None),
        ("9" * 5000, None),
    ],
)
def test_a_conclusion_is_drawn_from_any_value_that_a_model_may_propose(value: str, concluded: str | None) -> None:
    entry = {"slot": "total", "depends_on": ["a", "b"], "expression": "{a} * {b}"}
    assert conclusion_value(entry, {"a": value, "b": "2"}) == concluded


def test_the_same_arguments_give_the_same_episode_and_it_survives_json() -> None:
    first, again = (build_episode(flight_task(), 3, "dev", "dev", 4) for _ in range(2))
    assert first.hash() == again.hash()
    assert from_json(Episode, to_json(first)) == first
    assert build_episode(flight_task(), 3, "dev", "dev", 5).hash() != first.hash()


def test_a_task_whose_reference_fails_is_unbuildable() -> None:
    task = flight_task()
    wrong = {**task.payload["reference"], "possible": [{"book_flight": {"travel date": ["never"]}}]}
    with pytest.raises(Unbuildable, match="reference answer not credited"):
        build_episode(replace(task, payload={**task.payload, "reference": wrong}), 1, "train", "train", 0)


def test_a_decoy_without_consequence_is_not_used() -> None:
    task = flight_task()
    possible = [{"book_flight": {**task.payload["reference"]["possible"][0]["book_flight"], "meal": ["", "vegan", "halal"]}}]
    lenient = replace(task, payload={**task.payload, "reference": {**task.payload["reference"], "possible": possible}})
    for seed in SEEDS:
        assert "meal" not in {stale.slot for stale in build_episode(lenient, 5, "train", "train", seed).stale}


def test_oracle_states_differ_only_by_what_the_turn_says() -> None:
    for episode in episodes():
        before = IntentState()
        for turn in episode.turns:
            if turn.phenomena and turn.phenomena[0] in ("chat", "mention", "confirm", "confirm_all", "ask_status"):
                goals = {item for item in canonical(before) if item[0][0] == "goal"}  # type: ignore[index]
                assert goals == {item for item in canonical(turn.state) if item[0][0] == "goal"}  # type: ignore[index]
            before = turn.state
