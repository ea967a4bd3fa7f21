"""Running a target under a method with a scripted worker, and judging it from outside by the executed checks."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from intentfold.asset import ContextualIntent
from intentfold.construct.corrective.agent import AgentRates, ScriptedWorker
from intentfold.construct.corrective.targets import Target
from intentfold.dialogue import Turn
from intentfold.runtime.checker import Check, Checker, Judge
from intentfold.runtime.verification import Candidate, Delivery, Job, deliver
from intentfold.trace import Wording

Method = Literal["base", "raw_history", "skill", "memory", "rules", "no_runtime", "no_explanation", "no_context", "live_assets"]
METHODS: tuple[Method, ...] = get_args(Method)


@dataclass(frozen=True)
class Supply:
    """What a method supplies for a target: intents or notes for the worker, and a judge with the intents that it checks."""

    intents: tuple[ContextualIntent, ...] = ()
    notes: tuple[str, ...] = ()
    judge: Judge | None = None
    checked: tuple[ContextualIntent, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """A delivery judged from outside, a value an exposed requirement (see `intentfold.metrics.live.LiveRun`)."""

    delivery: Delivery
    first: tuple[bool, ...]
    final: tuple[bool, ...]
    identified: tuple[bool, ...]
    acted: tuple[bool, ...]
    passed: bool | None


def without_explanations(intents: Sequence[ContextualIntent]) -> tuple[ContextualIntent, ...]:
    """The same requirements and facts with nothing said of why and when (an ablation of LiveAsset, 4.4.1)."""
    return tuple(replace(intent, explanation="") for intent in intents)


def execute(target: Target, supply: Supply, words: Wording, rates: AgentRates, seed: str, keys_of: Mapping[str, str]) -> Outcome:
    """One execution from the initial environment; the same `seed` gives every method the same luck at the start.

    `keys_of` tells which requirement a checked text is about, so that findings can be followed.
    """
    worker = ScriptedWorker(target.family, target.scenario, words, replace(rates, ask=0.0), random.Random(seed))
    job = Job((Turn("user", target.request),), supply.intents, supply.notes)
    if supply.judge is None:
        output = worker.work(job)
        delivery = Delivery((Candidate(output, Check(())),), 0)
    else:
        delivery = deliver(worker, job, Checker(supply.judge, supply.checked))
    assessed = [target.assess(candidate.output) for candidate in delivery.candidates]
    found = {keys_of.get(finding.text) for finding in delivery.candidates[0].check.of("unmet")}
    first, final = assessed[0], assessed[delivery.chosen]
    return Outcome(
        delivery,
        tuple(one.verdict != "unmet" for one in first),
        tuple(one.verdict != "unmet" for one in final),
        tuple(key in found for key in target.keys),
        tuple(any(later[n] != one for later in assessed[1:]) for n, one in enumerate(first)),
        None if supply.judge is None else delivery.check.passed,
    )
