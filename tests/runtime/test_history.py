"""The history-only policy, by hand."""

from __future__ import annotations

import pytest

from intentfold.intent import Edit
from intentfold.runtime.history import goal_items, stated_items
from tests.episodes import episode, house, table_task

ADD_CITY, ADD_POOL = Edit("ADD", slot="city", value="Oslo"), Edit("ADD", slot="pool", value="yes")
ADD_DATE = Edit("ADD", slot="check-in date", value="May 2")
WORDS = Edit("ADD", text="no stairs")
TABLE = [
    ("nothing changes", [("city: Oslo", ADD_CITY)], ["city: Oslo"]),
    ("withdrawn in anaphora: obeyed", [("a pool", ADD_POOL), ("scratch that", Edit("DELETE", id=1))], ["pool: yes"]),
    ("withdrawn by the slot's name", [("a pool", ADD_POOL), ("Drop the pool.", Edit("DELETE", id=1))], []),
    ("withdrawn by its value", [("on May 2", ADD_DATE), ("not May 2", Edit("DELETE", id=1))], []),
    (
        "another name of the slot",
        [("on May 2", ADD_DATE), ("forget the arrival", Edit("DELETE", id=1))],
        ["check-in date: May 2"],
    ),
    ("a bare yes names nothing", [("a pool", ADD_POOL), ("Yes, forget it.", Edit("DELETE", id=1))], ["pool: yes"]),
    ("part of a word is no word", [("a pool", ADD_POOL), ("no pooling", Edit("DELETE", id=1))], ["pool: yes"]),
    ("words without a slot", [("no stairs", WORDS), ("Forget about no stairs", Edit("DELETE", id=1))], []),
    ("words in anaphora", [("no stairs", WORDS), ("never mind", Edit("DELETE", id=1))], ["no stairs"]),
    (
        "a value replaced in its own words",
        [("Oslo", ADD_CITY), ("Rome, not Oslo", Edit("REPLACE", id=1, value="Rome"))],
        ["city: Rome"],
    ),
    (
        "a value replaced without them: both stand, the latest last",
        [("Oslo", ADD_CITY), ("Rome would be better", Edit("REPLACE", id=1, value="Rome"))],
        ["city: Oslo", "city: Rome"],
    ),
    (
        "back to a former value: stated anew, last",
        [
            ("Oslo", ADD_CITY),
            ("Rome instead", Edit("REPLACE", id=1, value="Rome")),
            ("back to the first", Edit("REPLACE", id=1, value="Oslo")),
        ],
        ["city: Rome", "city: Oslo"],
    ),
    (
        "deleted by the slot's name: every statement goes",
        [("Oslo", ADD_CITY), ("Rome", Edit("REPLACE", id=1, value="Rome")), ("no city after all", Edit("DELETE", id=1))],
        [],
    ),
    (
        "the agent's conclusions were not stated by the user",
        [("Oslo", ADD_CITY), ("hm", Edit("ADD", kind="conclusion", slot="beds", value="2", depends_on=(1,)))],
        ["city: Oslo"],
    ),
]


@pytest.mark.parametrize(("turns", "stated"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_what_the_history_states(turns, stated) -> None:
    items = stated_items(episode(table_task(), "e", *((user, (edit,), "") for user, edit in turns)))
    assert [item.text for item in items] == stated
    assert [item.id for item in items] == list(range(1, len(stated) + 1))


def test_a_priority_is_that_of_the_latest_statement() -> None:
    turns = [("Oslo", (ADD_CITY,), ""), ("only if possible", (Edit("REPRIORITIZE", id=1, priority="optional"),), "")]
    assert [(item.text, item.priority) for item in stated_items(episode(table_task(), "e", *turns))] == [
        ("city: Oslo", "optional")
    ]


def test_a_whole_episode() -> None:
    # The pool was taken back in anaphora, the garden by name; Porto went with a turn that names the city.
    assert [item.text for item in stated_items(house())] == ["pool: yes", "guests: 3", "city: Lisbon"]


def test_goal_items_are_the_tasks_own_goals() -> None:
    assert [(item.id, item.text) for item in goal_items(table_task())] == [(1, "city: Lisbon"), (2, "guests: 3")]
