"""BFCL matching, by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intentfold.graders import GoldError, grade, reference_answer
from intentfold.graders.calls import parse_calls
from intentfold.task import SourceTask

Make = Callable[..., SourceTask]

PROPERTIES = {
    "city": {"type": "string"},
    "nights": {"type": "integer"},
    "price": {"type": "float"},
    "pool": {"type": "boolean"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "scores": {"type": "array", "items": {"type": "float"}},
    "point": {"type": "tuple", "items": {"type": "float"}},
    "guest": {"type": "dict", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}},
    "legs": {"type": "array", "items": {"type": "dict"}},
}


def function(name: str, *required: str) -> dict[str, Any]:
    return {"name": name, "parameters": {"type": "dict", "properties": PROPERTIES, "required": list(required)}}


FUNCTIONS = [function("book", "city"), function("hotel.find"), function("cancel")]


def calls(*pairs: tuple[str, dict[str, Any]]) -> str:
    return json.dumps([{"name": name, "arguments": arguments} for name, arguments in pairs])


TABLE = [
    # possible arguments, given arguments, full credit
    ({"city": ["Paris"]}, {"city": "Paris"}, True),
    ({"city": ["Paris"]}, {"city": "paris"}, True),
    ({"city": ["New York, NY"]}, {"city": "new-york ny"}, True),
    ({"city": ["O'Hare"]}, {"city": 'O"Hare'}, True),
    ({"city": ["Paris", "Paris, France"]}, {"city": "Paris, France"}, True),
    ({"city": ["Paris"]}, {"city": "Rome"}, False),
    ({"city": ["Paris"]}, {}, False),
    ({"city": ["Paris"]}, {"city": 3}, False),
    ({"city": ["Paris"]}, {"city": None}, False),
    ({"city": ["Paris"]}, {"city": "Paris", "nights": 2}, False),
    ({"city": ["Paris"]}, {"city": "Paris", "unheard_of": 2}, False),
    ({"city": ["Paris"], "nights": [2]}, {"city": "Paris", "nights": 2}, True),
    ({"city": ["Paris"], "nights": [2]}, {"city": "Paris"}, False),
    ({"city": ["Paris"], "nights": [2, ""]}, {"city": "Paris"}, True),
    ({"city": ["Paris"], "nights": [2, ""]}, {"city": "Paris", "nights": 3}, False),
    ({"city": ["Paris"], "nights": [2, ""]}, {"city": "Paris", "nights": ""}, False),
    ({"city": ["Paris"], "nights": [2]}, {"city": "Paris", "nights": 2.0}, False),
    ({"city": ["Paris"], "nights": [2]}, {"city": "Paris", "nights": "2"}, False),
    ({"city": ["Paris"], "nights": [1]}, {"city": "Paris", "nights": True}, False),
    ({"city": ["Paris"], "price": [50.0]}, {"city": "Paris", "price": 50}, True),
    ({"city": ["Paris"], "price": [50.5]}, {"city": "Paris", "price": 50.5}, True),
    ({"city": ["Paris"], "price": [50.5]}, {"city": "Paris", "price": 50}, False),
    ({"city": ["Paris"], "pool": [True]}, {"city": "Paris", "pool": True}, True),
    ({"city": ["Paris"], "pool": [True]}, {"city": "Paris", "pool": 1}, False),
    ({"city": ["Paris"], "pool": [True]}, {"city": "Paris", "pool": "true"}, False),
    ({"city": ["Paris"], "tags": [["Sea view", "quiet"]]}, {"city": "Paris", "tags": ["sea-view", "Quiet"]}, True),
    ({"city": ["Paris"], "tags": [["a", "b"]]}, {"city": "Paris", "tags": ["b", "a"]}, False),
    ({"city": ["Paris"], "tags": [["a", "b"], ["b", "a"]]}, {"city": "Paris", "tags": ["b", "a"]}, True),
    ({"city": ["Paris"], "tags": [["a"]]}, {"city": "Paris", "tags": ["a", "a"]}, False),
    ({"city": ["Paris"], "tags": [["a"]]}, {"city": "Paris", "tags": "a"}, False),
    ({"city": ["Paris"], "scores": [[1.0, 2.5]]}, {"city": "Paris", "scores": [1, 2.5]}, True),
    ({"city": ["Paris"], "point": [[1.0, 2.0]]}, {"city": "Paris", "point": [1.0, 2.0]}, True),
    (
        {"city": ["Paris"], "guest": [{"name": ["Al", "Bo"], "age": [3]}]},
        {"city": "Paris", "guest": {"name": "bo", "age": 3}},
        True,
    ),
    ({"city": ["Paris"], "guest": [{"name": ["Al"], "age": [3]}]}, {"city": "Paris", "guest": {"name": "Al"}}, False),
    ({"city": ["Paris"], "guest": [{"name": ["Al"], "age": [3, ""]}]}, {"city": "Paris", "guest": {"name": "Al"}}, True),
    ({"city": ["Paris"], "guest": [{"name": ["Al"]}]}, {"city": "Paris", "guest": {"name": "Al", "age": 3}}, False),
    ({"city": ["Paris"], "legs": [[{"to": ["A"]}, {"to": ["B"]}]]}, {"city": "Paris", "legs": [{"to": "a"}, {"to": "b"}]}, True),
    ({"city": ["Paris"], "legs": [[{"to": ["A"]}, {"to": ["B"]}]]}, {"city": "Paris", "legs": [{"to": "b"}, {"to": "a"}]}, False),
    ({"city": ["Paris"], "legs": [[{"to": ["A"]}]]}, {"city": "Paris", "legs": []}, False),
]


@pytest.mark.parametrize(("possible", "given_arguments", "full"), TABLE)
def test_arguments(possible: Any, given_arguments: Any, full: bool, make_task: Make) -> None:
    task = make_task("calls", {"possible": [{"book": possible}], "functions": FUNCTIONS})
    outcome = grade(task, calls(("book", given_arguments)))
    assert outcome.full is full, outcome.reason
    assert outcome.value == float(full)


def test_parallel_calls_match_one_to_one_in_any_order(make_task: Make) -> None:
    # A greedy matcher gives the first call the first entry and leaves the second call with nothing.
    possible = [{"book": {"city": ["Paris", "Rome"]}}, {"book": {"city": ["Paris"]}}]
    task = make_task("calls", {"possible": possible, "functions": FUNCTIONS})
    assert grade(task, calls(("book", {"city": "Paris"}), ("book", {"city": "Rome"}))).full
    assert grade(task, calls(("book", {"city": "Rome"}), ("book", {"city": "Paris"}))).full
    assert not grade(task, calls(("book", {"city": "Rome"}), ("book", {"city": "Rome"}))).full
    assert not grade(task, calls(("book", {"city": "Paris"}))).full
    assert not grade(task, calls(*[("book", {"city": "Paris"})] * 3)).full


def test_function_names(make_task: Make) -> None:
    task = make_task("calls", {"possible": [{"hotel.find": {"city": ["Paris"]}}], "functions": FUNCTIONS})
    assert grade(task, calls(("hotel.find", {"city": "Paris"}))).full
    assert grade(task, calls(("hotel_find", {"city": "Paris"}))).full
    assert not grade(task, calls(("find", {"city": "Paris"}))).full
    assert not grade(task, calls(("cancel", {"city": "Paris"}))).full


@pytest.mark.parametrize(
    "answer",
    [
        '{"name": "book", "arguments": {"city": "Paris"}}',
        '[{"name": "book", "arguments": "{\\"city\\": \\"Paris\\"}"}]',
        'Here you are:\n```json\n[{"name": "book", "arguments": {"city": "Paris"}}]\n```\nAnything else?',
        "book(city='Paris')",
        "[book(city='Paris')]",
        "```python\nbook(city='Paris')\n```",
    ],
)
def test_forms_of_an_answer(answer: str, make_task: Make) -> None:
    assert parse_calls(answer) == [("book", {"city": "Paris"})]
    assert grade(make_task("calls", {"possible": [{"book": {"city": ["Paris"]}}], "functions": FUNCTIONS}), answer).full


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "  \n",
        "I would book Paris.",
        "book('Paris')",
        "book(**{'city': 'Paris'})",
        "book(city=open('x'))",
        "book(city='a' + 'b')",
        "(lambda: book)()(city='Paris')",
        "[" * 15_000,
        "(" * 15_000,
        "-" * 15_000 + "1",
        "book(city=" + "[" * 150 + "]" * 150 + ")",
        "x" * 30_000,
        '{"name": "book"}',
        '{"name": 3, "arguments": {}}',
        '{"name": "book", "arguments": "not json"}',
        "[1, 2]",
        "null",
        "[]",
    ],
)
def test_anything_else_fails(answer: str, make_task: Make) -> None:
    task = make_task("calls", {"possible": [{"book": {"city": ["Paris"]}}], "functions": FUNCTIONS})
    assert grade(task, answer).value == 0.0


@settings(max_examples=200, deadline=None)
@given(answer=st.text())
def test_any_text_gets_a_grade(answer: str, make_task: Make) -> None:
    task = make_task("calls", {"possible": [{"book": {"city": ["Paris"]}}], "functions": FUNCTIONS})
    assert grade(task, answer).value == 0.0


@pytest.mark.parametrize(
    ("reference", "field"),
    [
        ({"functions": FUNCTIONS}, r"reference\.possible"),
        ({"possible": [{"book": {"city": ["Paris"]}}]}, r"reference\.functions"),
        ({"possible": [], "functions": FUNCTIONS}, r"reference\.possible"),
        ({"possible": [{"fly": {"city": ["Paris"]}}], "functions": FUNCTIONS}, "'fly' is not among"),
        ({"possible": [{"book": {"town": ["Paris"]}}], "functions": FUNCTIONS}, "no parameter 'town'"),
        ({"possible": [{"book": {"city": "Paris"}}], "functions": FUNCTIONS}, r"book\.city must be a list"),
        ({"possible": [{"book": {"city": []}}], "functions": FUNCTIONS}, r"book\.city must be a list"),
    ],
)
def test_malformed_gold_is_an_error(reference: Any, field: str, make_task: Make) -> None:
    with pytest.raises(GoldError, match=f"task task-7: .*{field}"):
        grade(make_task("calls", reference), calls(("book", {"city": "Paris"})))


@pytest.mark.parametrize("name", ["simple_python", "multiple", "parallel"])
def test_the_references_of_bfcl_pass(name: str, data: Path, make_task: Make) -> None:
    questions = {}
    for line in (data / "bfcl" / f"BFCL_v4_{name}.json").read_text().splitlines():
        entry = json.loads(line)
        questions[entry["id"]] = entry["function"]
    for line in (data / "bfcl" / f"possible_answer_BFCL_v4_{name}.json").read_text().splitlines():
        entry = json.loads(line)
        task = make_task("calls", {"possible": entry["ground_truth"], "functions": questions[entry["id"]]})
        assert grade(task, reference_answer(task)).full, entry
        first, *others = json.loads(reference_answer(task))
        assert not grade(task, json.dumps(others)).full
        changed = {"name": first["name"], "arguments": {**first["arguments"], "unheard_of": 1}}
        assert not grade(task, json.dumps([changed, *others])).full
