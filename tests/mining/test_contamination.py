"""What counts as contaminated: each kind planted and found, near-duplicates against a comparison of all pairs."""

from __future__ import annotations

import json
import random
import re

import pytest

from intentfold.mining.contamination import Bounds, EvaluationIndex, Text
from intentfold.mining.texts import read_texts
from intentfold.records import to_json
from intentfold.sources.loading import SourceError
from tests.episodes import house

QUESTION = (
    "A ferry leaves the harbour at nine with forty passengers, and at each of its three stops five of them get off "
    "while eleven others come aboard; how many people are on it when it ties up at the end?"
)


def ways(text: str, *evaluation: str, bounds: Bounds | None = None, whole: bool = True) -> list[str]:
    index = EvaluationIndex([Text("set", str(n), one, True) for n, one in enumerate(evaluation)], bounds)
    return [hit.way for hit in index.hits(Text("train", "t", text, whole))]


def test_each_kind_is_found_where_it_was_planted() -> None:
    assert ways(QUESTION.upper().replace(",", " —"), QUESTION) == ["exact", "n-gram", "near-duplicate"]
    run = "On Monday, " + " ".join(QUESTION.split()[8:22]) + ", they said."
    assert ways(run, QUESTION) == ["n-gram"]
    # One word in twelve is another: no run of 13 is left, and most 3-grams are (52 of 88).
    long = [f"w{n}" for n in range(72)]
    swapped = ["other" if n % 12 == 6 else word for n, word in enumerate(long)]
    assert ways(" ".join(swapped), " ".join(long), bounds=Bounds(near=0.59)) == ["near-duplicate"]
    assert ways(" ".join(swapped), " ".join(long), bounds=Bounds(near=0.6)) == []
    assert ways("Nothing of the kind stands in there at all, whoever looks for it.", QUESTION) == []


def test_a_run_one_word_too_short_is_none() -> None:
    words = QUESTION.split()
    assert ways("so " + " ".join(words[3:16]) + " so", QUESTION) == ["n-gram"]
    assert ways("so " + " ".join(words[3:15]) + " so", QUESTION) == []


def test_a_short_part_is_a_commonplace_and_a_short_whole_is_not() -> None:
    assert ways("Make it three, please.", "make it three please", whole=False) == []
    assert ways("Make it three, please.", "make it three please") == ["exact"]


def test_what_many_evaluation_texts_share_is_boilerplate() -> None:
    frame = "You are an assistant that books trains for people and answers each of their questions in one plain sentence about"
    evaluation = [f"{frame} case {n}a {n}b {n}c {n}d {n}e {n}f" for n in range(40)]
    assert ways(f"{frame} quite another thing that nobody has asked before today", *evaluation) == []
    assert ways(f"{frame} quite another thing that nobody has asked before today", *evaluation[:5]) == ["n-gram"]
    assert ways(evaluation[7], *evaluation)[0] == "exact"


@pytest.mark.parametrize("near", [0.5, 0.7, 0.8, 1.0])
def test_near_duplicates_are_those_of_a_comparison_of_all_pairs(near: float) -> None:
    rng = random.Random(3)
    base = [[rng.choice("abcdefghijklmnop") for _ in range(rng.randint(3, 30))] for _ in range(60)]

    def changed(words: list[str]) -> list[str]:
        return [rng.choice("abcdefghijklmnop") if rng.random() < 0.06 else word for word in words][rng.randint(0, 2) :]

    train = [" ".join(changed(rng.choice(base))) for _ in range(200)]
    evaluation = [" ".join(words) for words in base]
    index = EvaluationIndex([Text("set", str(n), one, True) for n, one in enumerate(evaluation)], Bounds(run=100, near=near))

    def shingles(text: str) -> set[tuple[str, ...]]:
        words = text.split()
        return {tuple(words[n : n + 3]) for n in range(len(words) - 2)}

    def naive(text: str) -> bool:
        mine = shingles(text)
        pairs = [(len(mine & one), len(mine | one)) for one in map(shingles, evaluation) if len(one) >= 4]
        return len(mine) >= 4 and any(shared >= near * either - 1e-9 for shared, either in pairs)

    wanted = [naive(text) for text in train]
    assert any(wanted) and not all(wanted)
    found = [any(hit.way == "near-duplicate" for hit in index.hits(Text("train", "t", text, True))) for text in train]
    assert found == wanted


