"""Trajectories as records, and as the episodes that trackers train on."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from intentfold.codec.edits import encode_edits
from intentfold.intent import IntentState, canonical, fold
from intentfold.records import RecordError, from_json, to_json, write_jsonl
from intentfold.trajectory import Requirement, Trajectory, as_episode, as_intention, as_state, read_trajectories
from tests.trajectories import CHEAP, journey, mug, need


def test_round_trip_and_hash(tmp_path) -> None:
    path = tmp_path / "t.jsonl"
    write_jsonl(path, [mug(), journey()])
    assert read_trajectories(path) == [mug(), journey()]
    assert from_json(Trajectory, to_json(mug())).hash() == mug().hash()
    assert mug().hash() != mug("shop-2").hash()


FAULTS = [
    (lambda data: data.update(version=2), "version"),
    (lambda data: data.update(extra=1), "extra"),
    (lambda data: data["turns"][1]["intention"][0].update(priority=None), "turn 1, 'color': a gold requirement needs a priority"),
    (lambda data: data["turns"][0]["intention"][0].update(priority="maybe"), "turns.0.intention.0.priority"),
    (lambda data: data["turns"][0]["intention"][0].update(value=" "), "the value is blank"),
    (lambda data: data["turns"][0]["intention"][0].update(value="a and b or c"), "either `a and b` or `a or b`"),
    (lambda data: data["turns"][0].update(driver="mood"), "turns.0.driver"),
    (lambda data: data.update(turns=[]), "has no turns"),
]


@pytest.mark.parametrize(("spoil", "message"), FAULTS)
def test_a_bad_line_is_named_with_file_line_and_field(tmp_path, spoil, message) -> None:
    data = to_json(mug())
    spoil(data)
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(to_json(mug())) + "\n" + json.dumps(data) + "\n")
    with pytest.raises(RecordError) as error:
        read_trajectories(path)
    assert f"{path}:2: " in str(error.value)
    assert message in str(error.value)


def test_a_missing_file_says_what_was_expected(tmp_path) -> None:
    with pytest.raises(RecordError, match="build_trajectories"):
        read_trajectories(tmp_path / "none.jsonl")


SPLITS = [
    ("blue", (("blue",), "and")),
    ("gluten free and nut free", (("gluten free", "nut free"), "and")),
    ("blue or red or green", (("blue", "red", "green"), "or")),
    ("sandal", (("sandal",), "and")),
    ("organic", (("organic",), "and")),
]


@pytest.mark.parametrize(("value", "parts"), SPLITS)
def test_parts_of_a_value(value, parts) -> None:
    assert Requirement("f", value).split() == parts


def test_an_episode_holds_the_intentions_as_states_and_their_differences_as_edits() -> None:
    episode, state = as_episode(mug()), IntentState()
    written = []
    for told, step in zip(mug().turns, episode.turns, strict=True):
        written.append(encode_edits(step.edits, state))
        state = fold(state, step.edits)
        assert state == step.state
        assert canonical(state) == canonical(as_state(told.intention))
        assert step.user == told.utterance
    assert written == [
        "SET (must) color: blue",
        "SET (must) price: under $20\nSET (preferred) material: glass",
        "REPRIORITIZE color: optional",
        "DELETE material\nSET color: red",
        "SET (optional) diet: gluten free and nut free",
    ]
    assert [step.reply for step in episode.turns] == ["Noted."] * 4 + [""]
    assert episode.turns[3].phenomena == ("override", "remove", "preference", "compound")
    assert (episode.split, episode.task.family, episode.task.origin) == ("test", "shop", "origin of shop-1")


def test_scopes_stand_in_edits() -> None:
    episode = as_episode(journey())
    assert encode_edits(episode.turns[1].edits, episode.turns[0].state) == "SET (preferred; for Ana) cuisine: Chinese"


def test_a_state_says_its_intention() -> None:
    for step, told in zip(as_episode(mug()).turns, mug().turns, strict=True):
        assert sorted(as_intention(step.state), key=str) == sorted(told.intention, key=str)


def test_a_missing_intention_is_an_error_or_carried() -> None:
    turns = (*mug().turns[:2], replace(mug().turns[2], intention=None), *mug().turns[3:])
    holey = replace(mug(), turns=turns)
    with pytest.raises(ValueError, match="turn 2: has no intention"):
        as_episode(holey)
    carried = as_episode(holey, carry=True)
    assert carried.turns[2].state == carried.turns[1].state
    assert CHEAP in as_intention(carried.turns[4].state)
    assert need("color", "red", "optional") in as_intention(carried.turns[4].state)
