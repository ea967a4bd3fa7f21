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
from intentfold.trace import LiveRun

Method = Literal["base", "raw_history", "skill", "memory", "rules", "no_runtime", "no_explanation", "no_context", "live_assets"]
METHODS: tuple[Method, ...] = get_args(Method)


@dataclass(frozen=True)
class Supply:
    """What a method supplies for a target: intents or notes for the worker, and a judge with the intents that it checks."""

    intents: tuple[ContextualIntent, ...] = ()
    notes: tuple[str, ...] = ()
    judge: Judge | None = None
    checked: tuple[ContextualIntent, ...] = ()


def without_explanations(intents: Sequence[ContextualIntent]) -> tuple[ContextualIntent, ...]:
    """The same requirements and facts with nothing said of why and when (an ablation of LiveAsset, 4.4.1)."""
    return tuple(replace(intent, explanation="") for intent in intents)


def execute(
    target: Target,
    supply: Supply,
    rates: AgentRates,
    keys_of: Mapping[str, str],
    *,
    method: str,
    kind: str,
    run: int,
    seed: int,
) -> LiveRun:
    """One execution from the initial environment, judged from outside by the executed checks.

    `keys_of` tells which requirement a checked text is about, so that findings can be followed. Every method has the same
    luck at the start of a target's `run`.
    """
    luck = random.Random(f"{seed}/{target.id}/{run}")
    worker = ScriptedWorker(target.family, target.scenario, target.words, replace(rates, ask=0.0), luck)
    job = Job((Turn("user", target.request),), supply.intents, supply.notes)
    if supply.judge is None:
        delivery = Delivery((Candidate(worker.work(job), Check(())),), 0)
    else:
        delivery = deliver(worker, job, Checker(supply.judge, supply.checked))
    assessed = [target.assess(candidate.output) for candidate in delivery.candidates]
    first, final = assessed[0], assessed[delivery.chosen]
    found = {keys_of.get(finding.text) for finding in delivery.candidates[0].check.of("unmet")}
    return LiveRun(
        method=method,
        kind=kind,
        target=target.id,
        cluster=target.user,
        run=run,
        weights=target.weights,
        first=tuple(one.verdict != "unmet" for one in first),
        final=tuple(one.verdict != "unmet" for one in final),
        identified=tuple(key in found for key in target.keys),
        acted=tuple(any(later[n] != one for later in assessed[1:]) for n, one in enumerate(first)),
        passed=delivery.check.passed,
        revisions=len(delivery.candidates) - 1,
    )
