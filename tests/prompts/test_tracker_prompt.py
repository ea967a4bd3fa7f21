"""The tracker's prompt: what it shows, in which order, and what its template's identity covers."""

from __future__ import annotations

import itertools

import pytest

from intentfold.intent import Edit, IntentState, fold
from intentfold.prompts.templates import template_hash
from intentfold.prompts.tracker import tracker_prompt, tracker_template_hash, trunk, trunk_of
from tests.tiny import script, tiny_episodes

[EPISODE] = tiny_episodes(1, turns=4)
STATE = fold(fold(IntentState(), (Edit("ADD", slot="city", value="Oslo"),)), (Edit("REPLACE", id=1, value="Rome"),))


def test_the_whole_history_stands_before_the_state() -> None:
    dialogue = EPISODE.drift(1)
    [_, asked] = tracker_prompt(STATE, dialogue, window=None)
    first, reply, second = (turn.content for turn in dialogue)
    shown = f"User: {first}\nAgent: {reply}\nUser: {second}\nState:\ncity: Rome\nRetired:\ncity: Oslo"
    assert asked.content == shown
    [_, told] = tracker_prompt(STATE, dialogue, window=None, privileged=(Edit("ADD", slot="day", value="Friday"),))
    assert told.content == f"{shown}\nRight answer:\nSET day: Friday"
    [_, bare] = tracker_prompt(IntentState(), dialogue, window=None)
    assert bare.content.endswith("\nState:\nempty")


def test_a_window_stands_behind_the_state() -> None:
    dialogue = EPISODE.drift(2)
    [_, asked] = tracker_prompt(STATE, dialogue, window=1)
    assert asked.content == f"State:\ncity: Rome\nRetired:\ncity: Oslo\nUser: {dialogue[-1].content}"
    assert trunk_of(asked.content) == ""


def test_whatever_the_state_is_a_turn_begins_with_the_trunk_of_the_turn_before() -> None:
    trunks = [trunk(EPISODE.drift(turn)) for turn in range(4)]
    for before, after in itertools.pairwise(trunks):
        assert after.startswith(before)
        assert len(after) > len(before)
    for turn, shared in enumerate(trunks):
        for state in (IntentState(), STATE, EPISODE.turns[turn].state):
            for privileged in (None, ()):
                content = tracker_prompt(state, EPISODE.drift(turn), window=None, privileged=privileged)[-1].content
                assert content.startswith(f"{shared}State:\n")
                assert trunk_of(content) == shared


@pytest.mark.parametrize(("codec", "recorded"), [("delta", "6f683fb9fbece727"), ("full", "d99f9e83252a5db0")])
def test_the_identity_of_windows_is_that_of_recorded_adapters(codec: str, recorded: str) -> None:
    assert tracker_template_hash(codec) == recorded  # type: ignore[arg-type]
    assert template_hash(codec) == template_hash(codec, 5) == recorded
    assert template_hash(codec, None) not in (recorded, template_hash("verdict"))


def test_a_late_turn_costs_no_more_than_an_early_one_with_as_many_items() -> None:
    made_up = script("scripts/bench_turns.py").made_up
    size = {}
    for window in (3, None):
        for turn in (10, 100):
            prompts = [tracker_prompt(*made_up(turn, first), window=window) for first in range(7)]
            assert all(prompt[1].content.count(":") > 6 for prompt in prompts)
            size[window, turn] = sum(len(message.content.encode()) for prompt in prompts for message in prompt)
    assert {len(made_up(turn, 0)[0].items) for turn in (10, 100)} == {6}
    assert size[3, 100] <= 1.1 * size[3, 10]
    assert size[None, 100] > 5 * size[None, 10], "it is the state that keeps it so"
