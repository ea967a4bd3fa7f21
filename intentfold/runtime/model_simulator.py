"""A language model as the user, through any backend."""

from __future__ import annotations

from collections.abc import Sequence

from intentfold.dialogue import Dialogue
from intentfold.prompts.simulator import simulator_prompt
from intentfold.runtime.roles import Backend, BackendError


class ModelSimulator:
    """Says the scheduled turns in order, each in words of its own that answer what the agent has said."""

    def __init__(self, backend: Backend, turns: Sequence[str], max_tokens: int = 256) -> None:
        self.backend = backend
        self.turns = tuple(turns)
        self.max_tokens = max_tokens

    @property
    def name(self) -> str:
        """The identity of the backend."""
        return self.backend.name

    def say(self, dialogue: Dialogue) -> str | None:
        """The next scheduled turn as the model tells it. Raises `BackendError`, also where it says nothing or is cut off."""
        said = sum(turn.role == "user" for turn in dialogue)
        if said == len(self.turns):
            return None
        [told] = self.backend.complete([simulator_prompt(dialogue, self.turns[said])], self.max_tokens)
        if not told.stopped or not told.text.strip():
            raise BackendError(f"{self.name}: expected the user's turn {said} whole, got {told.text[:80]!r}")
        return told.text.strip()
