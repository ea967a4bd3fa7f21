"""MultiWOZ and Schema-Guided annotations: states by slot, alternatives, carried services, and what is refused."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from intentfold.construct.human_dialogues import human_episode
from intentfold.graders import NoGrader, grade
from intentfold.mining.examples import oracle_examples
from intentfold.runtime.episodes import control_view, tracker_view
from intentfold.runtime.executor import execute
from intentfold.sources.loading import SourceError
from intentfold.sources.multiwoz import load_multiwoz
from intentfold.sources.schema_guided import load_schema_guided
from intentfold.trace import Episode


def hotel(**semi: str) -> dict[str, Any]:
    return {"hotel": {"semi": {"area": "", "stars": "not mentioned", **semi}, "book": {"booked": [{"name": "x"}], "stay": ""}}}


def log(*turns: tuple[str, dict[str, Any], str]) -> dict[str, Any]:
    return {
        "log": [m for user, state, reply in turns for m in ({"text": user, "metadata": {}}, {"text": reply, "metadata": state})]
    }


DIALOGUE = log(
    ("A hotel in the east or the west, four stars.", hotel(area="east|west", stars="4"), "Which area?"),
    ("The north. Stars do not matter.", hotel(area="north", stars="dontcare"), "Noted."),
    ("Any area.", hotel(stars="dontcare"), "Fine."),
)


def multiwoz(folder: Path, record: dict[str, Any] = DIALOGUE) -> Episode:
    path = folder / "val.json.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("val.json", json.dumps({"D1": record}))
    dialogues, skipped = load_multiwoz(path)
    assert skipped == {}
    return human_episode(dialogues[0], "train", "train")


def test_states_become_edits_that_keep_identity(tmp_path: Path) -> None:
    episode = multiwoz(tmp_path)
    states = [{item.slot: (item.id, item.value) for item in turn.state.items} for turn in episode.turns]
    assert states == [
        {"hotel area": (1, "east"), "hotel stars": (2, "4")},
        {"hotel area": (1, "north"), "hotel stars": (2, "no preference")},
        {"hotel stars": (2, "no preference")},
    ]
    assert [[edit.op for edit in turn.edits] for turn in episode.turns] == [["ADD", "ADD"], ["REPLACE", "REPLACE"], ["DELETE"]]
    assert episode.turns[0].phenomena == ("add", "several", "unspoken"), "`4` is `four` in the user's words"
    assert "no_preference" in episode.turns[1].phenomena and episode.turns[-1].reply == ""
    assert episode.id == "multiwoz21/D1" and episode.task.license == "CC-BY-4.0"


def test_what_the_annotation_changes_counts_as_said_though_it_is_reworded(tmp_path: Path) -> None:
    first, second, _ = oracle_examples(multiwoz(tmp_path))
    assert "hotel stars: 4" in first.completion and "hotel stars: no preference" in second.completion


def test_people_s_dialogues_are_scored_by_nobody(tmp_path: Path) -> None:
    episode = multiwoz(tmp_path)
    with pytest.raises(NoGrader, match="answers of form 'state' are not graded"):
        grade(episode.task, "anything")
    with pytest.raises(ValueError, match="nothing to execute"):
        execute(episode.task, episode.final_state.items)
    for condition in ("clean", "drift", "no_drift", "oracle_state"):
        with pytest.raises(ValueError, match=r"multiwoz21/D1: serves trackers alone.*eval/state_tracking.py"):
            control_view(episode, condition, executor=True)
    with pytest.raises(ValueError, match="serves trackers alone"):
        tracker_view(episode, [])


def test_malformed_annotations_are_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"dialogue D1, turn 1: field metadata.hotel.semi.area must be a text, got .*east"):
        multiwoz(tmp_path, log(("Hello", hotel(area=["east"]), "Hi")))  # type: ignore[arg-type]
    (tmp_path / "bad.json").write_text("[]")
    with pytest.raises(SourceError, match="expected dialogues by name, got list"):
        load_multiwoz(tmp_path / "bad.json")


def frame(service: str, **values: list[str]) -> dict[str, Any]:
    return {"service": service, "slots": [], "state": {"active_intent": "Find", "requested_slots": [], "slot_values": values}}


def user(text: str, *frames: dict[str, Any]) -> dict[str, Any]:
    return {"speaker": "USER", "utterance": text, "frames": list(frames)}


def system(text: str) -> dict[str, Any]:
    return {"speaker": "SYSTEM", "utterance": text, "frames": []}


def schema_guided(folder: Path, *turns: dict[str, Any]) -> list[dict[str, str]]:
    records = [{"dialogue_id": "1_00000", "services": [], "turns": list(turns)}]
    (folder / "dialogues_001.json").write_text(json.dumps(records))
    [dialogue], _ = load_schema_guided(folder)
    assert dialogue.id == f"{folder.name}/1_00000"
    return [dict(turn.state) for turn in dialogue.turns]


def test_schema_guided_keeps_services_out_of_play_and_the_spelling_that_was_said(tmp_path: Path) -> None:
    states = schema_guided(
        tmp_path,
        user("A table at half past six.", frame("Restaurants_1", time=["18:30", "half past six"], number_of_seats=["2"])),
        system("Noted."),
        user("And a taxi.", frame("RideSharing_2", destination=["dontcare"])),
        system("Fine."),
        user("At 18:30 then, forget the seats.", frame("Restaurants_1", time=["18:30", "half past six"])),
    )
    assert states == [
        {"restaurants time": "half past six", "restaurants number of seats": "2"},
        {"restaurants time": "half past six", "restaurants number of seats": "2", "ride sharing destination": "no preference"},
        {"restaurants time": "half past six", "ride sharing destination": "no preference"},
    ]


def test_schema_guided_faults_are_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"dialogue 0, turn 0: field slot_values.time must list spellings, got '\[\]'"):
        schema_guided(tmp_path, user("Hi", frame("Restaurants_1", time=[])))
    with pytest.raises(SourceError, match="expected Schema-Guided Dialogue's dialogues_"):
        load_schema_guided(tmp_path / "none")


HOSTILE = [b"", b"[" * 100_000, b'["\xe9"]', b'["\\ud800"]', b"9" * 5000]


@pytest.mark.parametrize("data", HOSTILE)
def test_a_file_that_is_no_json_is_named(tmp_path: Path, data: bytes) -> None:
    for name, load in (("dialogues_1.json", lambda path: load_schema_guided(path.parent)), ("val.json", load_multiwoz)):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(SourceError, match=name):
            load(tmp_path / name)


def test_a_zip_whose_inside_is_damaged_is_named(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "val.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("val.json", json.dumps({f"D{n}": DIALOGUE for n in range(20)}))
    data = bytearray((tmp_path / "val.zip").read_bytes())
    data[45:60] = b"\xff" * 15
    (tmp_path / "val.zip").write_bytes(data)
    with pytest.raises(SourceError, match=r"val\.zip: expected one JSON file"):
        load_multiwoz(tmp_path / "val.zip")


def test_slots_without_a_word_and_dialogues_that_come_again(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="turn 1: expected a slot that has a name in words, got '1 2'"):
        multiwoz(tmp_path, log(("Hello.", {"1": {"semi": {"2": "x"}, "book": {}}}, "Hi.")))
    turn = {"speaker": "USER", "utterance": "Hello.", "frames": []}
    (tmp_path / "dialogues_1.json").write_text(json.dumps([{"dialogue_id": "1", "turns": [turn]}] * 2))
    dialogues, skipped = load_schema_guided(tmp_path)
    assert len(dialogues) == 1 and skipped == {"the same dialogue again": 1}


def test_a_slot_of_both_parts_keeps_both_values(tmp_path: Path) -> None:
    both = {"restaurant": {"semi": {"day": "monday", "food": "thai"}, "book": {"day": "friday", "people": "2", "booked": []}}}
    episode = multiwoz(tmp_path, log(("Thai on Monday, booked for two on Friday", both, "Yes.")))
    assert {item.slot: item.value for item in episode.final_state.items} == {
        "restaurant day": "monday",
        "restaurant food": "thai",
        "restaurant booking day": "friday",
        "restaurant people": "2",
    }
