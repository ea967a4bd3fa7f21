"""What a backend's calls cost, kept over kills: calls that a journal answers cost nothing and are not counted."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from intentfold.dialogue import to_messages
from intentfold.records import canonical_json, content_hash
from intentfold.runtime.journal import Journal
from intentfold.runtime.roles import Backend, Completion, Prompt


@dataclass(frozen=True, slots=True)
class Usage:
    """Sums over prompts. `cpu_seconds` are this process's own: a server's are not seen."""

    prompts: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0


class TimedBackend:
    """A backend whose calls are timed into a journal. Put it under a `JournaledBackend`."""

    def __init__(self, backend: Backend, journal: Journal) -> None:
        self.backend = backend
        self.journal = journal

    @property
    def name(self) -> str:
        """The identity of the backend behind."""
        return self.backend.name

    def complete(self, prompts: Sequence[Prompt], max_tokens: int) -> list[Completion]:
        """The backend's completions."""
        wall, cpu = time.perf_counter(), time.process_time()
        found = self.backend.complete(prompts, max_tokens)
        spent = [len(found), time.perf_counter() - wall, time.process_time() - cpu]
        tokens = [sum(c.prompt_tokens for c in found), sum(c.completion_tokens for c in found)]
        key = content_hash(canonical_json([max_tokens, *map(to_messages, prompts)]))
        self.journal.write({f"{self.name}\n{key}": [*spent, *tokens]})
        return found

    def usage(self) -> Usage:
        """What all calls of this backend cost, those of earlier runs among them."""
        mine = [value for key, value in self.journal.entries.items() if key.rpartition("\n")[0] == self.name]
        return Usage(*map(sum, zip(*mine, strict=True))) if mine else Usage()
