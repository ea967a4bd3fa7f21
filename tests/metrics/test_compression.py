"""Superseded values beside their replacements, by hand and against a count of its own."""

from __future__ import annotations

import pytest

from intentfold.dialogue import Turn
from intentfold.intent import Edit
from intentfold.metrics.compression import superseded_kept, superseded_pairs
from tests.episodes import episode, house, table_task

ADD = Edit("ADD", slot="city", value="Oslo")


def story(*edits: Edit):
    return episode(table_task(), "e", *((f"turn {n}", (edit,), "") for n, edit in enumerate(edits)))


PAIRS = [
    ([ADD, Edit("REPLACE", id=1, value="Rome")], [("Oslo", "Rome")]),
    (
        [ADD, Edit("REPLACE", id=1, value="Rome"), Edit("REPLACE", id=1, value="Bern")],
        [("Oslo", "Rome"), ("Rome", "Bern")],
    ),
    # Back to the first value: only the second is superseded.
    ([ADD, Edit("REPLACE", id=1, value="Rome"), Edit("REPLACE", id=1, value="Oslo")], [("Rome", "Oslo")]),
    ([Edit("ADD", slot="pool", value="yes"), Edit("REPLACE", id=1, value="no")], []),
    ([Edit("ADD", text="no stairs"), Edit("REPLACE", id=1, text="few stairs")], [("no stairs", "few stairs")]),
    ([ADD, Edit("DELETE", id=1)], []),
]


@pytest.mark.parametrize(("edits", "pairs"), PAIRS)
def test_what_was_superseded(edits, pairs) -> None:
    assert superseded_pairs(story(*edits)) == pairs


KEPT = [
    ("We said Oslo, then Rome.", (1, 1)),
    ("We said Rome.", (0, 1)),
    ("We said Oslo.", (0, 1)),
    ("Romeo in OSLO", (0, 1)),
    ("rome, not OSLO!", (1, 1)),
]


@pytest.mark.parametrize(("text", "ratio"), KEPT)
def test_both_must_stand_there_as_whole_words(text, ratio) -> None:
    replaced = story(ADD, Edit("REPLACE", id=1, value="Rome"))
    assert superseded_kept(replaced, (Turn("user", text),)) == ratio


def test_the_bare_history_keeps_what_it_said() -> None:
    assert superseded_kept(house(), house().drift()) == (1, 1)
    assert superseded_kept(house(), house().drift()[-1:]) == (0, 1)
