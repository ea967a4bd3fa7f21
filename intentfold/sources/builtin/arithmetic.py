"""Arithmetic: word problems of products, sums and a last scaling, each quantity under its own slot."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from fractions import Fraction

from intentfold.records import content_hash
from intentfold.sources.builtin.arithmetic_scenarios import SCENARIOS, Scenario
from intentfold.sources.builtin.common import LICENSE, Setting, draw_setting, make_conclusions, make_goals, opening, parameters
from intentfold.sources.builtin.vocabulary import Kind
from intentfold.task import SourceTask

ATTEMPTS, DECOYS = 100, 6
SHAPES = ((2,), (3,), (2, 2), (2, 2), (2, 3), (2, 2, 2), (3, 3))


@dataclass(slots=True)
class Problem:
    """A problem as it grows: its slots in order, its expression over n1, n2, …, its value and its conclusions."""

    settings: list[Setting] = field(default_factory=list)
    expression: str = ""
    value: Fraction = Fraction(0)
    conclusions: list[tuple[str, str]] = field(default_factory=list)

    def name(self, slot: str, kind: Kind, rng: random.Random) -> tuple[str, Fraction]:
        """Draw a quantity: its name in the expression and its value."""
        self.settings.append(draw_setting(slot, kind, rng))
        return f"n{len(self.settings)}", Fraction(self.settings[-1].value)


def task(index: int, seed: int) -> SourceTask:
    """The task of that index: the same for the same seed, always."""
    rng = random.Random(f"arithmetic-{seed}-{index}")
    scenario = rng.choice(SCENARIOS)
    for _ in range(ATTEMPTS):
        problem = _draw(scenario, rng)
        # A result with at most two decimals, as a person would expect it.
        if problem.value > 0 and (problem.value * 100).denominator == 1:
            break
    else:
        raise ValueError(f"task arithmetic-{seed}-{index}: no sensible result in {ATTEMPTS} attempts")
    slots = [setting.slot for setting in problem.settings]
    adjustments = rng.sample(scenario.adjustments, DECOYS)
    optional = [draw_setting(slot, kind, rng) for slot, _, kind in adjustments]
    return SourceTask(
        id=f"arithmetic-{seed}-{index}",
        family="arithmetic",
        origin=f"arithmetic:{scenario.name}:{content_hash(' '.join([problem.expression, *slots]))}",
        license=LICENSE,
        request=opening(scenario.asks, rng),
        goals=make_goals(problem.settings, "number", rng),
        answer_form="number",
        payload={
            "parameters": parameters(problem.settings, optional),
            "program": {
                "expression": problem.expression,
                "names": {f"n{number}": slot for number, slot in enumerate(slots, start=1)},
                "adjustments": {slot: expression for slot, expression, _ in adjustments},
            },
            "reference": {"answer": f"{float(problem.value):.2f}".rstrip("0").rstrip(".")},
            "conclusions": make_conclusions(problem.conclusions, slots),
        },
    )


def _draw(scenario: Scenario, rng: random.Random) -> Problem:
    problem = Problem()
    shape = rng.choice([shape for shape in SHAPES if scenario.chain or 3 not in shape])
    terms = []
    for width, (one, many) in zip(shape, rng.sample(scenario.things, len(shape)), strict=True):
        chosen = scenario.factors if width == 2 else (scenario.factors[0], *scenario.chain)
        slots = [slot.format(one=one, many=many) for slot, _ in chosen]
        factors = [problem.name(slot, kind, rng) for slot, (_, kind) in zip(slots, chosen, strict=True)]
        terms.append(" * ".join(name for name, _ in factors))
        product = Fraction(1)
        for _, value in factors:
            product *= value
        problem.value += product
        problem.conclusions.append((scenario.total.format(one=one, many=many), "=" + " * ".join(f"{{{s}}}" for s in slots)))
    problem.expression = " + ".join(terms)
    room = 6 - len(problem.settings)
    for slot, kind in rng.sample(scenario.extras, rng.randint(1 if room > 3 else 0, min(room, 2))):
        name, value = problem.name(slot.removeprefix("-"), kind, rng)
        sign = "-" if slot.startswith("-") else "+"
        problem.expression += f" {sign} {name}"
        problem.value += -value if sign == "-" else value
    if len(problem.settings) < 6 and rng.random() < 0.5:
        multiply = rng.random() < 0.5
        slot, kind = rng.choice(scenario.times if multiply else scenario.shares)
        name, value = problem.name(slot, kind, rng)
        problem.expression = f"({problem.expression}) {'*' if multiply else '/'} {name}"
        problem.value = problem.value * value if multiply else problem.value / value
    return problem
