"""Codecs: round trips over arbitrary text, and parsers that are total."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from intentfold.codec.edits import decode_edits, encode_edits, line_operations
from intentfold.codec.escape import escape, unescape
from intentfold.codec.full import decode_state, encode_state
from intentfold.codec.state import item_line, names, state_lines
from intentfold.intent import (
    Edit,
    IntentItem,
    IntentState,
    canonical,
    diff,
    fold,
    fold_leniently,
    normalise,
    slot_text,
)  # fmt: skip
from tests.strategies import priorities, states, texts

FRAGMENTS = [
    "SET ",
    "ADD ",
    "REPLACE ",
    "REPRIORITIZE ",
    "DELETE ",
    "NONE",
    "1",
    "99",
    ": ",
    "x",
    "\n",
    "[",
    "] ",
    "(",
    "must",
    ") ",
    "+1",
    "#1",
    "; ",
    "for x",
    " || ",
    "\\",
]
outputs = st.text() | st.lists(st.sampled_from(FRAGMENTS), max_size=20).map("".join)


@settings(max_examples=300, deadline=None)
@given(states(), states())
def test_edits_round_trip(own: IntentState, oracle: IntentState) -> None:
    edits = diff(own, oracle)
    assert decode_edits(encode_edits(edits, own), own) == (edits, ())


@settings(max_examples=200, deadline=None)
@given(states(), states())
def test_full_states_round_trip(own: IntentState, oracle: IntentState) -> None:
    edits, rejected = decode_state(encode_state(oracle), own)
    assert rejected == ()
    assert canonical(fold(own, edits)) == canonical(oracle)


@settings(max_examples=500, deadline=None)
@given(outputs, states())
def test_parsers_are_total_and_states_stay_whole(text: str, own: IntentState) -> None:
    edits, _ = decode_edits(text, own)
    fold_leniently(own, edits)
    edits, _ = decode_state(text, own)
    fold(own, edits)


@settings(max_examples=300, deadline=None)
@given(st.text() | texts, st.sampled_from(["", "|", ":;|([])", ";()[]"]))
def test_escaping_gives_one_line_and_comes_back(text: str, marks: str) -> None:
    line = escape(text, marks)
    assert unescape(line) == text
    assert len(line.splitlines()) <= 1
    assert not re.search(r"<[a-zA-Z|/]", line)


TOKENS = [
    "<|im_end|>",
    "<think>",
    "</think>",
    "<repo_name>",
    "<file_sep>",
    "</s>",
    "<｜User｜>",
    "[INST]",
    "[/INST]",
    "[TOOL_CALLS]",
]


@pytest.mark.parametrize("marks", ["", "|", ":;|([])", ";()[]"])
@pytest.mark.parametrize("token", TOKENS)
def test_no_field_spells_an_added_token(token: str, marks: str) -> None:
    for text in (token, f"say {token}, twice{token}{token}", f"<{token}", f"[{token}"):
        line = escape(text, marks)
        assert token not in line
        assert unescape(line) == text


PLAIN = ["a < b", "3 <4", "<- back", "x << 2", "<=5", "a <", "list[0]", "[note] [A] [ABC", "5 > 3", "<3", "if (a<1)"]


@pytest.mark.parametrize("text", PLAIN)
def test_ordinary_text_is_written_as_it_is(text: str) -> None:
    assert escape(text) == text


def test_markup_stays_readable() -> None:
    assert escape("<b>bold</b> and vector<int>") == "\\u003cb>bold\\u003c/b> and vector\\u003cint>"


@settings(max_examples=100, deadline=None)
@given(states())
def test_a_state_shows_one_line_an_item(own: IntentState) -> None:
    assert len(state_lines(own).splitlines()) == max(1, len(own.items))


def test_lines_as_documented() -> None:
    state = IntentState(
        (
            IntentItem(1, "city: Porto", slot="city", value="Porto"),
            IntentItem(2, "seats: 4", slot="seats", value="4", scope="Ben"),
            IntentItem(3, "a window, please", slot="seat", value="window"),
            IntentItem(4, "no words of a slot"),
            IntentItem(5, "meal: vegan", slot="meal", value="vegan"),
            IntentItem(6, "Meal: halal", slot="Meal", value="halal"),
        ),
        7,
    )
    edits = (
        Edit("DELETE", id=3),
        Edit("DELETE", id=1),
        Edit("REPLACE", id=4, text="other words"),
        Edit("REPLACE", id=6, value="kosher"),
        Edit("REPLACE", id=2, value="5"),
        Edit("REPRIORITIZE", id=1, priority="optional"),
        Edit("ADD", slot="seats", value="3", scope="Ana", priority="must"),
        Edit("ADD", text="words of a goal"),
        Edit("ADD", kind="conclusion", depends_on=(2, 5, -1), slot="total nights", value="4"),
    )
    assert state_lines(state).splitlines() == [
        "city: Porto",
        "(for Ben) seats: 4",
        "#3 a window, please",
        "#4 no words of a slot",
        "#5 meal: vegan",
        "#6 Meal: halal",
    ]
    assert encode_edits(edits, state).splitlines() == [
        "DELETE #3",
        "DELETE city",
        "REPLACE #4: other words",
        "REPLACE #6: kosher",
        "SET (for Ben) seats: 5",
        "REPRIORITIZE city: optional",
        "SET (must; for Ana) seats: 3",
        "ADD : words of a goal",
        "ADD conclusion [(for Ben) seats; #5; +1] total nights: 4",
    ]
    assert decode_edits(encode_edits(edits, state), state) == (edits, ())
    assert encode_edits((), state) == "NONE"


def test_set_adds_where_the_name_is_free_and_replaces_where_it_is_held() -> None:
    held = IntentState((IntentItem(3, "seats: 3", slot="seats", value="3", priority="must"),), 4)
    assert decode_edits("SET seats: 4", IntentState()) == ((Edit("ADD", slot="seats", value="4"),), ())
    assert decode_edits("SET Seats: 4", held) == ((Edit("REPLACE", id=3, value="4"),), ())
    assert decode_edits("SET (must) seats: 4", held) == ((Edit("REPLACE", id=3, value="4"),), ())
    assert decode_edits("SET (for Ana) seats: 4", held) == ((Edit("ADD", slot="seats", value="4", scope="Ana"),), ())
    assert decode_edits("SET (optional) seats: 3", held) == ((Edit("REPRIORITIZE", id=3, priority="optional"),), ())


def test_one_more_item_of_a_name_that_is_held_is_an_add() -> None:
    held = IntentState((IntentItem(3, "seats: 3", slot="seats", value="3"),), 4)
    one_more = (Edit("ADD", slot="seats", value="4"),)
    assert encode_edits(one_more, held) == "ADD seats: 4"
    assert decode_edits("ADD seats: 4", held) == (one_more, ())


def test_a_name_that_is_deleted_before_is_free_and_none_is_set_twice() -> None:
    held = IntentState((IntentItem(3, "seats: 3", slot="seats", value="3"),), 4)
    add = Edit("ADD", slot="seats", value="4")
    assert decode_edits("DELETE seats\nSET Seats: 4", held) == ((Edit("DELETE", id=3), replace(add, slot="Seats")), ())
    edits, rejected = decode_edits("SET seats: 4\nSET Seats: 5\nSET (for Ana) seats: 6", IntentState())
    assert edits == (add, Edit("ADD", slot="seats", value="6", scope="Ana"))
    assert [one.what for one in rejected] == ["SET Seats: 5"] and "set twice" in rejected[0].reason
    both = (add, replace(add, value="5"))
    assert encode_edits(both, IntentState()) == "SET seats: 4\nADD seats: 5"
    assert decode_edits(encode_edits(both, IntentState()), IntentState()) == (both, ())


def test_an_id_is_never_taken_for_a_slot() -> None:
    state = IntentState((IntentItem(2, "own words"), IntentItem(3, "by the window", slot="seat", value="window")), 4)
    assert decode_edits("SET #2: other words", state) == ((Edit("REPLACE", id=2, text="other words"),), ())
    assert decode_edits("SET #3: aisle", state) == ((Edit("REPLACE", id=3, value="aisle"),), ())
    assert decode_edits("SET \\#2: x", state) == ((Edit("ADD", slot="#2", value="x"),), ())
    edits, [rejected] = decode_edits("ADD #2: other words", state)
    assert edits == () and "no id yet, got '#2'" in rejected.reason


def test_a_priority_is_set_whatever_the_case_of_the_value_beside_it() -> None:
    held = IntentState((IntentItem(3, "city: Porto", slot="city", value="Porto", priority="must"),), 4)
    assert decode_edits("SET (optional) City: porto.", held) == ((Edit("REPRIORITIZE", id=3, priority="optional"),), ())


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("SET seats: 4", "more than one active item is named 'seats'"),
        ("SET meal: halal\nSET (must) meal: kosher", "4 is edited twice"),
        ("SET (must) meal: \\_", "not blank"),
        ("SET conclusion meal: halal", "takes no kind and no dependencies"),
        ("SET seats", "reads `slot: value` or `: text`"),
    ],
)
def test_a_set_that_leaves_open_what_is_meant_is_rejected(line: str, reason: str) -> None:
    seats = (IntentItem(1, "seats: 3", slot="seats", value="3"), IntentItem(2, "Seats: 5", slot="Seats", value="5"))
    state = IntentState((*seats, IntentItem(4, "meal: vegan", slot="meal", value="vegan")), 5)
    edits, rejected = decode_edits(line, state)
    assert len(edits) == line.count("\n") and [r for r in rejected if reason in r.reason], rejected


def test_a_set_may_change_value_and_priority_both() -> None:
    meal = IntentItem(4, "meal: vegan", slot="meal", value="vegan", priority="optional", depends_on=(1,))
    state = IntentState((IntentItem(1, "seats: 3", slot="seats", value="3"), meal), 5)
    wanted = replace(state, items=(state.items[0], replace(meal, text="meal: halal", value="halal", priority="must")))
    edits, rejected = decode_edits("SET (must) Meal: halal", state)
    assert rejected == () and canonical(fold(state, edits)) == canonical(wanted)
    assert [edit.op for edit in edits] == [edit.op for edit in diff(state, wanted)] == ["DELETE", "ADD"]


@settings(max_examples=100, deadline=None)
@given(states(), st.data())
def test_whatever_item_it_names_a_set_gives_it_value_and_priority(own: IntentState, data: st.DataObject) -> None:
    needed = tuple(item.id for item in own.items[:1])
    slot, scope, before = data.draw(texts), data.draw(st.none() | texts), data.draw(priorities)
    added = Edit("ADD", slot=slot, value=data.draw(texts), scope=scope, priority=before, depends_on=needed)
    own, refused = fold_leniently(own, [added])
    assume(not refused and not names(own)[own.items[-1].id].startswith("#"))
    item = own.items[-1]
    priority = data.draw(st.sampled_from([p for p in ("must", "preferred", "optional") if p != item.priority]))
    value = data.draw(texts.filter(lambda text: normalise(text) not in ("", normalise(item.value or ""))))
    new = replace(item, value=value, text=slot_text(item.slot or "", value), priority=priority)
    wanted = replace(own, items=tuple(new if one.id == item.id else one for one in own.items))
    line = "SET " + item_line(new)
    edits, rejected = decode_edits(line, own)
    assert rejected == ()
    assert canonical(fold(own, edits)) == canonical(wanted)
    assert line_operations(line, own) == ("REPLACE",)


OPERATIONS_STATE = IntentState(
    (
        IntentItem(1, "seats: 3", slot="seats", value="3", priority="optional"),
        IntentItem(2, "meal: vegan", slot="meal", value="vegan"),
    ),
    3,
)


@pytest.mark.parametrize(
    ("text", "operations"),
    [
        ("NONE", ["NONE"]),
        ("SET day: Monday\nSET meal: halal\nDELETE seats", ["ADD", "REPLACE", "DELETE"]),
        ("REPRIORITIZE seats: must\nSET (must) meal: vegan", ["REPRIORITIZE", "REPRIORITIZE"]),
        ("SET (must) seats: 4", ["REPLACE"]),
        ("nonsense\nSET day: Monday", ["REJECTED", "ADD"]),
        ("SET day: Monday\nNONE", ["ADD", "REJECTED"]),
        ("SET seats: 3\nDELETE #9\nDELETE meal\nDELETE meal", ["REJECTED", "REJECTED", "DELETE", "REJECTED"]),
        ("", ["REJECTED"]),
        (" \n", ["REJECTED", "REJECTED"]),
        ("\n\nNONE\n", ["NONE", "NONE", "NONE", "NONE"]),
        ("DELETE meal\n\nSET day: Monday\n", ["DELETE", "DELETE", "ADD", "ADD"]),
        ("\n".join(f"SET a{n}: b" for n in range(202)), ["ADD"] * 200 + ["REJECTED"] * 2),
    ],
)
def test_each_line_has_the_operation_that_it_folds_to(text: str, operations: list[str]) -> None:
    assert list(line_operations(text, OPERATIONS_STATE)) == operations


@settings(max_examples=100, deadline=None)
@given(outputs, states())
def test_operations_are_as_many_as_lines_and_agree_with_the_fold(text: str, own: IntentState) -> None:
    operations = line_operations(text, own)
    assert len(operations) == len(text.split("\n"))
    edits, unread = decode_edits(text, own)
    _, refused = fold_leniently(own, edits)
    assert ("REJECTED" in operations) == bool(unread or refused)


def test_a_name_is_found_whatever_its_case() -> None:
    state = IntentState((IntentItem(3, "seats: 3", slot="seats", value="3"),), 4)
    assert decode_edits("DELETE Seats", state) == ((Edit("DELETE", id=3),), ())


@pytest.mark.parametrize("slot", ["#3", "+1", "conclusion of it", "(for Ana) seats", "a: b", "a; b", "[x] y", "a || b", "1"])
def test_a_slot_that_reads_like_something_else_is_found(slot: str) -> None:
    others = (IntentItem(1, "seats: 3", slot="seats", value="3", scope="Ana"), IntentItem(3, "words"))
    state = IntentState((*others, IntentItem(4, f"{slot}: x", slot=slot, value="x")), 5)
    conclusion = Edit("ADD", slot=slot, value="y", kind="conclusion", depends_on=(4, 1))
    edits = (Edit("REPLACE", id=4, value="a: b"), conclusion)
    assert decode_edits(encode_edits(edits, state), state) == (edits, ())


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("hello", "not an edit"),
        ("DELETE seats", "no active item, or more than one, is named 'seats'"),
        ("REPLACE #1", "REPLACE reads `name: value`"),
        ("REPLACE (must) seats: 3", "a name reads `slot`, `(for scope) slot` or `#id`"),
        ("REPRIORITIZE #1: urgent", "priority must be one of"),
        ("ADD seats", "reads `slot: value` or `: text`"),
        ("ADD [1+] seats: 3", "is named '1+'"),
        ("ADD (soon) seats: 3", "attribute must be a priority"),
        ("", "no output"),
        ("NONE\nDELETE 1", "NONE beside other lines"),
        ("add seats: 3", "not an edit"),
    ],
)
def test_a_line_that_is_no_edit_says_why(line: str, reason: str) -> None:
    _, rejected = decode_edits(line, IntentState())
    assert [r for r in rejected if reason in r.reason], rejected


def test_a_surrogate_that_a_model_spells_becomes_no_surrogate() -> None:
    edits, _ = decode_edits("ADD : a\\ud800", IntentState())
    assert edits[0].text == "a\ufffd"


def test_an_item_shows_its_attributes() -> None:
    item = IntentItem(3, "seats: 3", "conclusion", (1, 2), "seats", "3", scope="Ana", priority="must")
    assert item_line(item) == "conclusion (must; for Ana) seats: 3"
