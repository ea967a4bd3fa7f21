"""What a backend's calls cost, kept over kills: calls that a journal answers cost nothing and are not counted."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from intentfold.dialogue import to_messages
from intentfold.records import canonical_json, content_hash
from intentfold.runtime.journal import Journal
from intentfold.runtime.roles import Backend, Completion, Prompt

Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Usage:
    """Sums over prompts. `cpu_seconds` are this process's own: a server's are not seen.

    `latencies` holds for each prompt the seconds that its model was at it: a request's own time with a server, its batch's
    in process, the whole call's where the backend tells no more. `wall` goes from the first call of a run to the end of its
    last, with what the loop does between calls; in `busy` of it the model had work. `concurrency` is how many requests at
    a time a server is allowed, None for what is not served.
    """

    prompts: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    latencies: tuple[float, ...] = ()
    wall: float = 0.0
    busy: float = 0.0
    concurrency: int | None = None

    def latency(self, percent: float) -> float | None:
        """The percentile of the latencies (linear between neighbours); None without any."""
        return float(np.percentile(self.latencies, percent)) if self.latencies else None

    @property
    def mean_latency(self) -> float | None:
        """The mean of the latencies; None without any."""
        return sum(self.latencies) / len(self.latencies) if self.latencies else None

    @property
    def in_flight(self) -> float | None:
        """Requests at a time to a server, averaged over the wall time, as a share of how many were allowed."""
        return sum(self.latencies) / (self.wall * self.concurrency) if self.wall and self.concurrency else None

    @property
    def busy_share(self) -> float | None:
        """The share of the wall time in which a server had a request, of this client: others are not seen."""
        return self.busy / self.wall if self.wall and self.concurrency else None


class TimedBackend:
    """A backend whose calls are timed into a journal. Put it under a `JournaledBackend`."""

    def __init__(self, backend: Backend, journal: Journal) -> None:
        self.backend = backend
        self.journal = journal
        self._begin = time.perf_counter()
        # Clocks of other runs began elsewhere: times are compared within a run alone.
        self._run = 1 + max((call["run"] for call in self._calls()), default=0)

    @property
    def name(self) -> str:
        """The identity of the backend behind."""
        return self.backend.name

    def complete(self, prompts: Sequence[Prompt], max_tokens: int) -> list[Completion]:
        """The backend's completions."""
        begin, cpu = time.perf_counter(), time.process_time()
        found = self.backend.complete(prompts, max_tokens)
        call, spent = (begin, time.perf_counter()), time.process_time() - cpu
        value = {
            "run": self._run,
            "call": self._since(call),
            "cpu": spent,
            "tokens": [sum(c.prompt_tokens for c in found), sum(c.completion_tokens for c in found)],
            "spans": [self._since(c.span or call) for c in found],
        }
        key = content_hash(canonical_json([max_tokens, *map(to_messages, prompts)]))
        self.journal.write({f"{self.name}\n{key}": value})
        return found

    def usage(self) -> Usage:
        """What all calls of this backend cost, those of earlier runs among them."""
        calls = self._calls()
        if not calls:
            return Usage()
        latencies = [end - begin for call in calls for begin, end in call["spans"]]
        wall = busy = 0.0
        for run in {call["run"] for call in calls}:
            mine = [call for call in calls if call["run"] == run]
            wall += max(call["call"][1] for call in mine) - min(call["call"][0] for call in mine)
            busy += covered(span for call in mine for span in call["spans"])
        return Usage(
            len(latencies),
            sum(call["call"][1] - call["call"][0] for call in calls),
            sum(call["cpu"] for call in calls),
            sum(call["tokens"][0] for call in calls),
            sum(call["tokens"][1] for call in calls),
            tuple(latencies),
            wall,
            busy,
            getattr(self.backend, "concurrency", None),
        )

    def _calls(self) -> list[dict[str, Any]]:
        return [value for key, value in self.journal.entries.items() if key.rpartition("\n")[0] == self.name]

    def _since(self, span: Span) -> Span:
        return span[0] - self._begin, span[1] - self._begin


def covered(spans: Iterable[Sequence[float]]) -> float:
    """How long at least one of the spans was on."""
    total, end = 0.0, float("-inf")
    for begin, until in sorted(map(tuple, spans)):
        total += max(0.0, until - max(begin, end))
        end = max(end, until)
    return total
