"""The runtime verification loop: check each output before delivery, revise what is unmet (LiveAsset, 3.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from intentfold.asset import ContextualIntent
from intentfold.dialogue import Dialogue, Output
from intentfold.records import RECORD
from intentfold.runtime.checker import Check, Checker, Finding


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker is given. `dialogue` ends with the user's message.

    `intents` are all those of the selected situations; `notes` is what another kind of memory supplies instead. Where
    there is a `draft` it is to be revised: `unmet` says what is wrong with it and why, `met` what is right and must stay.
    """

    dialogue: Dialogue
    intents: tuple[ContextualIntent, ...] = ()
    notes: tuple[str, ...] = ()
    draft: Output | None = None
    unmet: tuple[Finding, ...] = ()
    met: tuple[Finding, ...] = ()


class Worker(Protocol):
    """An agent that does tasks with tools and files. Its output is complete: a revision replaces what was before."""

    @property
    def name(self) -> str: ...

    @property
    def errors(self) -> Sequence[str]:
        """What was wrong with the actions of its last work."""
        ...

    def work(self, job: Job) -> Output:
        """The whole output after its tool calls have taken effect. Raises `BackendError`."""
        ...


@dataclass(frozen=True, slots=True)
class Candidate:
    """One output with its check."""

    __pydantic_config__ = RECORD

    output: Output
    check: Check

    @property
    def met(self) -> int:
        """How many requirements and facts were judged met."""
        return len(self.check.of("met"))


@dataclass(frozen=True, slots=True)
class Delivery:
    """All candidates in order, and the place of the one that is delivered."""

    __pydantic_config__ = RECORD

    candidates: tuple[Candidate, ...]
    chosen: int

    @property
    def output(self) -> Output:
        """What the user gets."""
        return self.candidates[self.chosen].output

    @property
    def check(self) -> Check:
        """The findings about what the user gets."""
        return self.candidates[self.chosen].check


def deliver(worker: Worker, job: Job, checker: Checker) -> Delivery:
    """Let the worker do the job, and revise it while the checker finds something unmet and revisions help.

    After each output every selected intent is checked again. It stops when nothing is unmet, or when a revision does not
    raise the number judged met; an empty output is no revision. Of the candidates the one with the most judged met is
    delivered, the earlier on ties. Not applicable and not assessed never cause a revision, and neither counts as met.
    """
    output = worker.work(job)
    candidates = [Candidate(output, checker.check(output, job.dialogue))]
    while unmet := candidates[-1].check.of("unmet"):
        last = candidates[-1]
        revised = worker.work(replace(job, draft=last.output, unmet=unmet, met=last.check.of("met")))
        if revised.empty:
            break
        candidates.append(Candidate(revised, checker.check(revised, job.dialogue)))
        if candidates[-1].met <= last.met:
            break
    best = max(range(len(candidates)), key=lambda place: (candidates[place].met, -place))
    return Delivery(tuple(candidates), best)
