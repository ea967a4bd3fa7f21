"""The right edits from any state that a tracker may be in (design D3)."""

from __future__ import annotations

import re
from dataclasses import replace

from intentfold.codec.state import retired_lines
from intentfold.dialogue import Dialogue
from intentfold.intent import Edit, IntentItem, IntentState, canonical, diff, fold, fold_leniently, key
from intentfold.trace import Episode


def shown(dialogue: Dialogue, window: int | None) -> Dialogue:
    """The part of the dialogue that a window of that many messages shows (see `tracker_prompt`)."""
    return dialogue if window is None else dialogue[-window:]


def supported_edits(own: IntentState, episode: Episode, turn: int, window: int | None) -> tuple[Edit, ...]:
    """`diff(own, oracle)` after user turn `turn`, limited to what the prompt's evidence supports.

    With the whole history every repair is supported. With a window, an edit is supported

    - if it is about something that this user turn changes, or
    - if the window names it: its slot (or, without a slot, its words) and its new value stand in the messages shown,
      and the oracle changed it in a user turn that is shown;

    and in either case only if its new value is readable in the messages or among the retired items. Repairs that
    need turns out of sight would teach invention.

    People say a value in their own words ("two nights" for 2, "any will do"): in imported dialogues (answers of form `state`)
    what the annotation changes in this very turn counts as said.

    The edits stand in the order in which the turn names them (`in_order_said`).
    """
    wanted = diff(own, episode.turns[turn].state)
    if window is None:
        return in_order_said(own, wanted, episode.drift(turn))
    said = words(" ".join(message.content for message in shown(episode.drift(turn), window)))
    readable = f"{said}{words(retired_lines(own))}"
    annotated = episode.task.answer_form == "state"
    now, lately = _touched(episode, turn, 1), _touched(episode, turn, (window + 1) // 2)
    kept: list[Edit] = []
    place: dict[int, int] = {}  # k-th wanted ADD -> k-th kept ADD
    wanted_adds = 0
    for edit in wanted:
        item = _subject(own, edit)
        about, new = words(item.slot or item.text), words(edit.value or edit.text or "")
        if edit.op == "ADD":
            wanted_adds += 1
            if not all(d > 0 or -d in place for d in edit.depends_on):
                continue
            edit = replace(edit, depends_on=tuple(d if d > 0 else -place[-d] for d in edit.depends_on))
        named = key(item) in lately and about in said and (edit.op == "DELETE" or new in said)
        if (key(item) in now or named) and (
            new in readable or edit.op in ("DELETE", "REPRIORITIZE") or (annotated and key(item) in now)
        ):
            kept.append(edit)
            if edit.op == "ADD":
                place[wanted_adds] = len(place) + 1
    # An edit may have rested on one that was left out (a repeat before a deletion): what does not fold is no target.
    return in_order_said(own, _foldable(own, kept), episode.drift(turn))


def in_order_said(own: IntentState, edits: tuple[Edit, ...], dialogue: Dialogue) -> tuple[Edit, ...]:
    """The edits in the order in which the last turn, or the reply before it, names what they are about.

    A model writes them from left to right as it reads, where `diff`'s order (deletions first) asks it to plan. What
    neither message names stands last. Where the order matters (an addition names another; a replacement would take along a
    conclusion just added) it stays as it is.
    """
    if len(edits) < 2 or any(d < 0 for edit in edits for d in edit.depends_on):
        return edits
    said = [words(message.content) for message in dialogue[:-3:-1]]

    def place(edit: Edit) -> tuple[int, int]:
        item, before = _subject(own, edit), own.get(edit.id or 0)
        named = [item.slot or item.text, edit.value or edit.text, None if before is None else before.value or before.text]
        for distance, message in enumerate(said):
            for name in filter(None, named):
                found = message.find(words(name))
                if found >= 0 and words(name) != NO_WORDS:
                    return -distance, found
        return 1, 0

    ordered = tuple(sorted(edits, key=place))
    folded, rejected = fold_leniently(own, ordered)
    return edits if rejected or canonical(folded) != canonical(fold(own, edits)) else ordered


NO_WORDS = " "


def words(text: str) -> str:
    """Text as a run of whole words with a space around each, so that `in` compares words and not letters."""
    found = re.findall(r"\w+", text.casefold())
    return f" {' '.join(found)} " if found else NO_WORDS


def _foldable(own: IntentState, edits: list[Edit]) -> tuple[Edit, ...]:
    while True:
        _, rejected = fold_leniently(own, edits)
        if not rejected:
            return tuple(edits)
        for position in range(len(edits)):
            if fold_leniently(own, edits[: position + 1])[1]:
                if edits[position].op == "ADD":
                    # Later additions may name this one.
                    return tuple(edits[:position])
                del edits[position]
                break


def _subject(own: IntentState, edit: Edit) -> IntentItem:
    """The item that the edit is about, with the value that it would have."""
    if edit.op == "ADD":
        text = edit.text if edit.text is not None else f"{edit.slot}: {edit.value}"
        return IntentItem(0, text, edit.kind, (), edit.slot, edit.value, edit.scope, edit.priority)
    item = own.get(edit.id or 0)
    assert item is not None
    return item if edit.value is None or item.slot is None else replace(item, value=edit.value)


def _touched(episode: Episode, turn: int, user_turns: int) -> set[tuple[str, ...]]:
    """What the oracle changes in the last `user_turns` user turns up to `turn`."""
    keys: set[tuple[str, ...]] = set()
    for position in range(max(0, turn - user_turns + 1), turn + 1):
        before = episode.turns[position - 1].state if position else IntentState()
        for edit in episode.turns[position].edits:
            keys.add(key(_subject(before, edit)))
            if edit.op == "REPLACE" and edit.text is not None:
                # An item without a slot is about its words, old and new.
                keys.add(key(IntentItem(0, edit.text)))
        after = {key(item) for item in episode.turns[position].state.items}
        # Conclusions that fell with what they rested on.
        keys |= {key(item) for item in before.items if key(item) not in after}
    return keys
