"""Running episodes: trackers through their turns in lockstep, and what an agent is shown under each condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeVar

from intentfold.dialogue import Turn
from intentfold.graders import Grade
from intentfold.intent import IntentItem, IntentState
from intentfold.prompts.tracker import WINDOW, Codec
from intentfold.runtime.format_tracker import FormatTracker
from intentfold.runtime.history import goal_items, stated_items
from intentfold.runtime.loop import active_items
from intentfold.runtime.roles import Backend, View
from intentfold.runtime.tracker import MAX_TOKENS, Fold, Tracker, fold_many, fold_states
from intentfold.trace import Episode, Rollout

Control = Literal["clean", "drift", "no_drift", "oracle_state"]
CONTROLS: tuple[Control, ...] = ("clean", "drift", "no_drift", "oracle_state")


T = TypeVar("T")


def spread(episodes: Sequence[T], limit: int) -> list[T]:
    """`limit` episodes spread evenly over a file that stands family by family; all of them for 0."""
    if not 0 < limit < len(episodes):
        return list(episodes)
    return [episodes[n * len(episodes) // limit] for n in range(limit)]


def track(
    episodes: Sequence[Episode],
    backend: Backend,
    *,
    codec: Codec = "delta",
    window: int | None = WINDOW,
    max_tokens: int = MAX_TOKENS,
) -> list[list[Fold]]:
    """Every turn of every episode folded from the tracker's own state: turn t of all episodes in one call."""
    said = [list(zip(("", *(turn.reply for turn in e.turns)), (turn.user for turn in e.turns), strict=False)) for e in episodes]
    return track_exchanges(said, backend, codec=codec, window=window, max_tokens=max_tokens)


def track_exchanges(
    dialogues: Sequence[Sequence[tuple[str, str]]],
    backend: Backend,
    *,
    codec: Codec = "delta",
    window: int | None = WINDOW,
    max_tokens: int = MAX_TOKENS,
) -> list[list[Fold]]:
    """`track` for bare dialogues: what the agent said before and what the user says, turn by turn."""
    trackers = [Tracker(backend, codec, window, max_tokens=max_tokens) for _ in dialogues]
    folds: list[list[Fold]] = [[] for _ in dialogues]
    for t in range(max(map(len, dialogues), default=0)):
        going = [n for n, exchanges in enumerate(dialogues) if t < len(exchanges)]
        replies, turns = zip(*(dialogues[n][t] for n in going), strict=True)
        for n, fold in zip(going, fold_many([trackers[n] for n in going], turns, replies), strict=True):
            folds[n].append(fold)
    return folds


def track_forced(
    episodes: Sequence[Episode],
    backend: Backend,
    *,
    codec: Codec = "delta",
    window: int | None = WINDOW,
    max_tokens: int = MAX_TOKENS,
) -> list[list[Fold]]:
    """Every turn of every episode folded from the oracle's state before it, all in one call."""
    states, dialogues = [], []
    for episode in episodes:
        states += [IntentState(), *(turn.state for turn in episode.turns[:-1])]
        dialogues += [episode.drift(t) for t in range(len(episode.turns))]
    folds = iter(fold_states(backend, states, dialogues, codec=codec, window=window, max_tokens=max_tokens))
    return [[next(folds) for _ in episode.turns] for episode in episodes]


def control_view(episode: Episode, condition: Control, *, executor: bool) -> View:
    """What the agent is shown under a control condition.

    oracle_state keeps history and harness as they are, the format tracker among it, and only the state is exact
    (IntentFlux, section 7.4). The state executor reads no words: it gets the items that the condition's dialogue states
    (`executor`), which are the task's own goals for clean and no_drift, and those of the history-only policy for drift.
    """
    _require_answers(episode)
    if condition == "oracle_state":
        return View(episode.drift(), active_items(episode.final_state, tracked_formats(episode)), episode.task)
    stated = stated_items(episode) if condition == "drift" else goal_items(episode.task)
    dialogue = {"clean": (Turn("user", episode.clean),), "no_drift": episode.no_drift, "drift": episode.drift()}[condition]
    return View(dialogue, stated if executor else None, episode.task)


def tracker_view(episode: Episode, folds: Sequence[Fold]) -> View:
    """The history, and the state that the tracker and the format tracker have made of it."""
    _require_answers(episode)
    return View(episode.drift(), tracked_items(episode, folds), episode.task)


def _require_answers(episode: Episode) -> None:
    if episode.task.answer_form == "state":
        raise ValueError(f"episode {episode.id}: serves trackers alone, there is nothing to answer (see eval/state_tracking.py)")


def tracked_items(episode: Episode, folds: Sequence[Fold]) -> tuple[IntentItem, ...]:
    """The active items after the last turn."""
    return active_items(folds[-1].state, tracked_formats(episode))


def tracked_formats(episode: Episode) -> IntentState:
    """What the format tracker holds after the last turn."""
    formats = FormatTracker()
    for turn in episode.turns:
        formats.fold(turn.user)
    return formats.state


def rollouts(
    arm: str,
    codec: Codec,
    episodes: Sequence[Episode],
    own: Sequence[Sequence[Fold]],
    graded: Sequence[Grade],
    oracle: Sequence[Grade],
) -> list[Rollout]:
    """What a tracker wrote on its own way through each episode, with its verdict and the oracle state's, for mining."""

    def verdict(grade: Grade) -> bool | None:
        return None if grade.value is None else grade.full

    return [
        Rollout(episode.id, arm, codec, tuple(fold.raw for fold in folds), verdict(mine), verdict(theirs))
        for episode, folds, mine, theirs in zip(episodes, own, graded, oracle, strict=True)
    ]
