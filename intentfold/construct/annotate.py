"""People's own conversations annotated by a model: edits a turn, which must fold and stand in the user's own words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from intentfold.codec.edits import decode_edits
from intentfold.construct.talk import Ask, Talk
from intentfold.intent import Edit, IntentState, fold, fold_leniently, normalise, stands_in
from intentfold.prompts.annotator import Annotation, annotator_prompt
from intentfold.records import RECORD
from intentfold.runtime.structured import read_structured
from intentfold.task import Goal, SourceTask
from intentfold.trace import Conversation, Episode, EpisodeTurn, Split, Wording

FAMILY = "own conversations"


@dataclass(frozen=True, slots=True)
class Refused:
    """An annotation that was not taken, and why."""

    __pydantic_config__ = RECORD

    conversation: str
    turn: int
    wrote: str
    reason: str


class Unannotated(ValueError):
    """A conversation of which one turn got no annotation that holds."""


def annotated(conversation: Conversation, attempts: int, refused: list[Refused]) -> Talk[list[tuple[Edit, ...]]]:
    """The edits of every user turn. Raises `Unannotated` where a turn was refused `attempts` times."""
    state, heard, found = IntentState(), "", []
    for number, (reply, user) in enumerate(conversation.exchanges):
        heard = f"{heard}\n{reply}\n{user}"
        faults: list[str] = []
        for _ in range(attempts):
            answer = yield Ask("annotator", annotator_prompt(state, reply, user, faults))
            try:
                edits = evidenced(read_structured(Annotation, answer), state, user, heard)
            except ValueError as reason:
                refused.append(Refused(conversation.id, number, answer.text, str(reason)))
                faults.append(f"{answer.text}: {reason}")
            else:
                break
        else:
            raise Unannotated(f"turn {number}: none of {attempts} annotations held")
        state = fold(state, edits)
        found.append(edits)
    return found


def evidenced(annotation: Annotation, state: IntentState, user: str, heard: str) -> tuple[Edit, ...]:
    """The annotation's edits of `state`. Raises `ValueError` for the first that does not hold.

    Each must fold, quote the user's turn to the letter, and give a value that was said by then (`heard`, both sides'
    words): the user may agree to what the agent offered, and nobody may invent.
    """
    for one in annotation.edits:
        if "\n" in one.line:
            raise ValueError(f"{one.line!r}: expected one line")
        if not one.quote.strip() or one.quote not in user:
            raise ValueError(f"{one.line}: the quote is not in the user's turn: {one.quote[:80]!r}")
    if not annotation.edits:
        return ()
    edits, faults = decode_edits("\n".join(one.line for one in annotation.edits), state)
    faults += fold_leniently(state, edits)[1]
    if faults:
        raise ValueError(f"{faults[0].what}: {faults[0].reason}")
    for edit in edits:
        value = edit.value if edit.value is not None else edit.text
        if edit.kind != "goal":
            raise ValueError(f"{edit.kind}: expected what the user wants, no more")
        if value is not None and normalise(value) not in ("yes", "no") and not stands_in(value, heard):
            raise ValueError(f"the value {value[:80]!r} was not said")
    return edits


def own_episode(
    conversation: Conversation, edits: Sequence[tuple[Edit, ...]], split: Split, wording: Wording, license: str
) -> Episode:
    """The annotated conversation as an episode for trackers. A greeting of the agent before the user's first turn is left out."""
    turns, state = [], IntentState()
    replies = [*[reply for reply, _ in conversation.exchanges][1:], ""]
    for (_, user), some, reply in zip(conversation.exchanges, edits, replies, strict=True):
        state = fold(state, some)
        turns.append(EpisodeTurn(user, some, state, tuple(sorted({edit.op.lower() for edit in some}) or ("chat",)), reply))
    items = sorted(state.items, key=lambda item: item.id)
    goals = tuple(Goal(f"g{n}", item.text, item.slot, item.value) for n, item in enumerate(items, start=1))
    id = f"own/{conversation.id}"
    task = SourceTask(id, FAMILY, id, license, "", goals, "state", {})
    return Episode(1, id, task, 1, split, wording, 0, (), tuple(turns), "; ".join(goal.text for goal in goals), ())
