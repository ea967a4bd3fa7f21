"""What the history alone says: the executor's history-only policy (PROTOCOLS.md, IntentFlux)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from intentfold.intent import Edit, IntentItem, IntentState, fold, key, normalise
from intentfold.task import SourceTask
from intentfold.trace import Episode

# A value that is no more than a yes or a no names nothing.
_BARE = ("yes", "no", "true", "false")


def stated_items(episode: Episode, left: Sequence[str] | None = None) -> tuple[IntentItem, ...]:
    """Every item that the dialogue ever stated and did not contradict in the same words, latest last.

    Reading: what was stated are the goals and conventions that the oracle's ADD and REPLACE edits carry, also those
    put in anaphora (the policy understands what it is told to do). A turn that replaces or deletes an item
    contradicts, in the same words, those of its statements whose slot, value or (without a slot) text it spells out
    as whole words; other names of the slot, and a bare yes or no, do not count. So "drop the pool" takes back
    `pool: yes` and "scratch that" takes back nothing: the policy misses exactly the withdrawals that need the
    dialogue to be understood. An item stated twice, word for word, counts once, where it was stated last. A
    REPRIORITIZE states its item again. Ids are new and ascend in the order of statement, so that for one parameter
    the latest value is the one obeyed.

    `left` is what a compressed history keeps, word for word, of each user turn. Of a turn that is not whole only what is
    left counts: an item is stated where its value (or slot, for a bare yes or no; or text, without a slot) is spelled
    out there, and taken back as above.
    """
    if left is not None and len(left) != len(episode.turns):
        raise ValueError(f"episode {episode.id}: expected what is left of {len(episode.turns)} turns, got {len(left)}")
    stated: list[tuple[int, IntentItem]] = []
    state = IntentState()
    for turn, words in zip(episode.turns, left or [turn.user for turn in episode.turns], strict=True):
        said, whole = normalise(words), words.split() == turn.user.split()
        for edit in turn.edits:
            if edit.op in ("REPLACE", "DELETE"):
                stated = [(id, item) for id, item in stated if id != edit.id or not _contradicts(said, item)]
        # Which id an ADD has got and what a REPLACE reads like, the fold knows.
        after = fold(state, turn.edits)
        for id in _new_words(state, after, turn.edits):
            item = after.get(id)
            if item is not None and item.kind != "conclusion" and (whole or _spelled(said, item)):
                stated = [(i, old) for i, old in stated if _words(old) != _words(item)]
                stated.append((id, item))
        state = after
    return tuple(replace(item, id=number, depends_on=()) for number, (_, item) in enumerate(stated, start=1))


def goal_items(task: SourceTask) -> tuple[IntentItem, ...]:
    """The task's own goals as items: what the clean request and the turn-matched dialogue state."""
    return tuple(
        IntentItem(number, goal.text, goal.kind, (), goal.slot, goal.value, goal.scope, goal.priority)
        for number, goal in enumerate(task.goals, start=1)
    )


def _new_words(before: IntentState, after: IntentState, edits: tuple[Edit, ...]) -> list[int]:
    """Ids that the edits of a turn stated something about, in the order in which they stand in the turn."""
    added = iter(range(before.next_id, after.next_id))
    return list(dict.fromkeys(next(added) if edit.op == "ADD" else edit.id or 0 for edit in edits if edit.op != "DELETE"))


def _contradicts(said: str, item: IntentItem) -> bool:
    value = item.value if normalise(item.value or "") not in _BARE else None
    named = [words for words in (item.slot, value) if words] or [item.text]
    return any(spells(said, words) for words in named)


def _spelled(said: str, item: IntentItem) -> bool:
    bare = normalise(item.value or "") in _BARE
    return spells(said, (item.slot if bare else item.value) or item.text)


def spells(said: str, words: str) -> bool:
    """Whether normalised text has these words as whole words."""
    return re.search(rf"(?<!\w){re.escape(normalise(words))}(?!\w)", said) is not None


def _words(item: IntentItem) -> tuple[object, ...]:
    return (*key(item), normalise(item.text))
