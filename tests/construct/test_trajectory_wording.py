"""The trajectories' wording banks: the acts that are told, their placeholders, and no wording shared between splits."""

from __future__ import annotations

import itertools
import re
from collections import Counter

import pytest

from intentfold.construct.wording import bank
from tests.construct.test_wording_banks import BANKS, expand, key, normal

ACTS: dict[str, tuple[str, ...]] = {
    "relax": ("slot", "value"),
    "because": (),
    "shop_request": ("what",),
    "trip_request": ("days", "party", "origin", "cities", "date"),
    "agent_offer": ("offer",),
    "agent_short": ("offer", "slot"),
    **{f"add_{tier}": ("slot", "value") for tier in ("must", "preferred", "optional")},
    **{tier: ("slot",) for tier in ("must", "preferred", "optional")},
}


@pytest.mark.parametrize("name", BANKS)
def test_a_bank_has_exactly_the_known_acts_and_placeholders(name: str) -> None:
    found = bank(name, 0, "trajectory_")
    assert set(found) == set(ACTS)
    for act, templates in found.items():
        assert len(templates) >= 2
        for template in templates:
            for wording in expand(template):
                assert Counter(re.findall(r"\{(\w+)\}", wording)) == Counter(ACTS[act]), (act, wording)


@pytest.mark.parametrize("name", BANKS)
def test_a_wording_stands_for_one_act(name: str) -> None:
    meant: dict[str, str] = {}
    for act, templates in {**bank(name), **bank(name, 0, "trajectory_")}.items():
        if act.startswith("agent_") or act in ("opener", "opener_change", "closer", "joiner"):
            continue
        for wording in itertools.chain.from_iterable(map(expand, templates)):
            assert meant.setdefault(normal(wording), act) == act, wording


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(BANKS, 2)))
def test_splits_share_no_wording(one: str, other: str) -> None:
    """Neither within the trajectories' banks nor with the simulator's of another split."""

    def wordings(name: str, prefix: str) -> set[str]:
        return {key(act, w) for act, templates in bank(name, 0, prefix).items() for t in templates for w in expand(t)}

    for left, right in (("trajectory_", "trajectory_"), ("trajectory_", ""), ("", "trajectory_")):
        assert not wordings(one, left) & wordings(other, right)
