"""The tables behind the built-in families: what a slip of the pen would break."""

from __future__ import annotations

import random
import re
import sqlite3

import pytest

from intentfold.intent import normalise
from intentfold.runtime.conventions import convention_in
from intentfold.sources.builtin import code_functions, sql, text_entities, tool_functions
from intentfold.sources.builtin.arithmetic_scenarios import SCENARIOS
from intentfold.sources.builtin.code import solution
from intentfold.sources.builtin.common import FORMATS
from intentfold.sources.builtin.vocabulary import CITY, CLOCK, CODE, DATE, PERSON, TITLE, Decimal, Integer, Kind, look_alikes


@pytest.mark.parametrize("kind", [CITY, CLOCK, CODE, DATE, PERSON, TITLE, Integer(1, 40), Decimal(0.5, 20, 0.5)])
def test_kinds_give_distinct_values_and_do_not_run_dry(kind: Kind) -> None:
    rng = random.Random(5)
    for _ in range(200):
        values = kind.sample(rng, 6)
        assert len({normalise(value) for value in values}) == 6


def test_look_alikes_are_near_the_number() -> None:
    assert {13, 30, 2, 4} <= set(look_alikes(3, 1))
    assert 21 in look_alikes(12, 1)
    assert {-13, -4, -2} <= set(look_alikes(-3, 1))


@pytest.mark.parametrize("form", FORMATS)
def test_output_conventions_are_those_that_the_runtime_reads(form: str) -> None:
    groups = []
    for texts in FORMATS[form]:
        rules = {convention.rule.group for text in texts if (convention := convention_in(text))}
        assert len(rules) == 1 and all(convention_in(text) for text in texts), texts
        groups += rules
    assert len(set(groups)) == len(groups)


def test_numbers_stay_in_range_and_in_step() -> None:
    rng = random.Random(1)
    drawn = {int(value) for _ in range(300) for value in Integer(10, 95, 5).sample(rng, 6)}
    assert min(drawn) == 10 and max(drawn) == 95 and all(number % 5 == 0 for number in drawn)


@pytest.mark.parametrize("function", tool_functions.FUNCTIONS, ids=lambda function: function.name)
def test_tool_functions(function: tool_functions.Function) -> None:
    slots = [argument.slot for argument in function.arguments]
    names = [normalise(words) for argument in function.arguments for words in (argument.slot, *argument.spoken)]
    assert len(set(names)) == len(names)
    assert len(slots) - function.required >= 6
    for slot, template in function.conclusions:
        assert slot not in slots
        assert set(re.findall(r"\{([^{}]+)\}", template)) <= set(slots)
    assert set(function.personal) <= set(slots)
    for slot, needed in function.after:
        assert slots.index(needed) < slots.index(slot)


@pytest.mark.parametrize("entity", text_entities.ENTITIES, ids=lambda entity: entity.attributes[0].slot)
def test_every_sentence_of_an_attribute_holds_its_phrase_and_cue(entity: text_entities.Entity) -> None:
    for attribute in entity.attributes[1:]:
        for sentence in attribute.sentences:
            assert any(phrase in sentence for phrase in attribute.phrases), sentence
            assert any(re.search(rf"(?<!\w){cue}(?!\w)", sentence.casefold()) for cue in attribute.cues), sentence


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_scenarios(scenario: object) -> None:
    assert len(scenario.things) >= 11 and len(scenario.adjustments) >= 6  # type: ignore[attr-defined]
    assert len({many for _, many in scenario.things}) == len(scenario.things)  # type: ignore[attr-defined]


@pytest.mark.parametrize("function", code_functions.FUNCTIONS, ids=lambda function: function.name)
def test_a_step_with_its_default_does_nothing(function: code_functions.Function) -> None:
    rng = random.Random(function.name)
    plain = _compiled(function.name, solution(function, {}))
    for step in function.material.steps:
        line = step.line.replace(f"${{{step.name}}}", step.default)
        source = solution(function, {}).replace("    return ", f"    {line}\n    return ")
        for _ in range(5):
            given = function.material.draw(rng)
            assert _compiled(function.name, source)(given) == plain(given), step.slot


def _compiled(name: str, source: str):  # type: ignore[no-untyped-def]
    scope: dict[str, object] = {}
    exec(source, scope)
    return scope[name]


def test_the_shortcut_for_sql_agrees_with_sqlite() -> None:
    """Values are chosen by `outcome`, without running a query: equal outcomes must be equal results."""
    rng = random.Random(2)
    compared = 0
    for number in range(12):
        base = sql.database(number, 1)
        connection = sqlite3.connect(":memory:")
        connection.executescript(";".join(base.script))
        choices = {slot: list(clause.matching) for slot, clause in base.clauses.items()} | {
            slot: list(pieces) for slot, pieces in base.choices.items()
        }
        queries = []
        for _ in range(40):
            values = {slot: rng.choice(choices[slot]) for slot in rng.sample(sorted(choices), 2)}
            if sql.SORT in values:
                values[sql.LIMIT] = "4"
            rows = connection.execute(sql.compose(base, values)).fetchall()
            queries.append((sql.outcome(base, values), rows if sql.SORT in values else sorted(rows, key=str)))
        for outcome, rows in queries:
            same = [other for other_outcome, other in queries if other_outcome == outcome and len(outcome) > 1]
            compared += len(same) - 1 if same else 0
            assert all(sorted(other, key=str) == sorted(rows, key=str) for other in same)
            if len(outcome) == 1 and isinstance(outcome[0], int | float):
                assert rows == [(pytest.approx(outcome[0]),)]
        connection.close()
    assert compared > 0
