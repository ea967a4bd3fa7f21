"""The interactive track: a user whose wishes drift, turn by turn, and an agent who works with an environment's tools.

Conditions (PROTOCOLS.md, IntentFlux): clean is the single, fully specified request; drift the dialogue as it is, without a
restatement; `DIAGNOSTIC` the same with all final wishes said again at its end; oracle_state the drift with the exact state
after every user turn, history and harness as they are (7.4). `tracker` is that with the state that a tracker keeps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Protocol

from intentfold.codec.state import active_lines
from intentfold.dialogue import Dialogue, Output, Turn
from intentfold.intent import IntentItem, IntentState
from intentfold.prompts.simulator import simulator_prompt
from intentfold.prompts.tracker import WINDOW, Codec, tracker_prompt
from intentfold.prompts.worker import tool_line, worker_prompt
from intentfold.records import RECORD
from intentfold.runtime.executor import resolve
from intentfold.runtime.history import goal_items, stated_items
from intentfold.runtime.lockstep import Ask, Play
from intentfold.runtime.roles import BackendError, Completion, Prompt
from intentfold.runtime.tracker import read_fold
from intentfold.runtime.worker import Desk, output_of, rounds
from intentfold.tool import Tool
from intentfold.trace import Episode

Condition = Literal["clean", "drift", "drift_restated, diagnostic", "oracle_state", "tracker"]
DIAGNOSTIC: Condition = "drift_restated, diagnostic"
CONDITIONS: tuple[Condition, ...] = ("clean", "drift", DIAGNOSTIC, "oracle_state")
RESTATEMENT = "{last}\nTo say it all once more, this is what I want, and nothing else:\n{items}"


@dataclass(frozen=True)  # no slots: the arguments parser reads a default's fields by `vars`
class Limits:
    """Rounds of actions that the agent has for a user turn, and most tokens of one round, one user turn and one fold."""

    steps: int = 12
    agent_tokens: int = 1024
    user_tokens: int = 256
    fold_tokens: int = 256

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value < 1:
                raise ValueError(f"limits.{name} must be at least 1, got {value}")


@dataclass(frozen=True, slots=True)
class Played:
    """One run: what the user said and what the agent did upon it, turn by turn.

    `errors` are its actions that were none or did nothing, and turns without a reply; `rounds` counts what it wrote, and
    `folds` is what a tracker wrote.
    """

    __pydantic_config__ = RECORD

    exchanges: tuple[tuple[str, Output], ...]
    errors: tuple[str, ...]
    rounds: int
    folds: tuple[str, ...] = ()


class Worker(Protocol):
    """An agent at a desk."""

    def turn(
        self, desk: Desk, history: Prompt, user: str, items: Sequence[IntentItem] | None, last: bool
    ) -> Play[tuple[str, Prompt]]:
        """The reply to the user's turn, and the history after it; the last turn is known to none but the scripted agent."""
        ...


@dataclass(frozen=True)
class ToolAgent:
    """A model in the role `agent`: what it wrote and was shown stays in its history, the state stands behind the last turn."""

    tools: Sequence[Tool]
    brief: str
    limits: Limits

    def turn(
        self, desk: Desk, history: Prompt, user: str, items: Sequence[IntentItem] | None, last: bool
    ) -> Play[tuple[str, Prompt]]:
        """As many rounds as it takes to reply."""
        if history and history[-1].role == "user":  # it gave no reply: what it was shown last goes with what the user says now
            history, user = history[:-1], f"{history[-1].content}\n{user}"
        lines = [tool_line(tool.name, tool.arguments, tool.optional, tool.does) for tool in self.tools]
        prompt = worker_prompt((*history, Turn("user", user)), lines, self.brief, items=items)
        work = rounds(desk, prompt, self.limits.steps)
        asked = next(work)
        while True:
            found = yield Ask("agent", (asked,), self.limits.agent_tokens)
            try:
                asked = work.send(found[0])
            except StopIteration as done:
                reply, whole = done.value
                return reply, (*history, Turn("user", user), *whole[len(prompt) :])


