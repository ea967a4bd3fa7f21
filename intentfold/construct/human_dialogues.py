"""People's own dialogues as episodes for trackers: the annotated states give the edits.

A slot with another value is a REPLACE, one that disappears a DELETE, and "no preference" an item like any other. Nothing here
can be executed: the task's answers are of form `state`, which no grader takes, and only states are compared.
"""

from __future__ import annotations

import re

from intentfold.intent import IntentItem, IntentState, diff, fold, slot_text
from intentfold.sources.stated_dialogues import DONT_CARE, StatedDialogue
from intentfold.task import Goal, SourceTask
from intentfold.trace import Episode, EpisodeTurn, Split, Wording


def human_episode(dialogue: StatedDialogue, split: Split, wording: Wording) -> Episode:
    """The dialogue as an episode; its load of 1 stands for none, and there is no turn-matched control.

    `phenomena` of a turn are its operations, `no_preference`, and `unspoken` where a new value stands neither in the user's
    words nor in the answer before them: paraphrase, inference, or an annotator's slip.
    """
    turns, state, heard = [], IntentState(), ""
    for number, turn in enumerate(dialogue.turns):
        wanted = as_state(dict(sorted(turn.state.items())))
        edits = diff(state, wanted)
        heard = _words(f"{heard} {turn.user}")
        new = [edit.value for edit in edits if edit.value is not None]
        found = {edit.op.lower() for edit in edits} or {"chat"}
        found |= {"no_preference"} if DONT_CARE in new else set()
        found |= {"unspoken"} if any(_words(value) not in heard for value in new if value != DONT_CARE) else set()
        found |= {"several"} if len(edits) > 1 else set()
        state, heard = fold(state, edits), turn.reply
        reply = turn.reply if number < len(dialogue.turns) - 1 else ""
        turns.append(EpisodeTurn(turn.user, edits, state, tuple(sorted(found)), reply))
    goals = tuple(
        Goal(f"g{number}", item.text, item.slot, item.value)
        for number, item in enumerate(sorted(state.items, key=lambda item: item.id), start=1)
    )
    id = f"{dialogue.corpus}/{dialogue.id}"
    task = SourceTask(id, dialogue.corpus, id, dialogue.license, "", goals, "state", {})
    clean = "; ".join(goal.text for goal in goals)
    return Episode(1, id, task, 1, split, wording, 0, (), tuple(turns), clean, ())


def _words(text: str) -> str:
    found = re.findall(r"\w+", text.casefold())
    return f" {' '.join(found)} "


def as_state(wanted: dict[str, str]) -> IntentState:
    """The state that holds exactly these values by slot."""
    items = tuple(
        IntentItem(number, slot_text(slot, value), slot=slot, value=value)
        for number, (slot, value) in enumerate(wanted.items(), 1)
    )
    return IntentState(items, len(items) + 1)
