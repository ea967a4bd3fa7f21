"""What an agent is shown under the compressing conditions and the ablations of the harness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from intentfold.dialogue import Turn
from intentfold.intent import IntentItem, IntentState
from intentfold.runtime.compress import Compressed, Compression
from intentfold.runtime.episodes import tracked_formats, tracked_items
from intentfold.runtime.gate import Gated, answer_through_gate
from intentfold.runtime.history import stated_items
from intentfold.runtime.loop import active_items
from intentfold.runtime.roles import Agent, View
from intentfold.runtime.tracker import Fold
from intentfold.trace import Episode

Ablation = Literal["no_invalidation", "no_format_tracker", "no_gate", "state_only"]
ABLATIONS: tuple[Ablation, ...] = ("no_invalidation", "no_format_tracker", "no_gate", "state_only")


def compressed_view(episode: Episode, compressed: Compressed, condition: Compression, *, executor: bool) -> View:
    """The compressed history alone, or (recap) the whole history with the recap in the place of the state.

    The state executor reads no words: it gets what its history-only policy makes of what is left of the user's turns,
    which a summary written by a model does not say (`ValueError`).
    """
    if executor and compressed.left is None:
        raise ValueError("the state executor reads no summary that a model wrote: use the extractive summariser")
    left = stated_items(episode, compressed.left) if executor else None
    if condition != "recap":
        return View(compressed.dialogue, left, episode.task)
    formats = tracked_formats(episode)
    intent = IntentState(left or (), len(left or ()) + 1)
    return View(episode.drift(), active_items(intent, formats), episode.task, recap=compressed.dialogue[0].content)


def ablated_view(episode: Episode, folds: Sequence[Fold], ablation: Ablation) -> View:
    """The tracker's view without one part of the harness (`no_gate` changes no view: see `answers`).

    no_invalidation     conclusions that a fold dropped with what they rested on are still shown; the tracker's own
                        state is as it was, so that the same folds serve every ablation
    no_format_tracker   conventions are what the tracker itself holds of them
    state_only          the last user turn with the state, without the history before it
    """
    view = View(episode.drift(), tracked_items(episode, folds), episode.task)
    if ablation == "no_invalidation":
        return replace(view, items=(*(view.items or ()), *stale_conclusions(folds)))
    if ablation == "no_format_tracker":
        return replace(view, items=folds[-1].state.items)
    if ablation == "state_only":
        return replace(view, dialogue=(Turn("user", episode.turns[-1].user),))
    return view


def stale_conclusions(folds: Sequence[Fold]) -> tuple[IntentItem, ...]:
    """Conclusions that went away with what they rested on: no edit named them, and none states them anew."""
    stale: dict[int, IntentItem] = {}
    before = IntentState()
    for fold in folds:
        named = {edit.id for edit in fold.edits if edit.op == "DELETE"}
        gone = [item for item in before.of_kind("conclusion") if fold.state.get(item.id) is None and item.id not in named]
        stale |= {item.id: replace(item, depends_on=()) for item in gone}
        before = fold.state
    held = {item.text for item in before.of_kind("conclusion")}
    return tuple(item for item in stale.values() if item.text not in held)


def answers(agent: Agent, views: Sequence[View], *, gate: bool = True) -> list[Gated]:
    """The agent's answers, through the final gate or (the ablation no_gate) as they were drafted."""
    if gate:
        return answer_through_gate(agent, views)
    return [Gated(draft, (), ()) for draft in agent.answer(views)]
