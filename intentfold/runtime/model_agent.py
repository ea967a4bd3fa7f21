"""A language model as the agent, through any backend."""

from __future__ import annotations

from collections.abc import Sequence

from intentfold.prompts.agent import agent_prompt
from intentfold.runtime.roles import Backend, View


class ModelAgent:
    """Answers from the dialogue and, where it is shown, the active state (`intentfold.prompts.agent`)."""

    def __init__(self, backend: Backend, max_tokens: int = 1024) -> None:
        self.backend = backend
        self.max_tokens = max_tokens

    @property
    def name(self) -> str:
        """The identity of the backend."""
        return self.backend.name

    def answer(self, views: Sequence[View]) -> list[str]:
        """One completion a view. Raises `BackendError`."""
        prompts = [agent_prompt(v.dialogue, v.items, draft=v.draft, violations=v.violations, recap=v.recap) for v in views]
        return [completion.text for completion in self.backend.complete(prompts, self.max_tokens)] if prompts else []
