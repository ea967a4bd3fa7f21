"""The state executor, by hand: one table for each answer form, and what it must not guess at."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intentfold.intent import IntentItem
from intentfold.runtime.executor import evaluate, execute, parse_value, resolve
from intentfold.task import AnswerForm, SourceTask


def parameter(type: str = "string", text: str | None = None, spoken: tuple[str, ...] = ()) -> dict[str, Any]:
    entry = {"type": type, "values": [], "optional": False, "spoken": list(spoken)}
    return entry if text is None else {**entry, "text": text}


def task(form: AnswerForm, parameters: dict[str, Any], program: dict[str, Any]) -> SourceTask:
    payload = {"parameters": parameters, "program": program, "reference": {}}
    return SourceTask("t", "test", "o", "Apache-2.0", "Please help.", (), form, payload)


def items(*pairs: tuple[str, str]) -> tuple[IntentItem, ...]:
    return tuple(IntentItem(id, f"{slot}: {value}", slot=slot, value=value) for id, (slot, value) in enumerate(pairs, start=1))


def worded(*texts: str) -> tuple[IntentItem, ...]:
    return tuple(IntentItem(id, text) for id, text in enumerate(texts, start=1))


FLIGHT = task(
    "calls",
    {
        "destination city": parameter(spoken=("city I fly to",)),
        "seats": parameter("integer"),
        "window": parameter("boolean"),
        "price": parameter("number"),
        "stops": parameter("json"),
    },
    {
        "calls": [
            {"name": "fly", "arguments": {"to": "destination city", "seats": "seats", "window": "window"}},
            {"name": "pay", "arguments": {"price": "price", "stops": "stops"}},
        ]
    },
)
BOOKS = task(
    "sql",
    {
        "genre": parameter(),
        "minimum price": parameter("number"),
        "titles": parameter("json"),
        "sort order": parameter(),
        "information wanted": parameter(),
        "number of results": parameter("integer"),
    },
    {
        "query": "SELECT title FROM books WHERE stock > 0 OR used = 1",
        "conditions": {"genre": "genre = {value}", "minimum price": "price >= {value}", "titles": "title IN {value}"},
        "limit": "number of results",
        "choices": {
            "sort order": {"cheapest first": {"order": "price, title"}},
            "information wanted": {"titles and prices": {"select": "title, price"}},
        },
    },
)
SHOP = task(
    "number",
    {
        "n1": parameter("integer", "Tom buys {value} apples."),
        "price": parameter("number"),
        "n3": parameter("integer"),
        "discount": parameter("number"),
    },
    {
        "expression": "(n1 - 1) * n2 / n3",
        "names": {"n1": "n1", "n2": "price", "n3": "n3"},
        "adjustments": {"discount": "result * (100 - value) / 100"},
    },
)
PLACE = task(
    "text",
    {"name": parameter(), "food": parameter(), "parking": parameter("boolean")},
    {
        "order": ["name", "food", "parking"],
        "sentences": {"name": "{subject} is a place.", "food": "{subject} serves {value}.", "parking": "Parking: {value}."},
        "subject": "name",
    },
)
FILTER = task(
    "code",
    {"threshold": parameter("integer"), "word": parameter(), "sort order": parameter()},
    {
        "template": "def f(xs):\n    xs = [x for x in xs if x > ${least} and x != ${word}]\n    return ${order}\n",
        "names": {"least": "threshold", "word": "word", "order": "sort order"},
        "choices": {"sort order": {"ascending": "sorted(xs)", "descending": "sorted(xs, reverse=True)"}},
        "defaults": {"least": "0", "word": "None", "order": "xs"},
    },
)


@pytest.mark.parametrize(
    ("given", "calls"),
    [
        (items(("destination city", "Lisbon"), ("seats", "1,200")), [{"to": "Lisbon", "seats": 1200}, {}]),
        (items(("Destination  City.", "Lisbon"), ("window", "Yes")), [{"to": "Lisbon", "window": True}, {}]),
        (items(("city I fly to", "Porto")), [{"to": "Porto"}, {}]),
        (items(("price", "12.50"), ("stops", '["a", 2]')), [{}, {"price": 12.5, "stops": ["a", 2]}]),
        (items(("price", "12")), [{}, {"price": 12}]),
        (items(("seats", "3"), ("seats", "13")), [{"seats": 13}, {}]),
        (worded("destination city: Lisbon.", "Seats: 3"), [{"to": "Lisbon", "seats": 3}, {}]),
    ],
)
def test_calls(given: tuple[IntentItem, ...], calls: list[dict[str, Any]]) -> None:
    execution = execute(FLIGHT, given)
    answer = json.loads(execution.answer)
    assert [call["name"] for call in answer] == ["fly", "pay"]
    assert [call["arguments"] for call in answer] == calls
    assert execution.unresolved == ()


@pytest.mark.parametrize(
    "item",
    [
        IntentItem(1, "destination: Lisbon", slot="destination", value="Lisbon"),
        IntentItem(1, "seats: three", slot="seats", value="three"),
        IntentItem(1, "seats: 2.5", slot="seats", value="2.5"),
        IntentItem(1, "seats: 1,20", slot="seats", value="1,20"),
        IntentItem(1, "window: perhaps", slot="window", value="perhaps"),
        IntentItem(1, "stops: NaN", slot="stops", value="NaN"),
        IntentItem(1, "stops: [1", slot="stops", value="[1"),
        IntentItem(1, "destination city: ", slot="destination city", value=" "),
        IntentItem(1, "I want to go to Lisbon"),
    ],
)
def test_what_cannot_be_resolved_is_counted_and_left_out(item: IntentItem) -> None:
    execution = execute(FLIGHT, (item, IntentItem(2, "seats: 4", slot="seats", value="4")))
    assert execution.unresolved == (item,)
    assert json.loads(execution.answer)[0]["arguments"] == {"seats": 4}


def test_a_phrase_of_two_parameters_names_neither() -> None:
    shared = task("calls", {"a": parameter(spoken=("city",)), "b": parameter(spoken=("city",))}, FLIGHT.payload["program"])
    assert resolve(shared, items(("city", "Lisbon"))[0]) == {}


def test_conclusions_and_formats_set_nothing_and_are_not_unresolved() -> None:
    others = (
        IntentItem(1, "seats: 3", "conclusion", slot="seats", value="3"),
        IntentItem(2, "seats: 4", "format", slot="seats", value="4"),
    )
    execution = execute(FLIGHT, others)
    assert json.loads(execution.answer)[0]["arguments"] == {}
    assert execution.unresolved == ()


def test_the_higher_id_wins_whatever_the_order() -> None:
    first, second = items(("seats", "3"), ("seats", "4"))
    assert execute(FLIGHT, (second, first)).answer == execute(FLIGHT, (first, second)).answer
    assert '"seats": 4' in execute(FLIGHT, (second, first)).answer


@pytest.mark.parametrize(
    ("given", "query"),
    [
        ((), "SELECT title FROM books WHERE stock > 0 OR used = 1"),
        (
            items(("genre", "O'Neil's"), ("minimum price", "12.5")),
            "SELECT title FROM books WHERE ((stock > 0 OR used = 1) AND genre = 'O''Neil''s') AND price >= 12.5",
        ),
        (
            items(("titles", '["a", "b"]')),
            "SELECT title FROM books WHERE (stock > 0 OR used = 1) AND title IN ('a', 'b')",
        ),
        (
            items(("information wanted", "titles and prices"), ("sort order", "Cheapest first"), ("number of results", "3")),
            "SELECT title, price FROM books WHERE stock > 0 OR used = 1 ORDER BY price, title LIMIT 3",
        ),
    ],
)
def test_sql(given: tuple[IntentItem, ...], query: str) -> None:
    execution = execute(BOOKS, given)
    assert (execution.answer, execution.unresolved) == (query, ())


def test_a_condition_on_groups() -> None:
    grouped = task(
        "sql",
        {"fewest books": parameter("integer")},
        {"query": "SELECT genre FROM books GROUP BY genre", "having": {"fewest books": "COUNT(*) >= {value}"}},
    )
    answer = execute(grouped, items(("fewest books", "3"))).answer
    assert answer == "SELECT genre FROM books GROUP BY genre HAVING COUNT(*) >= 3"


def test_a_call_that_its_own_slot_adds() -> None:
    program = {"calls": [], "optional_calls": {"seats": {"name": "seat", "arguments": {"n": "seats"}}}}
    extra = task("calls", {"seats": parameter("integer")}, program)
    assert execute(extra, items(("seats", "2"))).answer == '[{"name": "seat", "arguments": {"n": 2}}]'
    assert execute(extra, ()).answer == "[]"


def test_an_unknown_choice_is_unresolved() -> None:
    given = items(("sort order", "by colour"))
    assert execute(BOOKS, given).unresolved == given


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        (items(("n1", "5"), ("price", "2.5"), ("n3", "2")), "5"),
        (items(("n1", "6"), ("price", "0.1"), ("n3", "2")), "0.25"),
        (items(("n1", "2"), ("price", "1"), ("n3", "3")), "1/3"),
        (items(("n1", "5"), ("price", "2.5"), ("n3", "2"), ("discount", "10")), "4.5"),
        (items(("n1", "5"), ("n3", "2")), "2"),
        (items(("price", "7")), "7"),
        (items(("n1", "5"), ("price", "2"), ("n3", "0")), ""),
        ((IntentItem(1, "tom buys 9  apples"), IntentItem(2, "price: 3", slot="price", value="3")), "24"),
        (items(("n1", "-9"), ("price", "0.125"), ("n3", "1")), "-1.25"),
    ],
)
def test_number(given: tuple[IntentItem, ...], answer: str) -> None:
    assert execute(SHOP, given).answer == answer


def test_one_sentence_may_carry_two_numbers() -> None:
    sentence = "Tom buys 5 apples at $3 each."
    both = {
        "n1": parameter("integer", "Tom buys {value} apples at $3 each."),
        "n2": parameter("integer", "Tom buys 5 apples at ${value} each."),
    }
    two = task("number", both, {"expression": "n1 * n2", "names": {"n1": "n1", "n2": "n2"}})
    assert execute(two, worded(sentence)).answer == "15"
    assert execute(two, worded("Tom buys 5 pears at $3 each.")).unresolved != ()


def test_text() -> None:
    told = execute(PLACE, items(("parking", "no"), ("food", "{subject}"), ("name", "Blue Door"))).answer
    assert told == "Blue Door is a place. Blue Door serves {subject}. Parking: no."
    assert execute(PLACE, items(("food", "soup"))).answer == "It serves soup."


@pytest.mark.parametrize(
    ("given", "result"),
    [
        ((), [3, 1, 2]),
        (items(("threshold", "1")), [3, 2]),
        (items(("sort order", "Descending"), ("word", "it's")), [3, 2, 1]),
    ],
)
def test_code(given: tuple[IntentItem, ...], result: list[int]) -> None:
    scope: dict[str, Any] = {}
    exec(execute(FILTER, given).answer, scope)
    assert scope["f"]([3, 0, 1, 2]) == result


def test_a_value_stays_a_constant_in_code() -> None:
    answer = execute(FILTER, items(("word", "1] or exit() #"))).answer
    assert "'1] or exit() #'" in answer


@pytest.mark.parametrize(("expression", "result"), [("3 * 4", "12"), ("-(1 + 2) / 4", "-0.75"), ("7 // 2 + 7 % 4", "6")])
def test_evaluate(expression: str, result: str) -> None:
    assert evaluate(expression) == result


@pytest.mark.parametrize("expression", ["yes", "2 ** 9", "f(1)", "'a'"])
def test_evaluate_takes_plain_arithmetic_only(expression: str) -> None:
    with pytest.raises(ValueError, match="arithmetic"):
        evaluate(expression)


def test_unknown_types_are_named() -> None:
    with pytest.raises(ValueError, match="date"):
        parse_value("date", "May 12")
    with pytest.raises(ValueError, match="expected a value of type integer"):
        parse_value("integer", "١٢")  # Arabic digits, which `int` would read


@given(st.sampled_from([FLIGHT, BOOKS, SHOP, PLACE, FILTER]), st.data())
def test_any_items_give_an_answer(task: SourceTask, data: st.DataObject) -> None:
    slots = st.sampled_from([*task.payload["parameters"], "nothing known"])
    pairs = data.draw(st.lists(st.tuples(slots, st.text() | st.from_regex(r"-?\d{1,20}"))))
    given = items(*pairs)
    execution = execute(task, given)
    unresolved = {item.id for item in execution.unresolved}
    assert unresolved == {item.id for item in given if not resolve(task, item)}
