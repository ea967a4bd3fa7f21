"""The verdict codec: a table, and totality on arbitrary text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intentfold.codec.verdict import Judgement, decode_verdict, encode_verdict

TABLE = [
    ("met", Judgement("met")),
    (" MET\n", Judgement("met")),
    ("not applicable", Judgement("not_applicable")),
    ("Not Applicable", Judgement("not_applicable")),
    ("unmet: no disclosure", Judgement("unmet", "no disclosure")),
    ("Unmet: No disclosure", Judgement("unmet", "No disclosure")),
    ("unmet", Judgement("unmet")),
    ("unmet:", Judgement("unmet")),
    ("", None),
    ("met.", None),
    ("met, I think", None),
    ("met\nunmet: x", None),
    ("unmet: x\nmet", None),
    ("unmetered", None),
    ("not met", None),
    ("not_applicable", None),
    ("n/a", None),
    ("The requirement is met", None),
]


@pytest.mark.parametrize(("text", "judgement"), TABLE)
def test_verdicts_are_read_as_written(text: str, judgement: Judgement | None) -> None:
    assert decode_verdict(text) == judgement


@given(st.text())
def test_any_text_is_a_verdict_or_none(text: str) -> None:
    found = decode_verdict(text)
    assert found is None or found.verdict in ("met", "unmet", "not_applicable")


@given(st.text(min_size=1, max_size=80))
def test_a_reason_comes_back(reason: str) -> None:
    written = encode_verdict(Judgement("unmet", reason))
    assert len(written.splitlines()) == 1
    found = decode_verdict(written)
    assert found is not None
    expected = "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in reason)
    assert found.reason == expected


def test_only_unmet_has_a_reason() -> None:
    with pytest.raises(ValueError, match="a reason goes with unmet alone, got met"):
        Judgement("met", "why")