@dataclass(frozen=True)
class ScriptedAgent:
    """No model: it does the benchmark's own `calls`, at the last turn, when its items hold every goal of the task.

    An item that says anything else, a stale value or a withdrawn wish, goes as a note on what it orders, and nothing else is
    done then; so it obeys its items and what it does shows what they are (design D13).
    """

    episode: Episode
    calls: Sequence[tuple[str, Mapping[str, str]]]
    name: ClassVar[str] = "scripted agent (no model)"

    def turn(
        self, desk: Desk, history: Prompt, user: str, items: Sequence[IntentItem] | None, last: bool
    ) -> Play[tuple[str, Prompt]]:
        """The schedule's own replies, and at the last turn the work."""
        yield from ()
        turns = [*history, Turn("user", user)]
        if not last:
            reply = self.episode.turns[sum(turn.role == "user" for turn in history)].reply
            return reply, (*turns, Turn("assistant", reply))
        held, wanted = self._values(items or ()), self._values(goal_items(self.episode.task))
        if wanted.keys() <= held.keys():
            other = [f"{name}: {value}" for name, value in held.items() if wanted.get(name) != value]
            for name, arguments in self.calls:
                if not other or "note" in arguments:
                    note = {"note": "; ".join(filter(None, (arguments["note"], *other)))} if "note" in arguments else {}
                    desk.calls.append(desk.tools[name].call({**arguments, **note}, tuple(desk.calls)))
        return "Done.", (*turns, Turn("assistant", "Done."))

    def _values(self, items: Sequence[IntentItem]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for item in sorted(items, key=lambda item: item.id):
            found |= resolve(self.episode.task, item)
        return found


def play(
    episode: Episode,
    condition: Condition,
    worker: Worker,
    tools: Sequence[Tool],
    *,
    simulated: bool,
    limits: Limits,
    codec: Codec = "delta",
    window: int | None = WINDOW,
) -> Play[Played]:
    """One run of an episode; the environment's state goes on from turn to turn.

    The user says the scheduled turns, in words of the role `simulator` where `simulated`.
    """
    desk = Desk({tool.name: tool for tool in tools})
    history: Prompt = ()
    said: Dialogue = ()
    state = IntentState()
    exchanges: list[tuple[str, Output]] = []
    folds: list[str] = []
    turns = user_turns(episode, condition)
    for number, scheduled in enumerate(turns):
        user, last, before = scheduled, number == len(turns) - 1, len(desk.calls)
        if simulated:
            [told] = yield Ask("simulator", (simulator_prompt(said, scheduled),), limits.user_tokens)
            user = _whole(told, number)
        said = (*said, Turn("user", user))
        items: tuple[IntentItem, ...] | None = None
        if condition == "tracker":
            [written] = yield Ask("tracker", (tracker_prompt(state, said, codec=codec, window=window),), limits.fold_tokens)
            state = read_fold(state, written, codec).state
            folds.append(written.text)
            items = state.of_kind("goal", "conclusion")
        elif condition == "oracle_state":
            items = episode.turns[number].state.of_kind("goal", "conclusion")
        elif isinstance(worker, ScriptedAgent):  # it reads no words: what the condition's dialogue states
            items = _stated(episode, condition) if last else ()
        reply, history = yield from worker.turn(desk, history, user, items, last)
        said = (*said, Turn("assistant", reply)) if reply else said
        exchanges.append((user, output_of(reply, desk.calls[before:], desk.files)))
    acted = sum(turn.role == "assistant" for turn in history)
    return Played(tuple(exchanges), tuple(desk.errors), acted, tuple(folds))


def user_turns(episode: Episode, condition: Condition) -> tuple[str, ...]:
    """What the user says under a condition."""
    if condition == "clean":
        return (episode.clean,)
    turns = [turn.user for turn in episode.turns]
    if condition == DIAGNOSTIC:
        wanted = active_lines(episode.final_state.of_kind("goal"))
        turns[-1] = RESTATEMENT.format(last=turns[-1], items=wanted)
    return tuple(turns)


def _whole(told: Completion, number: int) -> str:
    if not told.stopped or not told.text.strip():
        raise BackendError(f"expected the user's turn {number} whole, got {told.text[:80]!r}")
    return told.text.strip()


def _stated(episode: Episode, condition: Condition) -> tuple[IntentItem, ...]:
    """The history-only policy; a restatement states the final goals last, and withdraws nothing."""
    goals = goal_items(episode.task)
    if condition == "clean":
        return goals
    stated = stated_items(episode)
    both = (*stated, *goals) if condition == DIAGNOSTIC else stated
    return tuple(replace(item, id=number) for number, item in enumerate(both, start=1))
