"""Scripted trackers: the oracle, and one of known quality."""

from __future__ import annotations

import pytest

from intentfold.intent import Edit, IntentState, canonical, fold
from intentfold.metrics.state import comparable
from intentfold.runtime.episodes import track
from intentfold.runtime.scripted import _carried_over, lapsing_backend, oracle_backend
from tests.episodes import episode as told
from tests.episodes import house, small_house, table_task

GUESTS = (Edit("ADD", slot="guests", value="3"),)


@pytest.mark.parametrize("codec", ["delta", "full"])
def test_without_lapses_it_is_the_oracle(codec) -> None:
    episodes = [house(), small_house()]
    for episode, folds in zip(episodes, track(episodes, lapsing_backend(episodes, 0.0, 0, codec), codec=codec), strict=True):
        for turn, found in zip(episode.turns, folds, strict=True):
            kept = {entry[0] for entry in canonical(comparable(found.state)) if entry[0][0] == "goal"}
            assert kept == {entry[0] for entry in canonical(comparable(turn.state)) if entry[0][0] == "goal"}


@pytest.mark.parametrize("codec", ["delta", "full"])
def test_two_episodes_that_want_other_edits_for_one_prompt(codec) -> None:
    edit = {city: (Edit("ADD", slot="city", value=city),) for city in ("Lisbon", "Porto")}
    last = ("Go ahead.", (), "")
    # The usual place is another for each; only the reply tells them apart.
    stories = [
        told(table_task(), city, ("The usual place.", edit[city], f"{city}, then."), ("Three guests.", GUESTS, "Fine."), last)
        for city in ("Lisbon", "Porto")
    ]
    first, second = track(stories, oracle_backend(stories, codec), codec=codec)
    assert [canonical(fold.state) for fold in first] == [canonical(turn.state) for turn in stories[0].turns]
    assert [item.text for item in second[0].state.items] == ["city: Lisbon"]
    assert [canonical(fold.state) for fold in second[1:]] == [canonical(turn.state) for turn in stories[1].turns[1:]]


@pytest.mark.parametrize("codec", ["delta", "full"])
def test_the_oracle_keeps_to_the_oracles_states(codec) -> None:
    episodes = [house(), small_house()]
    for story, folds in zip(episodes, track(episodes, oracle_backend(episodes, codec), codec=codec), strict=True):
        assert [canonical(fold.state) for fold in folds] == [canonical(turn.state) for turn in story.turns]


def test_a_rate_of_one_edits_nothing_and_seeds_differ() -> None:
    episodes = [house()]
    assert track(episodes, lapsing_backend(episodes, 1.0, 0))[0][-1].state.items == ()
    written = {tuple(fold.raw for fold in track(episodes, lapsing_backend(episodes, 0.5, seed))[0]) for seed in range(8)}
    assert len(written) > 3
    assert track(episodes, lapsing_backend(episodes, 0.5, 3)) == track(episodes, lapsing_backend(episodes, 0.5, 3))


def test_edits_go_to_what_the_own_state_has_of_the_items_they_are_about() -> None:
    own = fold(IntentState(), [Edit("ADD", slot="pool", value="yes")])
    oracle = fold(IntentState(), [Edit("ADD", slot="city", value="Oslo"), Edit("ADD", slot="pool", value="yes")])
    edits = (Edit("DELETE", id=2), Edit("REPLACE", id=1, value="Rome"), Edit("ADD", slot="guests", value="3"))
    # The city was lost before: its replacement is lost with it.
    assert _carried_over(edits, own, oracle) == [Edit("DELETE", id=1), Edit("ADD", slot="guests", value="3")]
