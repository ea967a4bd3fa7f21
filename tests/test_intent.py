"""fold, align and diff: properties over arbitrary states, and tables worked by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from intentfold.intent import (
    RETIRED_SHOWN,
    Edit,
    IntentError,
    IntentItem,
    IntentState,
    align,
    canonical,
    diff,
    fold,
    fold_leniently,
    orphans,
)
from tests.strategies import states


def state(*items: IntentItem) -> IntentState:
    return IntentState(items, next_id=max((item.id for item in items), default=0) + 1)


def slotted(id: int, slot: str, value: str, **rest: object) -> IntentItem:
    return IntentItem(id, f"{slot}: {value}", slot=slot, value=value, **rest)  # type: ignore[arg-type]


NIGHTS = IntentItem(3, "nights: 4", "conclusion", (1, 2), "nights", "4")
TRIP = state(slotted(1, "arrival", "May 2"), slotted(2, "departure", "May 6"), NIGHTS)


@settings(max_examples=300, deadline=None)
@given(states(), states())
def test_diff_leads_to_the_other_state(own: IntentState, oracle: IntentState) -> None:
    assert canonical(fold(own, diff(own, oracle))) == canonical(oracle)


@settings(max_examples=100, deadline=None)
@given(states())
def test_a_state_differs_from_itself_by_nothing(own: IntentState) -> None:
    assert diff(own, own) == ()


@settings(max_examples=100, deadline=None)
@given(states(), states())
def test_align_pairs_one_to_one(own: IntentState, oracle: IntentState) -> None:
    pairs = align(own, oracle)
    assert len({mine for mine, _ in pairs}) == len({theirs for _, theirs in pairs}) == len(pairs)
    assert len(align(own, own)) == len(own.items)


@settings(max_examples=100, deadline=None)
@given(states(), states())
def test_ids_are_never_used_again(own: IntentState, oracle: IntentState) -> None:
    after = fold(own, diff(own, oracle))
    assert after.next_id >= own.next_id
    before = {item.id for item in own.items}
    assert all(item.id >= own.next_id for item in after.items if item.id not in before)


def test_replacing_a_value_keeps_identity_and_takes_the_conclusions() -> None:
    after = fold(TRIP, [Edit("REPLACE", id=1, value="May 3")])
    assert after.items == (slotted(1, "arrival", "May 3"), slotted(2, "departure", "May 6"))
    assert after.retired == (TRIP.items[0],)


def test_conclusions_fall_transitively() -> None:
    price = IntentItem(4, "price: 400", "conclusion", (3,), "price", "400")
    after = fold(IntentState((*TRIP.items, price), 5), [Edit("DELETE", id=2)])
    assert [item.id for item in after.items] == [1]


def test_reprioritising_takes_no_conclusion() -> None:
    after = fold(TRIP, [Edit("REPRIORITIZE", id=1, priority="must")])
    assert after.get(3) == NIGHTS
    assert after.items[0].priority == "must"


def test_goals_stay_when_what_they_depend_on_goes_and_are_reported() -> None:
    before = state(slotted(1, "hotel", "Ritz"), slotted(2, "room", "double", depends_on=(1,)))
    after = fold(before, [Edit("DELETE", id=1)])
    assert [item.slot for item in orphans(after, before)] == ["room"]


def test_an_addition_may_depend_on_one_before_it() -> None:
    edits = [
        Edit("ADD", slot="arrival", value="May 2"),
        Edit("ADD", kind="conclusion", slot="season", value="spring", depends_on=(-1,)),
    ]
    assert fold(IntentState(), edits).items[1].depends_on == (1,)


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (Edit("DELETE", id=9), "9 is not active"),
        (Edit("REPLACE", id=1, value="May 2"), "replaces an item by itself"),
        (Edit("REPLACE", id=1, value=" "), "needs a value"),
        (Edit("ADD", slot="arrival", value="may 2"), "repeats an active item"),
        (Edit("ADD", text="  "), "needs a text"),
        (Edit("ADD", slot="x", value="\u2028"), "not blank"),
        (Edit("ADD", slot="x", value="y", depends_on=(7,)), "depends on 7"),
        (Edit("ADD", slot="x", value="y", depends_on=(-1,)), r"depends on \+1"),
        (Edit("REPRIORITIZE", id=1), "needs a priority"),
    ],
)
def test_an_edit_that_cannot_be_applied_is_named(edit: Edit, reason: str) -> None:
    with pytest.raises(IntentError, match=reason):
        fold(TRIP, [edit])
    after, rejected = fold_leniently(TRIP, [edit])
    assert canonical(after) == canonical(TRIP)
    assert len(rejected) == 1


def test_one_batch_edits_an_item_once() -> None:
    twice = [Edit("REPLACE", id=1, value="May 3"), Edit("DELETE", id=1)]
    after, rejected = fold_leniently(TRIP, twice)
    assert after.get(1) is not None
    assert rejected[0].reason == "1 is edited twice"


def test_retired_items_are_bounded_newest_last() -> None:
    current = state(slotted(1, "seats", "0"))
    for value in range(1, RETIRED_SHOWN + 3):
        current = fold(current, [Edit("REPLACE", id=1, value=str(value))])
    assert [item.value for item in current.retired] == [str(v) for v in range(2, RETIRED_SHOWN + 2)]


def test_cycles_dangling_and_doubled_ids_name_the_item() -> None:
    a, b = slotted(1, "a", "x", depends_on=(2,)), slotted(2, "b", "y", depends_on=(1,))
    with pytest.raises(IntentError, match="item 1: dependencies form a cycle"):
        IntentState((a, b), 3)
    with pytest.raises(IntentError, match="item 1: depends on 2, which is not active"):
        IntentState((a,), 3)
    with pytest.raises(IntentError, match="ids must be unique"):
        IntentState((slotted(1, "a", "x"), slotted(1, "b", "y")), 3)
    with pytest.raises(IntentError, match="not below the counter"):
        IntentState((slotted(5, "a", "x"),), 3)


def test_dependencies_with_exponentially_many_paths_cost_no_more_than_others() -> None:
    edits = [Edit("ADD", slot="a1", value="1"), Edit("ADD", slot="a2", value="1")]
    edits += [Edit("ADD", slot=f"a{n}", value="1", kind="conclusion", depends_on=(1 - n, 2 - n)) for n in range(3, 61)]
    assert len(canonical(fold(IntentState(), edits))) == 60


def test_diff_writes_nothing_that_folding_does_by_itself() -> None:
    after = state(slotted(1, "arrival", "May 3"), slotted(2, "departure", "May 6"))
    assert diff(TRIP, after) == (Edit("REPLACE", id=1, value="May 3"),)


def test_a_value_and_its_priority_changed_at_once_leave_the_rest_of_the_state_alone() -> None:
    city = IntentItem(1, "city: Porto", slot="city", value="Porto")
    own = IntentState((city, IntentItem(2, "seats: 3", slot="seats", value="3", priority="must")), 3)
    oracle = IntentState((city, IntentItem(2, "seats: 4", slot="seats", value="4", priority="optional")), 3)
    assert diff(own, oracle) == (Edit("DELETE", id=2), Edit("ADD", slot="seats", value="4", priority="optional"))
