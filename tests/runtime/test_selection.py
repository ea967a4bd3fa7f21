"""Selecting situations: lexical ranking, and answers of a model read or not."""

from __future__ import annotations

import pytest

from intentfold.asset import Quotation, Situation
from intentfold.runtime.roles import Completion
from intentfold.runtime.selection import LexicalSelector, ModelSelector, read_selection, similarity

SITUATIONS = [
    Situation("Product review scripts that tie features to a routine."),
    Situation("Train bookings that are refundable.", excerpts=(Quotation("Book me a train to Graz.", "h:0"),)),
    Situation("Sales reports as files."),
]


@pytest.mark.parametrize(
    ("request_", "places"),
    [
        ("Write a 30-second review of the hair styler.", [0]),
        ("Get me on a train to Graz", [1]),
        ("the sales of March", [2]),
        ("Paint my house", []),
        ("to the with a", []),
    ],
)
def test_shared_words_select(request_: str, places: list[int]) -> None:
    assert LexicalSelector().rank(request_, SITUATIONS) == places


def test_several_are_ranked_and_bounded() -> None:
    both = "A review of train sales reports"
    assert LexicalSelector(most=3, floor=0.0).rank(both, SITUATIONS)[0] == 2
    assert len(LexicalSelector(most=2, floor=0.0).rank(both, SITUATIONS)) == 2
    assert LexicalSelector().rank(both, []) == []


@pytest.mark.parametrize(
    ("text", "places"),
    [("2", [1]), ("3 1", [2, 0]), (" 1, 3\n", [0, 2]), ("2 2", [1]), ("NONE", []), ("4", None), ("0", None), ("", None),
     ("the second", None), ("1 and 2", None), ("-1", None)],
)  # fmt: skip
def test_a_models_choice_is_read_or_nothing_is_selected(text: str, places: list[int] | None) -> None:
    assert read_selection(text, 3) == places

    class Model:
        name = "model"

        def complete(self, prompts, max_tokens):
            return [Completion(text, 1, 1, True)]

    selector = ModelSelector(Model())
    assert selector.rank("x", SITUATIONS) == (places or [])
    assert selector.unread == (places is None)


def test_likeness_of_texts() -> None:
    assert similarity("a train to Graz", "Graz, by TRAIN") == pytest.approx(1.0)
    assert similarity("train", "boat") == similarity("", "boat") == 0.0
