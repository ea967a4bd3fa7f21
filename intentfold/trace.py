"""Traces: an episode is a source task turned into a dialogue with its oracle states."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from intentfold.dialogue import Dialogue, Turn
from intentfold.intent import Edit, IntentState, fold
from intentfold.records import RECORD, canonical_json, content_hash, to_json
from intentfold.task import SourceTask

Load = Literal[1, 3, 5]
Split = Literal["train", "dev", "test", "held_out_family"]
Wording = Literal["train", "dev", "test"]


@dataclass(frozen=True, slots=True)
class Stale:
    """A variant (a value later replaced) or decoy (an item later withdrawn).

    `verified` says that obeying it alone takes full credit from the reference answer (design D6).
    """

    __pydantic_config__ = RECORD

    kind: Literal["variant", "decoy"]
    text: str
    slot: str | None
    value: str | None
    verified: bool


@dataclass(frozen=True, slots=True)
class Branch:
    """Another turn that the user might have taken, and the edits that it would have made. The dialogue does not go on from it."""

    __pydantic_config__ = RECORD

    user: str
    edits: tuple[Edit, ...]
    phenomena: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EpisodeTurn:
    """What the user says, the oracle's edits and state after it, and what the agent answers.

    `edits` lead from the oracle state before to `state`; they include the conclusions that the agent's reply of
    the turn before stated, where those still hold. `phenomena` names what makes the turn hard (for slicing).
    `reply` is empty on the last turn: there the tested agent answers. `branches` are other turns from the same state:
    they share all of a training example's prompt but its last line.
    """

    __pydantic_config__ = RECORD

    user: str
    edits: tuple[Edit, ...]
    state: IntentState
    phenomena: tuple[str, ...]
    reply: str
    branches: tuple[Branch, ...] = ()


@dataclass(frozen=True, slots=True)
class Episode:
    """One source task as a drifting dialogue, with what its other conditions need.

    `clean` is the single-turn, fully specified request. `no_drift` is turn-matched: the final requirements first,
    then confirmations of comparable length; its turns alternate user, assistant, …, user.
    """

    __pydantic_config__ = RECORD

    version: Literal[1]
    id: str
    task: SourceTask
    load: Load
    split: Split
    wording: Wording
    seed: int
    stale: tuple[Stale, ...]
    turns: tuple[EpisodeTurn, ...]
    clean: str
    no_drift: Dialogue

    def __post_init__(self) -> None:
        if not self.turns:
            raise ValueError(f"episode {self.id}: has no turns")

    def drift(self, upto: int | None = None) -> Dialogue:
        """The dialogue up to and with user turn `upto` (counted from 0; the last by default)."""
        last = len(self.turns) - 1 if upto is None else upto
        dialogue: list[Turn] = []
        for turn in self.turns[: last + 1]:
            dialogue += [Turn("user", turn.user), Turn("assistant", turn.reply)]
        return tuple(dialogue[:-1])

    def taking(self, turn: int, branch: int) -> Episode:
        """The episode up to `turn`, where the user took the `branch`-th other turn instead; itself for branch 0."""
        if not branch:
            return self
        other = self.turns[turn].branches[branch - 1]
        before = self.turns[turn - 1].state if turn else IntentState()
        last = EpisodeTurn(other.user, other.edits, fold(before, other.edits), other.phenomena, "")
        return replace(self, turns=(*self.turns[:turn], last))

    @property
    def final_state(self) -> IntentState:
        """The oracle state after the last turn."""
        return self.turns[-1].state

    def hash(self) -> str:
        """Identity of the canonical content."""
        return content_hash(canonical_json(to_json(self)))


@dataclass(frozen=True, slots=True)
class Rollout:
    """What a tracker wrote on its own way through an episode, turn by turn, and how the answer was graded.

    `full` is the verdict with the tracker's final state, `oracle_full` that with the oracle's; None is ungradable.
    """

    __pydantic_config__ = RECORD

    episode: str
    arm: str
    codec: Literal["delta", "full"]
    outputs: tuple[str, ...]
    full: bool | None
    oracle_full: bool | None

    @property
    def flipped(self) -> bool:
        """Whether the tracker's errors cost the verdict: an executable stale-intent failure (IntentFlux, section 2)."""
        return self.full is False and self.oracle_full is True
