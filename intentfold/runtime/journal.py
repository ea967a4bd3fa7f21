"""A journal of finished work: what a killed run had done is read back, never done or paid for twice (design D9)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from intentfold.dialogue import to_messages
from intentfold.graders import Grade
from intentfold.records import RecordError, canonical_json, content_hash, from_json, to_json
from intentfold.runtime.batching import batches
from intentfold.runtime.roles import Backend, BackendError, Completion, Prompt, Scorer
from intentfold.task import SourceTask


class Journal:
    """Keys and JSON values in an append-only file, one line each; every `write` is on disk when it returns.

    A last line that a kill cut short is dropped; a bad line before it raises `RecordError` with file and line.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: dict[str, Any] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        whole = path.read_bytes()
        kept = whole[: whole.rfind(b"\n") + 1]
        for number, line in enumerate(kept.splitlines(), start=1):
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise RecordError(f"{path}:{number}: expected [key, value], got {line[:80]!r} ({error})") from None
            if not (isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], str)):
                raise RecordError(f"{path}:{number}: expected [key, value], got {line[:80]!r}")
            self.entries[entry[0]] = entry[1]
        if len(kept) < len(whole):
            os.truncate(path, len(kept))

    def write(self, entries: dict[str, Any]) -> None:
        """Append entries and wait until they are on disk."""
        with self.path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps([key, value], ensure_ascii=True) + "\n" for key, value in entries.items())
            file.flush()
            os.fsync(file.fileno())
        self.entries.update(entries)


class JournaledBackend:
    """A backend whose completions go through a journal, so that a run that starts again asks only for what is missing.

    Prompts are sent in chunks of `chunk`, short ones first and those that begin alike in one; at most one chunk is lost to a
    kill. `progress` is called with the number of prompts answered, those from the journal included. `tokens` counts those of
    all prompts and completions that it gave, from the journal too: what the work takes, however often it was begun.
    """

    def __init__(
        self, backend: Backend, journal: Journal, *, chunk: int = 128, progress: Callable[[int], object] = lambda count: None
    ) -> None:
        self.backend = backend
        self.journal = journal
        self.chunk = chunk
        self.progress = progress
        self.tokens = 0

    @property
    def name(self) -> str:
        """The identity of the backend behind."""
        return self.backend.name

    def complete(self, prompts: Sequence[Prompt], max_tokens: int) -> list[Completion]:
        """Completions from the journal, or from the backend and then in the journal.

        Raises `BackendError` at the first chunk that fails, with all that is in the journal by then as `finished`.
        """
        return self._answer(prompts, [self.name, max_tokens], lambda some: self.backend.complete(some, max_tokens))

    def _answer(
        self, prompts: Sequence[Prompt], asked: list[Any], complete: Callable[[Sequence[Prompt]], list[Completion]]
    ) -> list[Completion]:
        keys = [content_hash(canonical_json([*asked, to_messages(prompt)])) for prompt in prompts]
        missing = {key: prompt for key, prompt in zip(keys, prompts, strict=True) if key not in self.journal.entries}
        self.progress(len(prompts) - len(missing))
        waiting = list(missing.items())
        for places in batches(["\0".join(turn.content for turn in prompt) for _, prompt in waiting], self.chunk):
            chunk = [waiting[place] for place in places]
            try:
                done = dict(enumerate(complete([prompt for _, prompt in chunk])))
            except BackendError as error:
                self._keep(chunk, error.finished)
                answered = {
                    n: from_json(Completion, self.journal.entries[k]) for n, k in enumerate(keys) if k in self.journal.entries
                }
                raise BackendError(str(error), answered) from error
            self._keep(chunk, done)
            self.progress(len(chunk))
        found = [from_json(Completion, self.journal.entries[key]) for key in keys]
        self.tokens += sum(one.prompt_tokens + one.completion_tokens for one in found)
        return found

    def _keep(self, chunk: Sequence[tuple[str, Prompt]], done: dict[int, Completion]) -> None:
        self.journal.write({chunk[position][0]: to_json(completion) for position, completion in done.items()})


class JournaledScorer(JournaledBackend):
    """The same for a backend that is a `Scorer`."""

    def complete_scored(self, prompts: Sequence[Prompt], max_tokens: int, options: Sequence[str]) -> list[Completion]:
        """Scored completions from the journal, or from the backend and then in the journal; raises as `complete`."""
        backend = self.backend
        assert isinstance(backend, Scorer)
        asked = [self.name, max_tokens, list(options)]
        return self._answer(prompts, asked, lambda some: backend.complete_scored(some, max_tokens, options))


def journaled(
    backend: Backend, journal: Journal, *, chunk: int = 128, progress: Callable[[int], object] = lambda count: None
) -> JournaledBackend:
    """The backend through the journal, a `Scorer` where it is one."""
    kind = JournaledScorer if isinstance(backend, Scorer) else JournaledBackend
    return kind(backend, journal, chunk=chunk, progress=progress)


def journaled_grade(journal: Journal, task: SourceTask, answer: str, grade: Callable[[SourceTask, str], Grade]) -> Grade:
    """The grade from the journal, or from `grade` and then in the journal; what could not be graded is tried again."""
    key = content_hash(canonical_json([task.hash(), answer]))
    if key not in journal.entries:
        found = grade(task, answer)
        if found.value is None:
            return found
        journal.write({key: [found.value, found.full, found.reason]})
    value, full, reason = journal.entries[key]
    return Grade(value, full, reason)
