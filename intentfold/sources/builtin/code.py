"""Code: small Python functions made of steps, with unit tests from running the reference when the task is made."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import islice
from string import Template
from types import CodeType
from typing import Any

from intentfold.records import content_hash
from intentfold.sources.builtin.code_functions import FUNCTIONS, Function, Step
from intentfold.sources.builtin.common import LICENSE, Setting, draw_setting, make_conclusions, make_goals, opening, parameters
from intentfold.task import SourceTask

TESTS, ATTEMPTS = 6, 60
LEAST_DECOYS, MOST_DECOYS, DECOY_VALUES = 5, 7, 3

Check = tuple[Any, Any]  # what the function gets, and what it must return


def task(index: int, seed: int) -> SourceTask:
    """The task of that index: the same for the same seed, always."""
    rng = random.Random(f"code-{seed}-{index}")
    function = rng.choice(FUNCTIONS)
    for _ in range(ATTEMPTS):
        drawn = _draw(function, rng)
        if drawn is not None:
            return _assemble(function, *drawn, index, seed, rng)
    raise ValueError(f"task code-{seed}-{index}: no function fits its tests in {ATTEMPTS} attempts")


def _draw(function: Function, rng: random.Random) -> tuple[list[Setting], list[Setting], list[Check]] | None:
    """Stated and optional settings with the tests that tell their values apart; None where the tests can't."""
    steps = {step.slot: step for step in function.material.steps}
    drawn = {slot: draw_setting(slot, step.kind, rng) for slot, step in steps.items()}
    chosen = rng.sample(list(steps), rng.randint(3, 5))
    stated = {slot: drawn[slot].value for slot in steps if slot in chosen}
    inputs = [function.material.draw(rng) for _ in range(TESTS)]
    checks = [(given, _run(function, stated, given)) for given in inputs]
    if not all(result for _, result in checks) or any(_passes(function, _without(stated, slot), checks) for slot in stated):
        return None

    def telling(slot: str, values: Sequence[str]) -> Iterator[str]:
        return (value for value in values if not _passes(function, {**stated, slot: value}, checks))

    settings = [
        Setting(slot, steps[slot].kind.type, value, tuple(telling(slot, drawn[slot].others))) for slot, value in stated.items()
    ]
    optional: list[Setting] = []
    for slot in rng.sample(list(steps), len(steps)):
        if slot not in stated and len(optional) < MOST_DECOYS:
            values = tuple(islice(telling(slot, (drawn[slot].value, *drawn[slot].others)), DECOY_VALUES))
            if len(values) > 1:
                optional.append(Setting(slot, steps[slot].kind.type, values[0], values[1:]))
    if len(optional) < LEAST_DECOYS or any(len(setting.others) < 2 for setting in settings):
        return None
    return settings, optional, checks


def _assemble(
    function: Function,
    settings: list[Setting],
    optional: list[Setting],
    checks: list[Check],
    index: int,
    seed: int,
    rng: random.Random,
) -> SourceTask:
    values = {setting.slot: setting.value for setting in settings}
    used = [step for step in function.material.steps if step.slot in {s.slot for s in (*settings, *optional)}]
    one, other = rng.sample(list(values), 2)
    return SourceTask(
        id=f"code-{seed}-{index}",
        family="code",
        origin=f"code:{function.name}:{content_hash(' '.join(f'{slot}={value}' for slot, value in values.items()))}",
        license=LICENSE,
        request=opening(function.asks, rng),
        goals=make_goals(settings, "code", rng),
        answer_form="code",
        payload={
            "parameters": parameters(settings, optional),
            "program": {
                "template": _template(function, used),
                "names": {step.name: step.slot for step in used},
                "choices": {step.slot: dict(step.choices) for step in used if step.choices is not None},
                "defaults": {step.name: step.default for step in used},
            },
            "reference": {
                "function": function.name,
                "tests": [{"args": [given], "expected": result} for given, result in checks],
                "solution": solution(function, values),
            },
            "conclusions": make_conclusions([("plan so far", f"{one} {{{one}}} and {other} {{{other}}}")], values),
        },
    )


def _template(function: Function, steps: Sequence[Step]) -> str:
    body = (*function.material.first, *(step.line for step in steps), f"return {function.result}")
    return f"def {function.name}({function.material.argument}):\n" + "".join(f"    {line}\n" for line in body)


def solution(function: Function, values: Mapping[str, str]) -> str:
    """The function that takes these steps and no others."""
    used = [step for step in function.material.steps if step.slot in values]
    return Template(_template(function, used)).substitute({step.name: _piece(step, values[step.slot]) for step in used})


def _piece(step: Step, value: str) -> str:
    if step.choices is not None:
        return step.choices[value]
    return value if step.kind.type == "integer" else repr(value)


def _run(function: Function, values: Mapping[str, str], given: Any) -> Any:
    """What the function with these steps returns; its statements are compiled once for all tasks."""
    scope: dict[str, Any] = {function.material.argument: given}
    for line in function.material.first:
        exec(_statement(line, "", ""), scope)
    for step in function.material.steps:
        if step.slot in values:
            exec(_statement(step.line, step.name, _piece(step, values[step.slot])), scope)
    return eval(_expression(function.result), scope)


@lru_cache(maxsize=16384)
def _statement(line: str, name: str, piece: str) -> CodeType:
    return compile(Template(line).substitute({name: piece}), "<step>", "exec")


@cache
def _expression(source: str) -> CodeType:
    return compile(source, "<result>", "eval")


def _passes(function: Function, values: Mapping[str, str], checks: Sequence[Check]) -> bool:
    return all(_run(function, values, given) == result for given, result in checks)


def _without(values: Mapping[str, str], slot: str) -> dict[str, str]:
    return {name: value for name, value in values.items() if name != slot}
