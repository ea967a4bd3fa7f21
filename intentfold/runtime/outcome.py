"""One episode under one condition, from its first turn to the answer, with the roles' backends by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from intentfold.dialogue import Dialogue, Turn
from intentfold.intent import IntentState
from intentfold.prompts.tracker import Codec
from intentfold.records import RECORD
from intentfold.runtime.episodes import Control, control_view, track, tracker_view
from intentfold.runtime.gate import answer_through_gate
from intentfold.runtime.loop import Loop, converse
from intentfold.runtime.model_agent import ModelAgent
from intentfold.runtime.model_simulator import ModelSimulator
from intentfold.runtime.roles import Agent, Backend
from intentfold.runtime.scripted import ExecutorAgent
from intentfold.runtime.tracker import Fold, Tracker
from intentfold.trace import Episode

ModelRole = Literal["tracker", "agent", "simulator", "checker", "judge"]
Roles = Mapping[ModelRole, Backend]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer, the dialogue that it answers, what the tracker wrote turn by turn, and its last state (empty for controls)."""

    __pydantic_config__ = RECORD

    answer: str
    dialogue: Dialogue
    written: tuple[str, ...] = ()
    states: tuple[IntentState, ...] = ()

    @property
    def state(self) -> IntentState:
        """The tracker's state after the last turn."""
        return self.states[-1] if self.states else IntentState()


def run_case(
    episode: Episode,
    condition: Control | Literal["tracker"],
    roles: Roles,
    *,
    codec: Codec,
    window: int | None,
    max_tokens: int,
    agent_tokens: int,
) -> Outcome:
    """Run one episode. Without a model in the role of the agent the state executor answers. Raises `BackendError`.

    A simulator says the user's turns in its own words to the agent, who answers each of them; without one the dialogue
    is replayed as it stands, and the agent answers its last turn.
    """
    agent: Agent = ModelAgent(roles["agent"], agent_tokens) if "agent" in roles else ExecutorAgent()
    if condition != "tracker":
        view = control_view(episode, condition, executor="agent" not in roles)
        return Outcome(answer_through_gate(agent, [view])[0].answer, view.dialogue)
    if "simulator" in roles:
        loop = Loop(agent, Tracker(roles["tracker"], codec, window, max_tokens=max_tokens), episode.task)
        steps = converse(loop, ModelSimulator(roles["simulator"], [turn.user for turn in episode.turns]))
        return _outcome(steps[-1].gated.answer, loop.dialogue[:-1], [step.fold for step in steps])
    [folds] = track([episode], roles["tracker"], codec=codec, window=window, max_tokens=max_tokens)
    view = tracker_view(episode, folds)
    return _outcome(answer_through_gate(agent, [view])[0].answer, view.dialogue, folds)


def _outcome(answer: str, dialogue: tuple[Turn, ...], folds: list[Fold]) -> Outcome:
    return Outcome(answer, dialogue, tuple(fold.raw for fold in folds), tuple(fold.state for fold in folds))
