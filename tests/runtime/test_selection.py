"""Selecting situations: lexical ranking, and answers of a model read or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from intentfold.asset import Quotation, Situation
from intentfold.runtime.embeddings import EmbeddingSelector, OpenAIEmbedder, cosine
from intentfold.runtime.journal import Journal
from intentfold.runtime.roles import BackendError, Completion
from intentfold.runtime.selection import LexicalSelector, ModelSelector, read_selection, similarity
from tests.served import serving

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


class Counts:
    """Vectors of how often three letters occur; every character is a token."""

    name = "counts"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, text: str) -> tuple[list[float], int]:
        self.asked.append(text)
        return [float(text.count(letter)) for letter in "xyz"], len(text)


def test_vectors_rank_by_cosine_and_are_asked_for_once(tmp_path: Path) -> None:
    situations = [Situation("xxxx"), Situation("xy"), Situation("y", excerpts=(Quotation("yyyz", "h:0"),)), Situation("xy")]
    embedder = Counts()
    selector = EmbeddingSelector(embedder, Journal(tmp_path / "j"), most=3)
    # Cosines with (1, 3, 0): 1/√10, 4/√20, 12/√170, 4/√20.
    assert selector.rank("xyyy", situations) == [2, 1, 3]
    assert (selector.tokens, selector.indexed) == (4, 4 + 2 + 6)
    assert selector.rank("xyyy", situations) == [2, 1, 3]
    assert (selector.tokens, selector.indexed) == (8, 12)
    assert embedder.asked == ["xxxx", "xy", "y yyyz", "xyyy"]
    again = EmbeddingSelector(Counts(), Journal(tmp_path / "j"))
    assert again.rank("xyyy", situations) == [2]
    assert again.embedder.asked == []
    assert again.rank("none", []) == []


def test_cosines() -> None:
    assert cosine([1.0, 2.0], [2.0, 4.0]) == pytest.approx(1.0)
    assert cosine([1.0, 0.0], [0.0, 3.0]) == cosine([0.0, 0.0], [1.0, 1.0]) == 0.0
    with pytest.raises(ValueError, match="zip"):
        cosine([1.0], [1.0, 2.0])


def test_vectors_from_an_endpoint_and_its_failures() -> None:
    asked = []

    def answer(path: str, body: dict) -> dict | int:
        asked.append((path, body["model"], body["input"]))
        if body["input"] == "fail":
            return 400
        vector = {"object": "embedding", "index": 0, "embedding": [0.5, float(len(body["input"]))]}
        return {"object": "list", "model": "e", "data": [vector], "usage": {"prompt_tokens": 3, "total_tokens": 3}}

    with serving(answer) as url:
        embedder = OpenAIEmbedder(url, "e", retries=0)
        assert embedder.embed("four") == ([0.5, 4.0], 3)
        assert asked == [("/v1/embeddings", "e", "four")]
        assert embedder.name == f"{url}#e"
        with pytest.raises(BackendError, match="refused"):
            embedder.embed("fail")


def test_likeness_of_texts() -> None:
    assert similarity("a train to Graz", "Graz, by TRAIN") == pytest.approx(1.0)
    assert similarity("train", "boat") == similarity("", "boat") == 0.0
