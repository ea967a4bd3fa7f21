"""The families: what an output is made to be is what the executed checks find."""

from __future__ import annotations

import random

import pytest

from intentfold.construct.corrective.registry import FAMILIES
from intentfold.construct.corrective.work import Family, assess, make, settle
from intentfold.dialogue import Output

EXPECTED = {"met": "met", "near": "unmet", "unmet": "unmet", "absent": "not_applicable"}


def test_there_are_five_with_replies_observations_and_files() -> None:
    assert len(FAMILIES) >= 5
    for family in FAMILIES.values():
        output = make(family, family.scenario(0, 0), {criterion.key: "met" for criterion in family.criteria})
        assert output.reply
        assert output.calls
        assert all(call.result for call in output.calls)
        assert output.files
        assert sum(criterion.novel for criterion in family.criteria) == 1
        assert any(criterion.condition for criterion in family.criteria)
        assert {criterion.form for criterion in family.criteria} == {"preference", "specification", "context"}


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)
def test_verdicts_are_those_of_the_states_in_which_the_output_was_made(family: Family) -> None:
    conditional = [criterion.key for criterion in family.criteria if criterion.condition]
    for number in range(150):
        rng = random.Random(number)
        scenario = family.scenario(number, number % 11, conditional if number % 3 == 0 else ())
        states = {criterion.key: rng.choice(["met", "near", "unmet"]) for criterion in family.criteria}
        output, settled = make(family, scenario, states), settle(family, scenario, states)
        for criterion in family.criteria:
            found = assess(family, scenario, output, criterion.key)
            told = (family.name, number, criterion.key, settled[criterion.key], output)
            assert found.verdict == EXPECTED[settled[criterion.key]], told
            assert found.manner == (criterion.near if settled[criterion.key] == "near" else "plain"), told
            assert found.evidence in output.text(), told
            assert bool(found.reason) == (found.verdict == "unmet"), told


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)
def test_checks_are_total_on_an_output_with_nothing_in_it(family: Family) -> None:
    for criterion in family.criteria:
        assert assess(family, family.scenario(1, 1), Output("Hello."), criterion.key).verdict in EXPECTED.values()


def test_a_scenario_is_the_same_each_time_and_a_user_keeps_its_tastes() -> None:
    family = FAMILIES["scheduling"]
    assert family.scenario(3, 1) == family.scenario(3, 1) != family.scenario(4, 1)
    tastes = family.tastes(random.Random(0))
    for name in tastes:
        assert family.scenario(3, 1).values[name] == family.scenario(4, 1).values[name]
    with pytest.raises(ValueError, match="agenda always applies"):
        family.scenario(3, 1, ["agenda"])


CLAIMS = [
    ("booking", "refundable", "fare is refundable", "no_evidence"),
    ("booking", "seat_kind", "I went for the", "no_evidence"),
    ("booking", "book_once", "Booked just once", "no_evidence"),
    ("review_script", "disclosure_last", "Paid partnership", "wrong_place"),
    ("report_file", "source_line", "Source: sales ledger", "wrong_place"),
    ("scheduling", "agenda", "Agenda:", "wrong_place"),
]


@pytest.mark.parametrize(("name", "key", "words", "manner"), CLAIMS)
def test_near_misses_have_the_right_words_and_are_unmet(name: str, key: str, words: str, manner: str) -> None:
    family = FAMILIES[name]
    scenario = family.scenario(5, 2)
    states = {criterion.key: "met" for criterion in family.criteria} | {key: "near"}
    output = make(family, scenario, states)
    found = assess(family, scenario, output, key)
    assert words in output.text()
    assert (found.verdict, found.manner) == ("unmet", manner)
