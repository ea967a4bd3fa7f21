"""Asset edits as text: a table of lines, and round trips of arbitrary edits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intentfold.asset import AssetEdit, ContextualIntent, Fact, Quotation, Requirement, Situation
from intentfold.codec.asset_edits import decode_asset_edits, encode_asset_edits, situation_lines

words = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=20)
ids = st.integers(-9, 99).filter(bool)
edits = st.lists(
    st.one_of(
        st.builds(lambda t: AssetEdit("INTENT", text=t), words),
        st.builds(lambda op, i, t: AssetEdit(op, i, t), st.sampled_from(["EXPLAIN", "REQUIRE", "REVISE"]), ids, words),
        st.builds(lambda i, t, q: AssetEdit("FACT", i, t, q), ids, words, words),
        st.builds(lambda i: AssetEdit("WITHDRAW", i), ids),
    ),
    max_size=6,
)


@given(edits)
def test_edits_come_back(some: list[AssetEdit]) -> None:
    assert decode_asset_edits(encode_asset_edits(some)) == (tuple(some), ())


@given(st.text())
def test_any_text_is_edits_and_rejections(text: str) -> None:
    found, rejected = decode_asset_edits(text)
    assert all(isinstance(edit, AssetEdit) for edit in found)
    assert found or rejected or text.strip() == "NONE"


TABLE = [
    ("REQUIRE +1: short", AssetEdit("REQUIRE", -1, "short")),
    ("FACT 3: untimed || I haven't timed it", AssetEdit("FACT", 3, "untimed", "I haven't timed it")),
    ("WITHDRAW 12", AssetEdit("WITHDRAW", 12)),
    ("FACT 3: untimed", "FACT reads"),
    ("WITHDRAW 12: it", "takes a number and no words"),
    ("REVISE 4", "REVISE reads"),
    ("REVISE four: x", "not an edit"),
    ("REQUIRE 0: x", "numbers begin at 1"),
    ("INTENT", "not an edit"),
    ("require 3: x", "not an edit"),
]


@pytest.mark.parametrize(("line", "found"), TABLE)
def test_lines_are_read_as_written(line: str, found: AssetEdit | str) -> None:
    edits, rejected = decode_asset_edits(line)
    if isinstance(found, str):
        assert edits == ()
        assert found in rejected[0].reason
    else:
        assert (edits, rejected) == ((found,), ())


def test_none_beside_other_lines_and_nothing_at_all() -> None:
    assert "beside other lines" in decode_asset_edits("NONE\nWITHDRAW 1")[1][0].reason
    assert "no output" in decode_asset_edits(" \n")[1][0].reason


def test_a_situation_reads_line_by_line() -> None:
    intent = ContextualIntent(1, "why\nso", (Requirement(2, "be short"),), (Fact(3, "untimed", Quotation("a || b", "h:0")),))
    assert situation_lines(Situation("", (intent,), 4)) == (
        "1 intent: why\\nso\n2 requirement: be short\n3 fact: untimed || a \\|\\| b"
    )
    assert situation_lines(Situation()) == "empty"