def test_texts_of_traces_examples_messages_and_any_record(tmp_path) -> None:
    episode = house("h1")
    example = {
        "messages": [
            {"role": "system", "content": "Write."},
            {"role": "user", "content": "State:\nUser: In Lisbon.\nAgent: Ok."},
        ],
        "completion": "SET city: Lisbon",
        "provenance": {"episode": "h1"},
    }
    chat = {"id": "c", "messages": [{"role": "user", "content": "Hello there."}, {"role": "assistant", "content": "Hi."}]}
    free = {"question": "Why?", "more": {"answers": ["Because.", 3]}}
    path = tmp_path / "some.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in (to_json(episode), example, chat, free)))
    found: dict[str, list[str]] = {}
    for text in read_texts("some", path):
        found.setdefault(text.id, []).append(text.words)
    assert found["h1"][1:] == [turn.user for turn in episode.turns]
    assert found[f"{path}:2"][1:] == ["State:", "In Lisbon.", "Ok.", "SET city: Lisbon"]
    assert found["c"] == ["Hello there. Hi.", "Hello there.", "Hi."]
    assert found[f"{path}:4"] == ["Why? Because.", "Why?", "Because."]


def test_csv_json_and_what_cannot_be_read(tmp_path) -> None:
    (tmp_path / "a.csv").write_text("question,answer\nHow many?,Two.\n")
    assert [text.words for text in read_texts("a", tmp_path / "a.csv")] == ["How many? Two.", "How many?", "Two."]
    (tmp_path / "a.json").write_text('["one line"]')
    assert [(text.words, text.whole) for text in read_texts("a", tmp_path / "a.json")] == [("one line", True)]
    (tmp_path / "a.jsonl").write_text('{"a": "b"}\n{oops\n')
    with pytest.raises(SourceError, match=re.escape(f"{tmp_path / 'a.jsonl'}:2: not JSON")):
        list(read_texts("a", tmp_path / "a.jsonl"))
    with pytest.raises(SourceError, match="expected a name ending in"):
        list(read_texts("a", _touched(tmp_path / "a.txt")))
    with pytest.raises(SourceError, match="benchmark of its name"):
        list(read_texts("nothing", tmp_path))


@pytest.mark.parametrize(
    "record",
    [
        {"turns": ["Words."], "task": {}},
        {"turns": [{"said": "Words."}], "task": {}},
        {"turns": [{"user": "Words.", "branches": None}], "task": {}},
        {"turns": [{"user": "Words.", "branches": [5]}], "task": {}},
        {"messages": ["Words."]},
        {"messages": [{"text": "Words."}]},
        {"messages": [{"content": "Words."}], "completion": "", "provenance": {}},
        {"messages": [{"role": "user", "content": [{"text": "Words."}]}], "completion": "", "provenance": {}},
    ],
)
def test_records_that_only_begin_like_a_known_kind_are_read_as_any_record(record, tmp_path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps(record) + "\n")
    [whole, *_] = read_texts("a", tmp_path / "a.jsonl")
    assert "Words." in whole.words


def test_a_csv_is_read_whatever_its_length_and_refused_by_name(tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("\ufeffid,text\n7," + "word " * 40000 + "\n")
    [whole, *_] = read_texts("a", path)
    assert whole.id == "7" and whole.words.split().count("word") == 40000
    path.write_bytes(b"text\n\xff\n")
    with pytest.raises(SourceError, match=re.escape(f"{path}: not readable after line")):
        list(read_texts("a", path))


def _touched(path):
    path.touch()
    return path
