"""The scripted teacher of thoughts: from what was said to what holds now to the answer, by the oracle. Always right.

Turn 1: add destination city: Lisbon; add number of seats: 3
Turn 2: replace destination city: Lisbon by Porto, and total nights: 4 falls with it
Turn 3: nothing changes
Holds now:
destination city: Porto
number of seats: 3
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from intentfold.codec.escape import escape
from intentfold.codec.state import item_line
from intentfold.codec.verdict import Judgement
from intentfold.example import Example
from intentfold.intent import Edit, IntentItem, IntentState, diff, fold
from intentfold.mining.targets import in_order_said, words
from intentfold.runtime.episodes import tracked_formats
from intentfold.runtime.executor import execute
from intentfold.runtime.format_tracker import FormatTracker
from intentfold.runtime.gate import mend
from intentfold.runtime.history import goal_items
from intentfold.runtime.loop import active_items
from intentfold.trace import Episode

_CHECKS = {
    "met": "The output does this.",
    "unmet": "The output goes against this: {reason}.",
    "not_applicable": "This does not concern the output.",
}


def drift_walk(episode: Episode) -> tuple[str, str]:
    """Thought and answer for the drifting dialogue."""
    lines, before = [], IntentState()
    for number, turn in enumerate(episode.turns, start=1):
        lines.append(f"Turn {number}: {change_line(before, turn.edits)}")
        before = turn.state
    return _closed(episode, lines, active_items(episode.final_state, tracked_formats(episode)))


def clean_walk(episode: Episode) -> tuple[str, str]:
    """Thought and answer for the same wishes in one clean request."""
    goals = tuple(item for item in goal_items(episode.task) if item.kind == "goal")
    edits = diff(IntentState(), IntentState(goals, 1 + max((item.id for item in goals), default=0)))
    once = replace(episode, turns=(replace(episode.turns[0], user=episode.clean),))
    ordered = in_order_said(IntentState(), edits, once.drift())
    state = fold(IntentState(), ordered)
    formats = FormatTracker()
    formats.fold(episode.clean)
    return _closed(episode, [f"Turn 1: {change_line(IntentState(), ordered)}"], active_items(state, formats.state))


def fold_walk(state: IntentState, edits: Sequence[Edit]) -> str:
    """The thought behind one fold of a tracker: what the turn changes, and what holds after it."""
    return "\n".join((f"This turn: {change_line(state, edits)}", *_holding(fold(state, edits).items)))


def judgement_walk(example: Example, judgement: Judgement) -> str:
    """The thought behind a checker's verdict: what is asked and for what case, the line that tells most, and what it shows."""
    *shown, asked = example.messages[-1].content.split("\n")
    why = shown.pop() if shown and shown[-1].startswith("Why: ") else ""
    wanted = set(words(f"{asked} {judgement.reason}").split())
    # The line with most words in common, the last of several: what was done stands below what was said.
    nearest = max(enumerate(shown), key=lambda one: (len(wanted & set(words(one[1]).split())), one[0]), default=(0, ""))[1]
    found = _CHECKS[judgement.verdict].format(reason=judgement.reason)
    return "\n".join(filter(None, (why, asked, f"Looked at: {nearest.strip()}", found)))


def change_line(state: IntentState, edits: Sequence[Edit]) -> str:
    """In words, what edits do to a state; conclusions that fall with what they rested on are named."""
    changes = []
    for place, edit in enumerate(edits):
        before, after = fold(state, edits[:place]), fold(state, edits[: place + 1])
        old = before.get(edit.id or 0)
        if old is None:
            changes.append(f"add {item_line(after.items[-1])}")
            continue
        if edit.op == "DELETE":
            said = f"withdraw {item_line(old)}"
        elif edit.op == "REPLACE":
            new = after.get(old.id) or old
            said = f"replace {item_line(old)} by {escape(new.text if new.value is None else new.value)}"
        else:
            said = f"make {item_line(old)} {edit.priority}"
        fallen = [item for item in before.items if item.id != old.id and after.get(item.id) is None]
        changes.append(said + "".join(f", and {item_line(item)} falls with it" for item in fallen))
    return "; ".join(changes) or "nothing changes"


def _holding(items: Sequence[IntentItem]) -> list[str]:
    return ["Holds now:", *(item_line(item) for item in items)] if items else ["Holds now: nothing"]


def _closed(episode: Episode, lines: Sequence[str], items: Sequence[IntentItem]) -> tuple[str, str]:
    answer = mend(execute(episode.task, items).answer, items)
    return "\n".join((*lines, *_holding(items))), answer
