"""Actions from text: what is one, what is none, and that nothing whatever raises."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intentfold.codec.actions import MAX_ACTIONS, Call, Reply, Write, decode_actions

READ = [
    ('{"call": "look", "arguments": {"name": "lamp"}}', [Call("look", {"name": "lamp"})]),
    ('{"call": "look"}\n{"reply": "Done."}', [Call("look", {}), Reply("Done.")]),
    ('[{"call": "a", "arguments": {"n": 3, "ok": true}},\n {"reply": "x"}]', [Call("a", {"n": "3", "ok": "true"}), Reply("x")]),
    ('{"call": "a", "arguments": {"items": [{"id": "ä\\ud800", "n": 2}]}}', [Call("a", {"items": '[{"id": "ä?", "n": 2}]'})]),
    ('```json\n{"write": "a/b.md", "text": "one\ntwo"}\n```', [Write("a/b.md", "one\ntwo")]),
    ('{"reply": "\\ud800"}', [Reply("?")]),
    ("", []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "actions"), READ)
def test_actions_are_read(text: str, actions: list) -> None:
    assert decode_actions(text) == (tuple(actions), ())


REJECTED = [
    ("I will look first.\nThen write.", "expected a JSON object"),
    ('{"call": "look", "arguments": {"name": ', "Expecting ',' delimiter"),
    ('{"call": "look", "arguments": [1]}', "arguments: expected an object"),
    ('{"call": "look", "arguments": {"a": null}}', "arguments.a: expected a string"),
    ('{"call": 3}', "call: expected a string"),
    ('{"write": "/etc/x", "text": ""}', "write: expected a relative path"),
    ('{"write": "a/../../x", "text": ""}', "write: expected a relative path"),
    ('{"write": "a.md"}', "expected the keys call and arguments"),
    ('{"say": "hello"}', "expected the keys call and arguments"),
    ("{" * 9 + '"a":' * 3, "Expecting property name"),
]


@pytest.mark.parametrize(("text", "why"), REJECTED)
def test_what_is_no_action_is_named(text: str, why: str) -> None:
    actions, rejected = decode_actions(text + '\n{"reply": "."}')
    assert actions == (Reply("."),)
    assert len(rejected) == 1
    assert rejected[0].reason.startswith(why)
    assert text.startswith(rejected[0].what[:20])


def test_too_many_at_once_are_cut_off() -> None:
    actions, rejected = decode_actions('{"call": "a"}\n' * (MAX_ACTIONS + 5))
    assert len(actions) == MAX_ACTIONS
    assert [one.reason for one in rejected] == [f"more than {MAX_ACTIONS} actions at once"]


@given(
    st.one_of(
        st.text(),
        st.lists(st.sampled_from(['{"call"', ":", '"a"', "{", "}", "[", "]", "\n", "```", "9" * 5000, ","])).map("".join),
    )
)
def test_it_is_total_and_what_it_reads_can_be_written(text: str) -> None:
    actions, _ = decode_actions(text)
    json.dumps([str(action) for action in actions]).encode()


def test_deep_nesting_is_no_crash() -> None:
    assert decode_actions('{"a":' * 100_000)[0] == ()
