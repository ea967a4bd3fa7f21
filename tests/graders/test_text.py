from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intentfold.graders import GoldError, bleu, grade, reference_answer
from intentfold.graders.grade import Grade
from intentfold.task import SourceTask

Make = Callable[..., SourceTask]
REFERENCE: dict[str, Any] = {
    "slots": {"name": "Aromi", "food": "Thai", "family": "no", "area": "riverside"},
    "realisations": {
        "name": ["Aromi"],
        "food": ["Thai food", "Thai cuisine", "Thai"],
        "family": ["not family friendly", "adults only"],
        "area": ["riverside", "by the river"],
    },
    "forbidden": {"family": ["family friendly"], "food": ["Chinese"], "price": ["cheap"]},
    "references": ["Aromi by the river serves Thai food and is not family friendly."],
}


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("Aromi by the river serves Thai food and is not family friendly.", 1.0),
        ("AROMI, in the Riverside area: thai\ncuisine, not  family\nfriendly.", 1.0),
        ("Aromi serves Thai food and is not family friendly.", 0.75),
        ("Aromi by the river serves Thai food and is family friendly.", 0.5),
        ("Aromi by the river serves Thai food, family friendly, or rather not family friendly.", 0.75),
        ("Aromi by the river serves Thai and Chinese food to adults only.", 0.75),
        ("Aromi by the river serves cheap Thai food to adults only.", 0.75),
        ("Aromis by the rivers serves Thailand's food.", 0.0),
        ("Cheap Chinese food, family friendly.", 0.0),
        ("Nothing of it.", 0.0),
        ("", 0.0),
    ],
)
def test_coverage(answer: str, value: float, make_task: Make) -> None:
    outcome = grade(make_task("text", REFERENCE), answer)
    assert outcome.value == pytest.approx(value), outcome.reason
    assert outcome.full is (value == 1.0)


def test_the_reference_passes_and_bleu_stands_beside(make_task: Make) -> None:
    task = make_task("text", REFERENCE)
    assert grade(task, reference_answer(task)).full
    assert bleu(task, reference_answer(task)) == pytest.approx(100)
    assert 0 <= bleu(task, "Something else entirely.") < 10


@given(answer=st.text())
def test_any_text_gets_a_grade_in_range(answer: str, make_task: Make) -> None:
    value = grade(make_task("text", REFERENCE), answer).value
    assert value is not None and 0 <= value <= 1


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"slots": {}}, r"reference\.slots: is empty"),
        ({"slots": None}, r"reference\.slots: is missing"),
        ({"realisations": {"name": ["Aromi"]}}, r"reference\.realisations\.food"),
        ({"forbidden": {"food": "Chinese"}}, r"reference\.forbidden\.food"),
        ({"forbidden": {"food": [""]}}, r"reference\.forbidden\.food"),
    ],
)
def test_malformed_gold_is_an_error(change: dict[str, Any], field: str, make_task: Make) -> None:
    with pytest.raises(GoldError, match=f"task task-7: payload.{field}"):
        grade(make_task("text", {**REFERENCE, **change}), "Aromi")


def test_a_grade_holds_together() -> None:
    with pytest.raises(ValueError, match=r"value must be in \[0, 1\] or None, got 1.5"):
        Grade(1.5, False, "")
    with pytest.raises(ValueError, match=r"full credit needs value 1\.0, got None"):
        Grade(None, True, "")
