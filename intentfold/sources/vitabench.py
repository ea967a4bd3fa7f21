"""VitaBench's tasks (He et al. 2025): what a user wants of a service, its environment, and the rubrics that judge how it went.

One file is a JSON list of tasks, whatever their domain (delivery, in-store, OTA, cross-domain); the environments of the domains
differ, and `intentfold.domains` holds the tools of those that are known. Only a judge can grade what is done there, so these
tasks, and what is varied in their wishes, are unverified and kept apart (design D6).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from intentfold.sources.loading import LoadReport, SourceError, checked, read_list
from intentfold.sources.sentences import points_back, sentences
from intentfold.sources.vitabench_words import decoys, variable
from intentfold.task import Goal, SourceTask

LICENSE = "MIT"
REQUEST = "You are the assistant of a service. Use its tools to get done what I ask for."


@dataclass(frozen=True, slots=True)
class InteractiveTask:
    """One task. `rubrics` are what a judge checks at the end, one by one; `profile` is what the user knows of themselves."""

    id: str
    domain: str
    instructions: str
    profile: Mapping[str, Any] = field(hash=False)
    environment: Mapping[str, Any] = field(hash=False)
    rubrics: tuple[str, ...]
    expected: tuple[Mapping[str, Any], ...] = field(hash=False)


def load_vitabench(path: Path) -> tuple[InteractiveTask, ...]:
    """The tasks of a file, or of every JSON file of a folder; raises `SourceError` with file, record and field."""
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not files:
        raise SourceError(f"{path}: no JSON file; expected VitaBench's tasks")
    tasks: dict[str, InteractiveTask] = {}
    for file in files:
        for number, record in enumerate(read_list(file, "VitaBench's tasks, a JSON list")):
            task = _task(f"{file}: record {number}", record)
            if task.id in tasks:
                raise SourceError(f"{file}: record {number}: field id: {task.id!r} stood before")
            tasks[task.id] = task
    return tuple(tasks.values())


def _task(where: str, record: Any) -> InteractiveTask:
    fields: dict[str, type] = {"id": str, "domain": str, "instructions": str, "environment": dict, "user_scenario": dict}
    one = checked(where, record, {**fields, "evaluation_criteria": dict})
    criteria = checked(
        f"{where}: evaluation_criteria", one["evaluation_criteria"], {"overall_rubrics": list, "expected_states": list}
    )
    rubrics = _rubrics(where, criteria)
    orders: dict[str, Mapping[str, Any]] = {}
    for state in criteria["expected_states"]:
        # Every state repeats the orders of the whole task.
        for order in checked(f"{where}: expected_states", state, {"required_orders": list})["required_orders"]:
            orders.setdefault(checked(f"{where}: required_orders", order, {"order_id": str})["order_id"], order)
    checked(f"{where}: environment", one["environment"], {"time": str, "user_id": str})
    profile = one["user_scenario"].get("user_profile", {})
    return InteractiveTask(
        one["id"], one["domain"], one["instructions"], profile, one["environment"], rubrics, tuple(orders.values())
    )


def _rubrics(where: str, criteria: Mapping[str, Any]) -> tuple[str, ...]:
    """Those of every expected state, then the overall ones; the same words count once, as in the benchmark's evaluator."""
    lists = [state.get("state_rubrics", []) for state in criteria["expected_states"]]
    rubrics = [rubric for some in (*lists, criteria["overall_rubrics"]) for rubric in some]
    if not rubrics or not all(isinstance(rubric, str) and rubric.strip() for rubric in rubrics):
        raise SourceError(f"{where}: fields state_rubrics and overall_rubrics must list texts, got {str(rubrics)[:80]!r}")
    return tuple(dict.fromkeys(rubrics))


def load_interactive(path: Path) -> LoadReport:
    """The tasks as source tasks, all of them unverified."""
    return LoadReport((), {}, tuple(map(as_source_task, load_vitabench(path))))


def as_source_task(task: InteractiveTask) -> SourceTask:
    """The task's wishes, a goal a sentence, told by the user of themselves.

    The payload holds what a run needs: `domain`, `environment`, `rubrics`, and the benchmark's own orders as `reference`.
    Its `parameters` say what each sentence may say instead, and which wishes may come and go.
    """
    told = [_of_oneself(sentence) for sentence in sentences(task.instructions)]
    names = list(_names(task.environment))
    parameters: dict[str, Any] = {}
    for n, sentence in enumerate(told, start=1):
        found = variable(sentence, names)
        text, values = (sentence, []) if found is None else (found[0], found[2])
        parameters[f"sentence {n}"] = {"type": "string", "values": values, "optional": False, "spoken": [], "text": text}
    words = " ".join(told).casefold()
    parameters |= decoys(name for row in names[:1] for name in row if name.casefold() not in words)
    return SourceTask(
        id=f"vitabench/{task.id}",
        family=f"vitabench_{task.domain}",
        origin=f"vitabench/{task.id}",
        license=LICENSE,
        request=REQUEST,
        goals=tuple(
            Goal(f"g{n}", sentence, depends_on=(f"g{n - 1}",) if n > 1 and points_back(sentence) else ())
            for n, sentence in enumerate(told, start=1)
        ),
        answer_form="interactive",
        payload={
            "benchmark_split": "test",
            "domain": task.domain,
            "environment": dict(task.environment),
            "rubrics": list(task.rubrics),
            "parameters": parameters,
            "reference": {"orders": [dict(order) for order in task.expected]},
        },
    )


def _names(environment: Mapping[str, Any]) -> Iterator[list[str]]:
    """The names of the environment's products, then of its stores; nothing where it has none of that shape."""
    stores = environment.get("stores")
    if isinstance(stores, dict):
        shown = [store for store in stores.values() if isinstance(store, dict)]
        products = [p for store in shown for p in store.get("products", ()) if isinstance(p, dict)]
        for things in (products, shown):
            yield [str(thing["name"]) for thing in things if "name" in thing]


_TURNED = {
    "you": "I",
    "your": "my",
    "yours": "mine",
    "yourself": "myself",
    "you're": "I'm",
    "you've": "I've",
    "you'd": "I'd",
    "you'll": "I'll",
}
_OBJECT = re.compile(
    r"\b(to|for|with|from|by|at|of|visit|visiting|see|tells?|told|reminde?d?s?|helps?|gives?|asked) you\b(?!['’])", re.IGNORECASE
)


def _of_oneself(sentence: str) -> str:
    """The instruction as the user would say it: "you are hungry" as "I am hungry"."""
    text = re.sub(r"\byou are\b", "I am", _OBJECT.sub(lambda match: f"{match[1]} me", sentence), flags=re.IGNORECASE)
    text = re.sub(r"\byou were\b", "I was", text, flags=re.IGNORECASE)
    text = re.sub(r"\b(you(?:'re|'ve|'d|'ll|rs|rself|r)?)\b", lambda match: _TURNED[match[1].lower()], text, flags=re.IGNORECASE)
    return text[:1].upper() + text[1:]
