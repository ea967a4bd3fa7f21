"""WebShop's goal texts and TravelPlanner's records: what is read, what is skipped, and what bad files are told."""

from __future__ import annotations

import json

import pytest

from intentfold.sources.loading import Skip, SourceError
from intentfold.sources.travelplanner import load_records
from intentfold.sources.webshop import load_goals, read_goal
from tests.sources.conftest import DATA

GOALS = [
    ("i need a machine washable blue jacket", (("care", "machine washable"), ("color", "blue"), ("product", "jacket"))),
    ("find a dark blue x-large t-shirt.", (("color", "dark blue"), ("size", "x-large"), ("product", "t-shirt"))),
    (
        "a shampoo that is paraben free and sulfate free, for dry hair",
        (("product", "shampoo"), ("formula", "paraben free and sulfate free"), ("made for", "dry hair")),
    ),
    ("i want gluten free vanilla protein bars", (("diet", "gluten free"), ("flavor", "vanilla"), ("product", "protein bars"))),
]


@pytest.mark.parametrize(("text", "wishes"), GOALS)
def test_goal_texts(text, wishes) -> None:
    assert read_goal(text).wishes == wishes


SKIPPED = [
    ("i need a thing in blue and large", "no product that is known"),
    ("a blue cotton jacket and boots", "more than one product"),
    ("a blue jacket", "fewer than 2 fields"),
    ("a blue red cotton jacket", "two values of one field"),
    ("a cotton jacket, blue if possible", "grades or offers alternatives"),
    ("a blue or red cotton jacket", "grades or offers alternatives"),
]


@pytest.mark.parametrize(("text", "reason"), SKIPPED)
def test_texts_that_make_no_request(text, reason) -> None:
    with pytest.raises(Skip, match=reason):
        read_goal(text)


@pytest.mark.parametrize(
    ("content", "message"), [("{", "not JSON"), ("{}", "expected a list"), ("[1]", "entry 0 must be a text")]
)
def test_a_bad_goal_file(tmp_path, content, message) -> None:
    (tmp_path / "human_goals.json").write_text(content)
    with pytest.raises(SourceError, match=message):
        load_goals(tmp_path)


STAY = {"NAME": " Loft ", "price": 90.0, "room type": "Private room", "house_rules": "No pets & No smoking",
        "minimum nights": 2.0, "maximum occupancy": 2, "review rate number": 4.0}  # fmt: skip


def record() -> dict:
    return {
        "Attractions in B": [{"Name": "Mill"}],
        "Restaurants in B": [{"Name": "Roma", "Average Cost": 20, "Cuisines": "Italian, Pizza"}],
        "Accommodations in B": [
            {**STAY},
            {**STAY, "NAME": "Month", "minimum nights": 30.0},
            {**STAY, "NAME": "Bare", "house_rules": ""},
        ],
        "Flight from A to B on 2022-03-16": [{"Flight Number": "F1", "Price": 120, "DepTime": "07:30"}],
        "Self-driving from A to B": "self-driving, from A to B, duration: 1 hour, distance: 90 km, cost: 4",
        "Taxi from A to B": "No valid information.",
        "Flight from B to A on 2022-03-18": "There is no flight from B to A on 2022-03-18.",
        "Self-driving from B to A": "self-driving, from B to A, duration: 1 hour, distance: 90 km, cost: 5",
        "Taxi from B to A": "taxi, from B to A, duration: 1 hour, distance: 90 km, cost: 90",
    }


def write(folder, data) -> None:
    (folder / "train_ref_info.jsonl").write_text(json.dumps(data) + "\n")


def test_a_record_becomes_an_environment(tmp_path) -> None:
    write(tmp_path, record())
    ((found,), skipped) = load_records(tmp_path)
    assert not skipped
    assert (found.origin, str(found.start)) == ("A – B, 2022-03-16", "2022-03-16")
    environment = found.environment
    assert environment["cities"] == [{"name": "B", "nights": 2}]
    assert environment["legs"][0] == {
        "flights": [{"number": "F1", "price": 120, "departs": "07:30"}],
        "self-driving": 4,
        "taxi": None,
    }
    assert environment["legs"][1] == {"flights": [], "self-driving": 5, "taxi": 90}
    loft, bare = environment["stays"]["B"]  # a stay of a month is no choice for a trip
    assert (loft["name"], loft["rules"], loft["rating"]) == ("Loft", ["No pets", "No smoking"], 4.0)
    assert bare["rules"] is None
    assert environment["restaurants"]["B"] == [{"name": "Roma", "cost": 20, "cuisines": ["Italian", "Pizza"]}]


FAULTS = [
    (lambda data: data.pop("Restaurants in B"), "'Restaurants in B' must be a list"),
    (lambda data: data["Accommodations in B"][0].update(price="cheap"), "field price must be float, got 'cheap'"),
    (lambda data: data.pop("Flight from B to A on 2022-03-18"), "flights of two legs or more"),
]


@pytest.mark.parametrize(("spoil", "message"), FAULTS)
def test_a_bad_record_is_named_with_its_line(tmp_path, spoil, message) -> None:
    data = record()
    spoil(data)
    write(tmp_path, data)
    with pytest.raises(SourceError) as error:
        load_records(tmp_path)
    assert "train_ref_info.jsonl:1" in str(error.value)
    assert message in str(error.value)


def test_a_leg_that_nothing_travels_is_skipped_and_counted(tmp_path) -> None:
    data = record()
    data["Self-driving from B to A"] = data["Taxi from B to A"] = "No valid information."
    write(tmp_path, data)
    assert load_records(tmp_path) == ((), {"a leg that nothing travels": 1})


@pytest.mark.skipif(not (DATA / "webshop").is_dir(), reason=f"no webshop under {DATA}")
def test_real_goals() -> None:
    found, skipped = load_goals(DATA / "webshop")
    assert len(found) + sum(skipped.values()) == 12087
    assert len(found) > 1500
    assert len({request.origin for request in found}) == len(found)
    for request in found:
        for _, value in request.wishes:
            assert all(part in request.text.casefold() for part in value.split(" and ")), request


@pytest.mark.skipif(not (DATA / "travelplanner").is_dir(), reason=f"no travelplanner under {DATA}")
def test_real_records() -> None:
    found, skipped = load_records(DATA / "travelplanner")
    assert len(found) + sum(skipped.values()) == 45
    assert len(found) == 45
