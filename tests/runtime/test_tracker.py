"""Folding at run time: what a model prints becomes a state, and never breaks one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intentfold.codec.full import encode_state
from intentfold.dialogue import Turn
from intentfold.intent import Edit, IntentState, fold
from intentfold.prompts.tracker import tracker_prompt
from intentfold.runtime.roles import BackendError, Completion
from intentfold.runtime.scripted import CannedBackend, null_backend, oracle_backend
from intentfold.runtime.tracker import Tracker, fold_many, read_fold
from tests.episodes import house, small_house

CITY = fold(IntentState(), [Edit("ADD", slot="city", value="Oslo")])


def wrote(text: str, stopped: bool = True) -> Completion:
    return Completion(text, 10, len(text.split()), stopped)


def test_a_tracker_alone_follows_a_dialogue() -> None:
    episode = house()
    tracker = Tracker(oracle_backend([episode]))
    reply = ""
    for turn in episode.turns:
        assert tracker.fold(turn.user, reply).state == turn.state
        reply = turn.reply
    assert tracker.dialogue == episode.drift()


def test_many_trackers_fold_in_one_call() -> None:
    calls = []

    class Counting(CannedBackend):
        def complete(self, prompts, max_tokens):
            calls.append(len(prompts))
            return super().complete(prompts, max_tokens)

    episodes = [house(), small_house()]
    oracle = oracle_backend(episodes)
    backend = Counting(oracle.texts)
    trackers = [Tracker(backend) for _ in episodes]
    folds = fold_many(trackers, [e.turns[0].user for e in episodes], ["", ""])
    assert calls == [2]
    assert [f.state for f in folds] == [e.turns[0].state for e in episodes]
    with pytest.raises(ValueError, match="must share backend"):
        fold_many([trackers[0], Tracker(backend, window=None)], ["a", "b"], ["", ""])


def test_the_prompt_is_that_of_training() -> None:
    seen = []

    class Watching(CannedBackend):
        def complete(self, prompts, max_tokens):
            seen.extend(prompts)
            return super().complete(prompts, max_tokens)

    episode = house()
    tracker = Tracker(Watching(oracle_backend([episode]).texts))
    for number, turn in enumerate(episode.turns):
        tracker.fold(turn.user, episode.turns[number - 1].reply if number else "")
    states = [IntentState(), *(turn.state for turn in episode.turns[:-1])]
    assert seen == [tracker_prompt(state, episode.drift(n)) for n, state in enumerate(states)]


def test_rejected_edits_are_counted_with_their_reasons() -> None:
    result = read_fold(CITY, wrote("REPLACE #1: Bergen\nDELETE #7\nhello"))
    assert [item.text for item in result.state.items] == ["city: Bergen"]
    assert sorted(r.reason for r in result.rejected) == ["7 is not active", "not an edit"]
    assert len(result.edits) == 2


def test_a_line_cut_off_by_the_token_limit_is_no_edit() -> None:
    result = read_fold(CITY, wrote("ADD guests: 3\nREPLACE #1: San Fran", stopped=False))
    assert [item.text for item in result.state.items] == ["city: Oslo", "guests: 3"]
    assert [r.reason for r in result.rejected] == ["cut off at the limit of tokens"]
    assert read_fold(CITY, wrote("REPLACE #1: San Fran", stopped=False)).state == CITY


def test_the_full_codec_gives_edits_from_a_whole_state() -> None:
    target = fold(CITY, [Edit("REPLACE", id=1, value="Bergen"), Edit("ADD", slot="guests", value="2")])
    result = read_fold(CITY, wrote(encode_state(target)), "full")
    assert {item.text for item in result.state.items} == {"city: Bergen", "guests: 2"}
    assert result.edits[0].op == "REPLACE"


LINES = st.lists(st.sampled_from(["ADD a: b", "DELETE #1", "REPLACE #1: x", "NONE", "ADD [#1] c: d", "x"])).map("\n".join)


@given(st.text(max_size=200) | LINES, st.booleans(), st.sampled_from(["delta", "full"]))
def test_nothing_a_model_prints_can_break_a_state(text, stopped, codec) -> None:
    result = read_fold(CITY, wrote(text, stopped), codec)
    assert result.raw == text
    assert result.state.next_id >= CITY.next_id


def test_scripted_backends() -> None:
    with pytest.raises(BackendError, match="nothing is written for the prompt that ends 'hello'"):
        CannedBackend({}).complete([(Turn("user", "hello"),)], 8)
    assert Tracker(null_backend(), state=CITY).fold("whatever").state == CITY
