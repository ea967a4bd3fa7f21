"""The tracker at run time: user turns in, the active intent state out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from intentfold.codec.edits import decode_edits
from intentfold.codec.full import decode_state
from intentfold.dialogue import Dialogue, Turn
from intentfold.intent import Edit, IntentState, Rejected, fold_leniently
from intentfold.prompts.tracker import WINDOW, Codec, tracker_prompt
from intentfold.runtime.roles import Backend, Completion

MAX_TOKENS = 256


@dataclass(frozen=True, slots=True)
class Fold:
    """One fold: the state after it, the edits that were read, those rejected and why, and what the model wrote.

    `edits` holds every edit that parsed, also those that could not be applied.
    """

    state: IntentState
    edits: tuple[Edit, ...]
    rejected: tuple[Rejected, ...]
    raw: str
    completion_tokens: int


class Tracker:
    """Keeps one dialogue's intent state.

    It stands on its own around any chat client:

        backend = InProcessBackend(base="models/smollm2-135m-instruct", adapter="runs/demo/opd/adapter")
        tracker = Tracker(backend)
        messages, reply = [], ""
        while turn := input("> "):
            active = tracker.fold(turn, reply).state
            messages.append({"role": "user", "content": turn})
            shown = "What holds now:\\n" + active_lines(active.items)
            answer = client.chat.completions.create(
                model=model, messages=[{"role": "system", "content": shown}, *messages]
            )
            reply = answer.choices[0].message.content
            messages.append({"role": "assistant", "content": reply})
            print(reply)
    """

    def __init__(
        self,
        backend: Backend,
        codec: Codec = "delta",
        window: int | None = WINDOW,
        state: IntentState = IntentState(),  # noqa: B008 (immutable)
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        self.backend = backend
        self.codec: Codec = codec
        self.window = window
        self.state = state
        self.max_tokens = max_tokens
        self.dialogue: Dialogue = ()

    def fold(self, turn: str, reply: str = "") -> Fold:
        """Fold the user's `turn` into the state; `reply` is what the agent said before it."""
        return fold_many([self], [turn], [reply])[0]


def fold_many(trackers: Sequence[Tracker], turns: Sequence[str], replies: Sequence[str]) -> list[Fold]:
    """One fold of each tracker, through one call of the backend that they share."""
    if len({(id(t.backend), t.codec, t.window, t.max_tokens) for t in trackers}) > 1:
        raise ValueError("trackers folded together must share backend, codec, window and max_tokens")
    dialogues = []
    for tracker, turn, reply in zip(trackers, turns, replies, strict=True):
        before = (*tracker.dialogue, Turn("assistant", reply)) if tracker.dialogue or reply else ()
        dialogues.append((*before, Turn("user", turn)))
    if not trackers:
        return []
    first = trackers[0]
    folds = fold_states(
        first.backend,
        [t.state for t in trackers],
        dialogues,
        codec=first.codec,
        window=first.window,
        max_tokens=first.max_tokens,
    )
    for tracker, dialogue, fold in zip(trackers, dialogues, folds, strict=True):
        tracker.dialogue, tracker.state = dialogue, fold.state
    return folds


def fold_states(
    backend: Backend,
    states: Sequence[IntentState],
    dialogues: Sequence[Dialogue],
    *,
    codec: Codec = "delta",
    window: int | None = WINDOW,
    max_tokens: int = MAX_TOKENS,
) -> list[Fold]:
    """One fold of each state by the last user turn of its dialogue; nothing is kept in between."""
    prompts = [tracker_prompt(s, d, codec=codec, window=window) for s, d in zip(states, dialogues, strict=True)]
    completions = backend.complete(prompts, max_tokens)
    return [read_fold(state, completion, codec) for state, completion in zip(states, completions, strict=True)]


def read_fold(state: IntentState, completion: Completion, codec: Codec = "delta") -> Fold:
    """The fold that a completion spells, for any text whatever.

    The last line of a completion that ran into the limit of tokens is no edit: half a value is not a value. A thought that
    does not end states nothing.
    """
    if not completion.closed:
        unended = Rejected((completion.thought or "")[-200:], "the thought does not end")
        return Fold(state, (), (unended,), completion.thought or "", completion.completion_tokens)
    text = completion.text
    cut: tuple[Rejected, ...] = ()
    if not completion.stopped:
        text, _, last = text.rpartition("\n")
        cut = (Rejected(last[:200], "cut off at the limit of tokens"),)
    unread: tuple[Rejected, ...] = ()
    edits: tuple[Edit, ...] = ()
    if text or completion.stopped:
        edits, unread = (decode_edits if codec == "delta" else decode_state)(text, state)
    folded, refused = fold_leniently(state, edits)
    return Fold(folded, edits, (*unread, *cut, *refused), completion.text, completion.completion_tokens)
