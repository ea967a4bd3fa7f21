"""Faults planted in sound dialogues, one of each kind a turn: what an audit misses of them, it would miss elsewhere."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace

from intentfold.construct.simulator import capitalise
from intentfold.construct.wording import Bank, say
from intentfold.intent import Edit, IntentState, canonical, fold, normalise
from intentfold.trace import Episode, EpisodeTurn

Planter = Callable[[Episode, int, Bank, random.Random], Episode | None]


def wrong_value(episode: Episode, t: int, bank: Bank, rng: random.Random) -> Episode | None:
    """The user says another value of the same parameter than the one scheduled."""
    turn = episode.turns[t]
    before = episode.turns[t - 1].state if t else IntentState()
    for edit in turn.edits:
        item = before.get(edit.id or 0)
        slot = edit.slot or (item.slot if item is not None else None)
        spoken = list(re.finditer(rf"(?<!\w){re.escape(edit.value or '')}(?!\w)", turn.user))
        if slot is None or edit.kind != "goal" or edit.value is None or len(spoken) != 1:
            continue
        known = episode.task.payload["parameters"].get(slot, {}).get("values", ())
        others = [value for value in known if normalise(value) != normalise(edit.value)]
        if others:
            said = turn.user[: spoken[0].start()] + rng.choice(others) + turn.user[spoken[0].end() :]
            return _with(episode, t, replace(turn, user=said))
    return None


def said_not_scheduled(episode: Episode, t: int, bank: Bank, rng: random.Random) -> Episode | None:
    """An edit is said that the schedule does not have."""
    turn = episode.turns[t]
    goals = [edit for edit in turn.edits if edit.kind == "goal" and edit.op in ("ADD", "REPLACE")]
    if not goals:
        return None
    return _rescheduled(episode, t, tuple(edit for edit in turn.edits if edit is not goals[0]))


def scheduled_not_said(episode: Episode, t: int, bank: Bank, rng: random.Random) -> Episode | None:
    """The user confirms what stands, where the schedule has an edit."""
    turn = episode.turns[t]
    words = capitalise(say(bank, "confirm_all", rng)) + "."
    return _with(episode, t, replace(turn, user=f"{episode.task.request} {words}" if t == 0 else words))


def unscheduled_reference(episode: Episode, t: int, bank: Bank, rng: random.Random) -> Episode | None:
    """What the turn leans on is gone: the reply before it neither asks nor lists."""
    if t == 0 or not {"answer", "ordinal"} & set(episode.turns[t].phenomena):
        return None
    return _with(episode, t - 1, replace(episode.turns[t - 1], reply=capitalise(say(bank, "agent_ack", rng))))


def another_turns_words(episode: Episode, t: int, bank: Bank, rng: random.Random) -> Episode | None:
    """The user says what they say in another turn."""
    others = [
        turn.user
        for n, turn in enumerate(episode.turns[1:-1], 1)
        if n != t and turn.edits != episode.turns[t].edits and turn.edits
    ]
    return _with(episode, t, replace(episode.turns[t], user=rng.choice(others))) if t and others else None


def contradicting_state(episode: Episode, t: int, bank: Bank, rng: random.Random) -> Episode | None:
    """The annotated state has an item that no edit made."""
    state = fold(episode.turns[t].state, [Edit("ADD", slot="colour of the sky", value="green")])
    return _with(episode, t, replace(episode.turns[t], state=state))


PLANTERS: dict[str, Planter] = {
    "wrong value": wrong_value,
    "said, not scheduled": said_not_scheduled,
    "scheduled, not said": scheduled_not_said,
    "nothing to lean on": unscheduled_reference,
    "another turn's words": another_turns_words,
    "state out of step": contradicting_state,
}


def _with(episode: Episode, t: int, turn: EpisodeTurn) -> Episode:
    return replace(episode, turns=(*episode.turns[:t], turn, *episode.turns[t + 1 :]))


def _rescheduled(episode: Episode, t: int, edits: tuple[Edit, ...]) -> Episode | None:
    """The turn with other edits, where these fold and end elsewhere."""
    before = episode.turns[t - 1].state if t else IntentState()
    if any(needed < 0 for edit in edits for needed in edit.depends_on):
        return None
    state = fold(before, edits)
    if canonical(state) == canonical(episode.turns[t].state):
        return None
    return _with(episode, t, replace(episode.turns[t], edits=edits, state=state))
