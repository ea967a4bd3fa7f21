"""Schema-Guided Dialogue (Rastogi et al. 2020): files `dialogues_*.json`, each a list of dialogues.

A user turn has a frame for every service in play, whose `state.slot_values` lists for each slot the spellings of one value. A
service without a frame in a turn keeps its state. Of the spellings the one that was held before is kept, else the first
that the dialogue has said, else the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from intentfold.intent import normalise
from intentfold.sources.loading import Skip, SourceError, checked, read_list
from intentfold.sources.stated_dialogues import StatedDialogue, StatedTurn, slot_words, value_words

CORPUS, LICENSE = "schema_guided", "CC-BY-SA-4.0"


def load_schema_guided(folder: Path) -> tuple[list[StatedDialogue], dict[str, int]]:
    """The dialogues of all files of one of upstream's folders (train, dev or test), and how many were left out, by reason."""
    files = sorted(folder.glob("dialogues_*.json"))
    if not files:
        raise SourceError(f"{folder}: no such files; expected Schema-Guided Dialogue's dialogues_*.json")
    dialogues: list[StatedDialogue] = []
    skipped: Counter[str] = Counter()
    seen: set[str] = set()
    for path in files:
        for number, record in enumerate(read_list(path, "dialogues, a JSON list")):
            where = f"{path}: dialogue {number}"
            one = checked(where, record, {"dialogue_id": str, "turns": list})
            if one["dialogue_id"] in seen:
                skipped["the same dialogue again"] += 1
                continue
            seen.add(one["dialogue_id"])
            try:
                # Ids are counted anew in every folder.
                dialogues.append(
                    StatedDialogue(CORPUS, f"{folder.name}/{one['dialogue_id']}", LICENSE, _turns(where, one["turns"]))
                )
            except Skip as reason:
                skipped[str(reason)] += 1
    return dialogues, dict(skipped)


def _turns(where: str, records: Sequence[Any]) -> tuple[StatedTurn, ...]:
    turns: list[StatedTurn] = []
    states: dict[str, dict[str, str]] = {}
    said = ""
    for number, record in enumerate(records):
        at = f"{where}, turn {number}"
        one = checked(at, record, {"speaker": str, "utterance": str, "frames": list})
        speaker = "SYSTEM" if number % 2 else "USER"
        if one["speaker"] != speaker:
            raise Skip("turns that do not alternate from the user on")
        said += f" {normalise(one['utterance'])}"
        if speaker == "SYSTEM":
            turns[-1] = StatedTurn(turns[-1].user, turns[-1].state, one["utterance"])
            continue
        for frame in one["frames"]:
            service = checked(at, frame, {"service": str, "state": dict})["service"]
            values = checked(f"{at}: state", frame["state"], {"slot_values": dict})["slot_values"]
            states[service] = {slot: _spelling(at, slot, v, states.get(service, {}), said) for slot, v in values.items()}
        every = {slot_words(at, service, slot): value for service, state in states.items() for slot, value in state.items()}
        turns.append(StatedTurn(one["utterance"], every, ""))
    if not turns:
        raise Skip("no turn with a state")
    return tuple(turns)


def _spelling(where: str, slot: str, spellings: Any, before: Mapping[str, str], said: str) -> str:
    if not isinstance(spellings, list) or not spellings or not all(isinstance(one, str) and one.strip() for one in spellings):
        raise SourceError(f"{where}: field slot_values.{slot} must list spellings, got {str(spellings)[:80]!r}")
    words = [value_words(one) for one in spellings]
    if before.get(slot) in words:
        return before[slot]
    return next((one for one in words if normalise(one) in said), words[0])
