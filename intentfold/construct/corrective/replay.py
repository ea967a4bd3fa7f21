"""Running a target under a method with a scripted or served worker, and judging it from outside by the executed checks."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from intentfold.asset import ContextualIntent
from intentfold.construct.corrective.agent import AgentRates, ScriptedWorker
from intentfold.construct.corrective.origins import Origins
from intentfold.construct.corrective.targets import Target
from intentfold.dialogue import Turn
from intentfold.runtime.checker import Check, Checker, Judge
from intentfold.runtime.journal import JournaledBackend
from intentfold.runtime.verification import Candidate, Delivery, Job, Worker, deliver
from intentfold.runtime.worker import ModelWorker
from intentfold.trace import LiveRun

Method = Literal["base", "raw_history", "skill", "memory", "rules", "no_runtime", "no_explanation", "no_context", "live_assets"]
METHODS: tuple[Method, ...] = get_args(Method)


@dataclass(frozen=True)
class Supply:
    """What a method supplies for a target: intents or notes for the worker, and a judge with the intents that it checks.

    `checker` is the model behind the judge, where there is one, and `selection` the tokens that a model took to select.
    """

    intents: tuple[ContextualIntent, ...] = ()
    notes: tuple[str, ...] = ()
    judge: Judge | None = None
    checked: tuple[ContextualIntent, ...] = ()
    checker: JournaledBackend | None = None
    selection: int | None = None


def without_explanations(intents: Sequence[ContextualIntent]) -> tuple[ContextualIntent, ...]:
    """The same requirements and facts with nothing said of why and when (an ablation of LiveAsset, 4.4.1)."""
    return tuple(replace(intent, explanation="") for intent in intents)


def execute(
    target: Target,
    supply: Supply,
    agent: AgentRates | JournaledBackend,
    origins: Origins,
    *,
    method: str,
    kind: str,
    run: int,
    seed: int,
) -> LiveRun:
    """One execution from the initial environment, judged from outside by the executed checks.

    `agent` is a model, or the rates of the scripted one; every method has the same luck at the start of a target's `run`.
    `origins` tells which requirements a checked part is about, so that findings can be followed. Raises `BackendError`.
    """
    luck = random.Random(f"{seed}/{target.id}/{run}")
    worker: Worker
    if isinstance(agent, AgentRates):
        worker = ScriptedWorker(target.family, target.scenario, target.words, replace(agent, ask=0.0), luck)
    else:
        worker = ModelWorker(agent, target.family.tools(target.scenario.values), target.family.brief)
    models = {"worker": None if isinstance(agent, AgentRates) else agent, "checker": supply.checker}
    before = {role: model.tokens for role, model in models.items() if model is not None}
    job = Job((Turn("user", target.request),), supply.intents, supply.notes)
    if supply.judge is None:
        delivery = Delivery((Candidate(worker.work(job), Check(())),), 0)
    else:
        delivery = deliver(worker, job, Checker(supply.judge, supply.checked))
    assessed = [target.assess(candidate.output) for candidate in delivery.candidates]
    first, final = assessed[0], assessed[delivery.chosen]
    about, untraced = _followed(target, supply, origins)
    unmet = {key for found in delivery.candidates[0].check.of("unmet") for key in about.get((found.intent, found.part), ())}
    selected = {key for keys in about.values() for key in keys}
    tokens = {role: model.tokens - before[role] for role, model in models.items() if model is not None}
    if supply.selection is not None:
        tokens["selection"] = supply.selection
    return LiveRun(
        method=method,
        kind=kind,
        target=target.id,
        cluster=target.user,
        run=run,
        weights=target.weights,
        first=tuple(one.verdict != "unmet" for one in first),
        final=tuple(one.verdict != "unmet" for one in final),
        selected=None if untraced else tuple(key in selected for key in target.keys),
        identified=None if untraced else tuple(key in unmet for key in target.keys),
        acted=tuple(any(later[n] != one for later in assessed[1:]) for n, one in enumerate(first)),
        passed=delivery.check.passed,
        revisions=len(delivery.candidates) - 1,
        untraced=untraced,
        tokens=tokens,
    )


def _followed(target: Target, supply: Supply, origins: Origins) -> tuple[dict[tuple[int, int], frozenset[str]], str]:
    """What each supplied part is about, by the ids of intent and part; and why that cannot be told, empty where it can."""
    about: dict[tuple[int, int], frozenset[str]] = {}
    for intent in supply.checked or supply.intents:
        for part in intent.parts:
            keys = origins.keys(intent, part, target.family.name)
            if keys is None:
                where = ", ".join(intent.sources) or "none"
                return {}, f"no history tells what {part.text[:80]!r} is about (its messages: {where})"
            about[(intent.id, part.id)] = keys
    if supply.notes and not about:
        return {}, "notes hold no intents"
    return about, ""
