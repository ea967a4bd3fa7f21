"""The roles as protocols with interchangeable backends, and what passes between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from intentfold.dialogue import Dialogue, Turn
from intentfold.intent import IntentItem
from intentfold.records import RECORD
from intentfold.task import SourceTask

Prompt = tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model wrote for one prompt; `stopped` says that it ended by itself, not at the limit of tokens.

    `option_logprobs` is there where it was asked for (`Scorer`): how likely each option was to come first.
    `span` is when the model was at it, begin and end on this process's `time.perf_counter`, where the backend can tell.
    `thought` is what the model thought before it wrote `text`, None where it does not think; `closed` says that the thought
    came to its end: where it did not, there is no answer, and `text` is empty.
    """

    __pydantic_config__ = RECORD

    text: str
    prompt_tokens: int
    completion_tokens: int
    stopped: bool
    option_logprobs: tuple[float, ...] = ()
    span: tuple[float, float] | None = field(default=None, compare=False)
    thought: str | None = None
    closed: bool = True

    def __post_init__(self) -> None:
        # A lone surrogate could not be written to any journal or report.
        object.__setattr__(self, "text", self.text.encode("utf-8", "replace").decode("utf-8"))
        if self.thought is not None:
            object.__setattr__(self, "thought", self.thought.encode("utf-8", "replace").decode("utf-8"))


class BackendError(RuntimeError):
    """An infrastructure failure: never scored as a wrong answer (design D8).

    `finished` holds the completions, by position among the prompts, that came back all the same.
    """

    def __init__(self, message: str, finished: Mapping[int, Completion] | None = None) -> None:
        super().__init__(message)
        self.finished = dict(finished or {})


class Backend(Protocol):
    """Completes prompts, greedily. `name` is the identity of what answers: endpoint, model, weights, adapter."""

    @property
    def name(self) -> str: ...

    def complete(self, prompts: Sequence[Prompt], max_tokens: int) -> list[Completion]:
        """One completion a prompt, in order. Raises `BackendError`."""
        ...


@runtime_checkable
class Scorer(Protocol):
    """A backend that also tells how likely each of some options was to come first."""

    def complete_scored(self, prompts: Sequence[Prompt], max_tokens: int, options: Sequence[str]) -> list[Completion]:
        """As `complete`, and with the log-probability of the first token of each option, in order. Raises `BackendError`."""
        ...


@dataclass(frozen=True, slots=True)
class View:
    """What an agent is shown: the dialogue, and the active items (None where it has the history alone).

    `task` is what the state executor works on; a model is not shown it. `draft` is an earlier answer to the same view
    that broke output conventions in the ways `violations` says. `recap` is shown to a model in the place of the state,
    with those of the items that are conventions.
    """

    dialogue: Dialogue
    items: tuple[IntentItem, ...] | None
    task: SourceTask | None = None
    draft: str = ""
    violations: tuple[str, ...] = ()
    recap: str = ""


class Agent(Protocol):
    """Answers users. `name` stands in every row of a report."""

    @property
    def name(self) -> str: ...

    def answer(self, views: Sequence[View]) -> list[str]:
        """One answer a view, in order."""
        ...


class Simulator(Protocol):
    """Plays the user: the next turn after the agent's last reply, or None when there is nothing more to say."""

    @property
    def name(self) -> str: ...

    def say(self, dialogue: Dialogue) -> str | None: ...


def require_separate(tested: str, others: Mapping[str, str], *, allow_shared: bool = False) -> None:
    """Refuse a simulator or judge that is the tested agent itself (IntentFlux: they are separate), unless told.

    Names are identities of backends (endpoint and model); `others` maps a role to its own.
    """
    shared = sorted(role for role, name in others.items() if name == tested)
    if shared and not allow_shared:
        raise ValueError(
            f"{' and '.join(shared)}: must not be the tested agent itself ({tested}); say allow_shared to have it so"
        )
