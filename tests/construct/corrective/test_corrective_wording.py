"""The wording banks of the corrective environment: whole, disjoint, and read back as what they say."""

from __future__ import annotations

from itertools import combinations
from typing import get_args

import pytest

from intentfold.construct.corrective.registry import FAMILIES
from intentfold.construct.corrective.wording import KINDS, bank, fill, read, read_whole
from intentfold.trace import Wording

WORDINGS = get_args(Wording)


def templates(wording: Wording) -> set[str]:
    found = {template for act, some in bank(wording)["frames"].items() for template in some if template}
    for family in FAMILIES:
        for key, acts in bank(wording)[family].items():
            lists = [acts] if key in ("request", "pressure") else [some for act, some in acts.items() if act != "label"]
            found |= {template for some in lists for template in some}
    return found


def test_no_wording_stands_in_two_banks() -> None:
    for one, other in combinations(WORDINGS, 2):
        assert not templates(one) & templates(other)


@pytest.mark.parametrize("wording", WORDINGS)
def test_every_criterion_can_be_spoken_of_and_novel_ones_in_the_test_alone(wording: Wording) -> None:
    for name, family in FAMILIES.items():
        said = set(bank(wording)[name]) - {"request", "pressure"}
        assert said == {c.key for c in family.criteria if not c.novel or wording == "test"}
        for criterion in family.criteria:
            if criterion.key in said:
                acts = bank(wording)[name][criterion.key]
                assert all(acts[act] for act in ("label", "why", "require", "wrong", "want"))
                assert ("fact" in acts) == (criterion.form == "context"), (name, criterion.key)
                assert all("{fact}" in words for act in ("wrong", "want") for words in acts[act]) == ("fact" in acts)
                assert all("{evidence}" in words for words in acts["wrong"])


@pytest.mark.parametrize("wording", WORDINGS)
def test_what_is_said_is_read_back(wording: Wording) -> None:
    for name, family in FAMILIES.items():
        scenario = family.scenario(1, 2)
        for criterion in family.criteria:
            acts = bank(wording)[name].get(criterion.key, {})
            for kind in KINDS:
                for template in acts.get(kind, ()):
                    fact = fill(acts.get("fact", [""])[-1], scenario.values)
                    text = fill(template, {**scenario.values, "evidence": "x | y. z", "fact": fact})
                    found = [said for said in read(f"Hm. {text} So.", wording) if kind == "fact" or said.kind != "fact"]
                    assert [(said.family, said.key, said.kind) for said in found] == [(name, criterion.key, kind)], text
                    whole = read_whole(text, wording)
                    assert whole is not None
                    assert (whole.key, whole.kind) == (criterion.key, kind)
                    assert all(scenario.values.get(n, "x | y. z") == v for n, v in whole.values.items())
                    assert read_whole(text + "!", wording) is None


@pytest.mark.parametrize("wording", WORDINGS)
def test_requirements_hold_for_other_tasks_of_the_user(wording: Wording) -> None:
    """What an asset holds names the user's tastes and no content of one task."""
    for name, family in FAMILIES.items():
        here, there = (family.scenario(number, 2).values for number in (1, 7))
        for key, acts in bank(wording)[name].items():
            if key not in ("request", "pressure"):
                assert all(fill(t, here) == fill(t, there) for act in ("require", "why") for t in acts[act]), (name, key)
