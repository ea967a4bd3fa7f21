"""Whatever is put beside an agent's dialogue, or asks a role to think, is in the hash of its template."""

from __future__ import annotations

from typing import Any

import pytest

from intentfold.prompts import agent, thinking
from intentfold.prompts.templates import template_hash


@pytest.mark.parametrize(
    ("name", "value"),
    [("SYSTEM", "Do."), ("BRIEF", "{brief}"), ("BRIEFS", {"number": "?"}), ("FUNCTION", "{name}"), ("PARAMETER", "{name}"),
     ("REQUIRED", "!")],
)  # fmt: skip
def test_the_agents(monkeypatch: pytest.MonkeyPatch, name: str, value: Any) -> None:
    before = template_hash("answer"), template_hash("answer+plain")
    monkeypatch.setattr(agent, name, value)
    assert not {template_hash("answer"), template_hash("answer+plain")} & set(before)


@pytest.mark.parametrize(("name", "value"), [("LINES", "2"), ("THINK", {"plain": "Think."}), ("ANSWER", "So:")])
def test_that_of_thinking_in_every_role(monkeypatch: pytest.MonkeyPatch, name: str, value: Any) -> None:
    codecs = ("answer+plain", "delta+plain", "full+plain", "verdict+plain")
    before = {template_hash(codec) for codec in codecs}
    assert len(before) == len(codecs)
    monkeypatch.setattr(thinking, name, value)
    assert not {template_hash(codec) for codec in codecs} & before
    assert template_hash("delta") not in before
