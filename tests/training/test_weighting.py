"""What tokens weigh: by the line that they stand in, and by how their row came out."""

# ruff: noqa: E402
from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from intentfold.codec.edits import line_operations
from intentfold.intent import Edit, IntentState, fold
from intentfold.training.outcomes import still_passes
from intentfold.training.weighting import OPERATIONS, Reading, Weighting, mean_one, token_operations
from tests.episodes import episode as build
from tests.episodes import table_task
from tests.tiny import tiny_tokenizer


class Words:
    """A tokenizer of whole pieces of text."""

    def __init__(self, *pieces: str) -> None:
        self.pieces = pieces

    def batch_decode(self, rows, skip_special_tokens):
        assert skip_special_tokens
        return ["".join(self.pieces[id] for id in ids) for ids in rows]


def named(places):
    return [OPERATIONS[place] for place in places]


def test_every_token_has_the_operation_of_its_line():
    tokenizer = tiny_tokenizer()
    text = "SET seats: 3\nDELETE day\nné"
    state = fold(IntentState(), [Edit("ADD", slot="day", value="Monday")])
    ids = [*tokenizer(text)["input_ids"], tokenizer.eos_token_id]
    found = named(token_operations(tokenizer, ids, line_operations(text, state)))
    # é is two bytes, and the stop token belongs to the last line.
    assert found == ["ADD"] * len("SET seats: 3\n") + ["DELETE"] * len("DELETE day\n") + ["REJECTED"] * 4


def test_a_token_over_a_line_feed_belongs_to_the_line_in_which_it_begins():
    tokenizer = Words("SET a: b", "\nDEL", "ETE c\n\n", "NO", "")
    found = token_operations(tokenizer, [0, 1, 2, 3, 4], ("ADD", "DELETE", "DELETE", "REJECTED"))
    assert named(found) == ["ADD", "ADD", "DELETE", "REJECTED", "REJECTED"]
    assert token_operations(tokenizer, [0, 1], ()) == [-1, -1]


def test_a_tokens_weight_is_that_of_its_line_times_that_of_its_row():
    tokenizer = Words("SET a: b", "\n", "SET c: d", "NONE", "")
    weighting = Weighting({"ADD": 3.0, "REPLACE": 0.5}, {"exact": 0.2, "failed": 4.0})
    readings = [Reading("failed", ("ADD", "REPLACE")), Reading("exact", ("NONE",)), Reading("wrong")]
    columns = weighting.columns(tokenizer, [[0, 1, 2, 4], [3, 4], [2]], readings)
    assert columns["weights"].tolist() == [[12.0, 12.0, 2.0, 2.0], [pytest.approx(0.2)] * 2 + [0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]
    assert named(columns["operations"][0]) == ["ADD", "ADD", "REPLACE", "REPLACE"]
    assert columns["operations"][1:].tolist() == [[OPERATIONS.index("NONE")] * 2 + [-1, -1], [-1] * 4]


def test_weights_are_scaled_to_a_mean_of_one_and_none_stays_none():
    weights = torch.tensor([[2.0, 2.0], [4.0, 0.0]])
    count = torch.tensor(3)
    assert mean_one(weights, weights.sum(), count).tolist() == [[0.75, 0.75], [1.5, 0.0]]
    ones = torch.ones(1, 3)
    assert torch.equal(mean_one(ones, ones.sum(), count), ones)
    nothing = torch.zeros(2, 2)
    assert torch.equal(mean_one(nothing, nothing.sum(), count), nothing)


# What a fold costs at the end


def add(slot, value):
    return Edit("ADD", slot=slot, value=value)


EPISODE = build(
    table_task(),
    "three",
    ("The city is Porto.", (add("city", "Porto"),), "Noted."),
    ("For 3 guests.", (add("guests", "3"),), "Noted."),
    ("Not Porto: the city is Lisbon.", (Edit("REPLACE", id=1, value="Lisbon"),), ""),
)


@pytest.mark.parametrize(
    ("turn", "edits", "passes"),
    [
        (2, [add("city", "Lisbon"), add("guests", "3")], True),
        (2, [add("city", "Porto"), add("guests", "3")], False),
        (2, [add("city", "Lisbon")], False),
        # Later turns mend the city; nothing mends the pool, which no one asked for.
        (0, [add("city", "Rome")], True),
        (0, [add("city", "Porto"), add("pool", "yes")], False),
    ],
)
def test_a_fold_is_graded_by_the_verdict_at_the_episodes_end(turn, edits, passes):
    assert still_passes(EPISODE, turn, fold(IntentState(), edits), 3) is passes


def test_what_no_code_grades_is_told_neither_way():
    from dataclasses import replace

    judged = replace(EPISODE, task=replace(EPISODE.task, answer_form="state"))
    assert still_passes(judged, 2, IntentState(), 3) is None
