"""A model that thinks before it answers, as a backend like any other: tracker, checker or agent, none of which needs to know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from intentfold.codec.thinking import Style, decode_thinking
from intentfold.prompts.thinking import thinking_prompt, thinking_template_hash
from intentfold.runtime.roles import Backend, BackendError, Completion, Prompt


class ThinkingBackend:
    """Asks a backend to think first; its completions are the answers, with the thoughts beside them.

    Text whose thought does not come to an end is no answer: the completion is empty and not `closed`, and whoever reads it
    counts it as an error. It is no `Scorer`: what stands first is not the answer.
    """

    def __init__(self, backend: Backend, style: Style) -> None:
        self.backend = backend
        self.style: Style = style

    @property
    def name(self) -> str:
        """The identity of the backend behind, and how it is asked to think: other words are another backend."""
        return f"{self.backend.name}, thinking ({self.style}, {thinking_template_hash(self.style)})"

    def complete(self, prompts: Sequence[Prompt], max_tokens: int) -> list[Completion]:
        """One answer a prompt, in order; thought and answer together have at most `max_tokens`. Raises `BackendError`."""
        asked = [thinking_prompt(prompt, self.style) for prompt in prompts]
        try:
            return [read_thinking(found, self.style) for found in self.backend.complete(asked, max_tokens)]
        except BackendError as error:
            finished = {place: read_thinking(found, self.style) for place, found in error.finished.items()}
            raise BackendError(str(error), finished) from error


def read_thinking(completion: Completion, style: Style) -> Completion:
    """The answer and the thought that a completion spells, for any text whatever.

    A server with a reasoning parser has already parted them; where it leaves no content, the thought did not end.
    """
    if completion.thought is not None:
        return replace(completion, closed=bool(completion.text.strip()))
    found = decode_thinking(completion.text, style)
    if found is None:
        return replace(completion, text="", thought=completion.text, closed=False)
    return replace(completion, text=found.answer, thought=found.thought)
