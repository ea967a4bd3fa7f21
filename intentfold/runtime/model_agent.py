"""A language model as the agent, through any backend."""

from __future__ import annotations

from collections.abc import Sequence

from intentfold.prompts.agent import agent_prompt
from intentfold.runtime.brief import task_brief
from intentfold.runtime.roles import Backend, Completion, Prompt, View


class ModelAgent:
    """Answers from the task's brief, the dialogue and, where it is shown, the active state (`intentfold.prompts.agent`)."""

    def __init__(self, backend: Backend, max_tokens: int = 1024) -> None:
        self.backend = backend
        self.max_tokens = max_tokens

    @property
    def name(self) -> str:
        """The identity of the backend."""
        return self.backend.name

    def answer(self, views: Sequence[View]) -> list[str]:
        """One answer a view. Raises `BackendError`."""
        return [completion.text for completion in self.complete(views)]

    def complete(self, views: Sequence[View]) -> list[Completion]:
        """The same with all that the backend tells, the thoughts of one that thinks among it. Raises `BackendError`."""
        return self.backend.complete([view_prompt(view) for view in views], self.max_tokens) if views else []


def view_prompt(view: View) -> Prompt:
    """The messages that a model is asked with."""
    brief = "" if view.task is None else task_brief(view.task)
    return agent_prompt(view.dialogue, view.items, draft=view.draft, violations=view.violations, recap=view.recap, brief=brief)
