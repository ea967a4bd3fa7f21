"""Examples of branches: the same prompt but for the last line, and targets of their own."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from pathlib import Path

import pytest

from intentfold.construct.episode import Style, build_episode
from intentfold.intent import IntentState
from intentfold.mining.card import write_dataset
from intentfold.mining.examples import corrupted_examples, oracle_examples
from intentfold.mining.examples import example as build_example
from intentfold.mining.targets import supported_edits
from intentfold.prompts.tracker import WINDOW
from tests.tasks import flight_task
from tests.tiny import script

EPISODES = [build_episode(flight_task(), 3, "train", "train", seed, style=Style(branches=2)) for seed in range(6)]


def test_a_branch_shares_all_but_the_last_line() -> None:
    for episode in EPISODES:
        examples = list(oracle_examples(episode))
        assert len(examples) == 3 * len(episode.turns)
        for main in range(0, len(examples), 3):
            one, *others = examples[main : main + 3]
            assert [e.provenance.branch for e in (one, *others)] == [0, 1, 2]
            for other in others:
                assert other.provenance.turn == one.provenance.turn
                assert other.messages[0] == one.messages[0]
                assert other.messages[1].content.splitlines()[:-1] == one.messages[1].content.splitlines()[:-1]


def test_an_example_says_what_each_line_of_its_completion_folds_to() -> None:
    for episode in EPISODES:
        before = IntentState()
        for turn, step in enumerate(episode.turns):
            example = build_example(episode, turn, before, "oracle")
            edits = supported_edits(before, episode, turn, WINDOW)
            assert example.provenance.operations == (tuple(edit.op for edit in edits) or ("NONE",))
            assert len(example.provenance.operations) == len(example.completion.split("\n"))
            assert build_example(episode, turn, before, "oracle", codec="full").provenance.operations == ()
            before = step.state


@pytest.mark.parametrize("count", [1, 10, 30])
def test_a_draw_keeps_the_examples_of_a_turn_together(count: int) -> None:
    examples = [example for episode in EPISODES for example in oracle_examples(episode)]
    drawn = script("data_gen/mine_examples.py").drawn(examples, count, random.Random(0), whole_dialogues=False)
    assert len(drawn) == count
    where = [(e.provenance.episode, e.provenance.turn) for e in drawn]
    for start in range(0, count - 2, 3):
        assert len(set(where[start : start + 3])) == 1
    assert len(set(where)) == -(-count // 3)


def test_a_draw_keeps_the_examples_of_a_whole_dialogue_together() -> None:
    examples = [example for episode in EPISODES for example in oracle_examples(episode, window=None)]
    corrupted = [one for episode in EPISODES for one in corrupted_examples(episode, random.Random(0), share=1.0, window=None)]
    drawn = script("data_gen/mine_examples.py").drawn([*examples, *corrupted], 60, random.Random(0), whole_dialogues=True)
    where = [example.provenance.episode for example in drawn]
    assert len(where) == 60
    assert sum(a != b for a, b in itertools.pairwise(where)) == len(set(where)) - 1


def test_a_card_shows_markup_of_the_data_as_words(tmp_path: Path) -> None:
    one = next(iter(oracle_examples(EPISODES[0])))
    odd = replace(one, provenance=replace(one.provenance, family="<script>x</script>|a\n\n# evil", license="MIT\n---\n<b>"))
    write_dataset(tmp_path, {"train": [odd]}, {})
    body = (tmp_path / "README.md").read_text().split("# Tracker examples")[1]
    assert "<script>" not in body
    assert "\n# evil" not in body
    assert "&lt;script&gt;x&lt;/script&gt;\\|a # evil 1" in body
    assert "Licences: MIT --- &lt;b&gt; 1." in body
