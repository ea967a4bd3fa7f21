"""The state-folding loop (StateForge): fold, drop stale conclusions, keep conventions, answer, check the form."""

from __future__ import annotations

from dataclasses import dataclass

from intentfold.dialogue import Dialogue, Turn, last_reply
from intentfold.intent import IntentItem, IntentState
from intentfold.runtime.format_tracker import FormatTracker
from intentfold.runtime.gate import Gated, answer_through_gate
from intentfold.runtime.roles import Agent, Simulator, View, require_separate
from intentfold.runtime.tracker import Fold, Tracker
from intentfold.task import SourceTask


@dataclass(frozen=True, slots=True)
class Step:
    """One user turn through the loop. Stale conclusions went away inside the fold."""

    fold: Fold
    items: tuple[IntentItem, ...]
    gated: Gated


class Loop:
    """An agent that is shown the active state after the history, at every turn. `task` is for the state executor."""

    def __init__(self, agent: Agent, tracker: Tracker, task: SourceTask | None = None) -> None:
        self.task = task
        self.agent = agent
        self.tracker = tracker
        self.formats = FormatTracker()
        self.dialogue: Dialogue = ()

    def turn(self, user: str) -> Step:
        """Fold the user's turn and answer it."""
        fold = self.tracker.fold(user, last_reply(self.dialogue))
        items = active_items(fold.state, self.formats.fold(user))
        self.dialogue = (*self.dialogue, Turn("user", user))
        [gated] = answer_through_gate(self.agent, [View(self.dialogue, items, self.task)])
        self.dialogue = (*self.dialogue, Turn("assistant", gated.answer))
        return Step(fold, items, gated)


def active_items(intent: IntentState, formats: IntentState) -> tuple[IntentItem, ...]:
    """What the agent is shown: goals and conclusions of the tracker, conventions of the format tracker."""
    return (*intent.of_kind("goal", "conclusion"), *formats.of_kind("format"))


def converse(loop: Loop, simulator: Simulator, *, allow_shared: bool = False) -> list[Step]:
    """Let the simulator talk to the loop until it has nothing more to say."""
    require_separate(loop.agent.name, {"simulator": simulator.name}, allow_shared=allow_shared)
    steps = []
    while (user := simulator.say(loop.dialogue)) is not None:
        steps.append(loop.turn(user))
    return steps
