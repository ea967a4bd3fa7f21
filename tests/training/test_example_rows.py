"""Mined examples as rows of on-policy distillation: their order, what stands together, what is made of outputs."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("torch")

from intentfold.mining.card import write_dataset
from intentfold.training.data import DataError
from intentfold.training.example_rows import ExampleRows, GroupOrder, load_example_rows
from intentfold.training.preflight import PreflightError
from intentfold.training.weighting import Reading
from tests.tiny import tiny_checker_dataset, tiny_dataset, tiny_examples, tiny_judgements

EXAMPLES = tiny_judgements(outputs=5, questions=3)


def test_groups_follow_one_another_and_what_does_not_fit_comes_next():
    groups = [[0, 1, 2], [3], [4, 5]]
    order = GroupOrder(groups, rows=4, steps=6, repeat=2, seed=0)
    found = list(order)
    assert len(found) == len(order) == 4 * 6 * 2
    steps = [found[start : start + 8] for start in range(0, len(found), 8)]
    assert all(step[:4] == step[4:] for step in steps)
    flat = [place for step in steps for place in step[:4]]
    for start in range(0, 24, 6):  # each pass holds every example once, groups whole
        passed = flat[start : start + 6]
        assert sorted(passed) == [0, 1, 2, 3, 4, 5]
        assert all(" ".join(map(str, group)) in " ".join(map(str, passed)) for group in groups)
    assert list(GroupOrder(groups, 4, 6, 2, 0)) == found != list(GroupOrder(groups, 4, 6, 2, 1))


def test_examples_of_one_output_stand_together_however_they_are_stored():
    scattered = ExampleRows([*EXAMPLES[::2], *EXAMPLES[1::2]])
    places = list(scattered.order(rows=15, steps=1, repeat=1, seed=3))
    asked = scattered.begin([scattered.rows()[place] for place in places], 0, 0)
    assert [one.example.provenance.episode for one in asked[::3]] == [one.example.provenance.episode for one in asked[2::3]]
    assert scattered.together(asked) == [n // 3 for n in range(15)]
    assert {one.name for one in asked} == {f"{one.example.provenance.episode}:1 (row {one.place})" for one in asked}
    assert len({one.name for one in asked}) == 15


def test_a_row_asks_what_its_example_does():
    (one,) = ExampleRows(EXAMPLES).begin([{"example": 4}], 0, 0)
    assert one.prompt() == [{"role": turn.role, "content": turn.content} for turn in EXAMPLES[4].messages]
    assert one.privileged_prompt()[1]["content"] == one.prompt()[1]["content"] + f"\nRight answer: {one.completion()}"
    assert ExampleRows(EXAMPLES).from_oracle(one) == one


def test_outputs_are_compared_with_the_executed_verdicts():
    rows = ExampleRows(EXAMPLES)
    asked = rows.asked[:3]  # met; unmet: no tea; not applicable
    table = {
        ("met", "unmet: no tea", " not applicable\n"): ([1, 1, 1], [1, 1, 1], [0, 0, 0]),
        ("MET", "unmet: cold", "met"): ([0, 0, 0], [1, 1, 0], [0, 0, 0]),
        ("fine", "", "not applicable because"): ([0, 0, 0], [0, 0, 0], [1, 1, 1]),
    }
    for outputs, (exact, right, unread) in table.items():
        assert rows.finish(asked, outputs) == {"exact": exact, "right_verdict": right, "not_assessed": unread}
    learner = [replace(one, provenance=replace(one.provenance, codec="asset")) for one in EXAMPLES[:1]]
    assert ExampleRows(learner).finish(ExampleRows(learner).asked, ["met"]) == {"exact": [1.0]}


def test_a_row_is_exact_with_the_right_verdict_and_has_no_operations():
    rows = ExampleRows(EXAMPLES)
    readings = rows.readings(rows.asked[:3], ["MET", "unmet: cold", "met"])
    assert readings == [Reading("exact"), Reading("exact"), Reading("wrong")]
    learner = ExampleRows([replace(one, provenance=replace(one.provenance, codec="asset")) for one in EXAMPLES[1:2]])
    assert learner.readings(learner.asked * 2, ["unmet: cold", " unmet: no tea"]) == [Reading("wrong"), Reading("exact")]


def test_bad_data_is_told(tmp_path):
    supply = load_example_rows(tiny_checker_dataset(tmp_path / "good"), 24, "checker")
    assert (len(supply.source.rows()), len(supply.asked), len(supply.gate)) == (24, 24, 3)
    with pytest.raises(PreflightError, match=r"split train: 24 rows are fewer than one optimizer step takes \(25\)"):
        load_example_rows(tmp_path / "good", 25, "checker")
    with pytest.raises(PreflightError, match=r"the examples are for the checker \(codec verdict\), the run trains a learner"):
        load_example_rows(tmp_path / "good", 8, "learner")
    with pytest.raises(PreflightError, match="the examples are for the tracker"):
        load_example_rows(tiny_dataset(tmp_path / "tracker"), 8, "checker")
    with pytest.raises(DataError, match=r"train\.jsonl: no such file"):
        load_example_rows(tmp_path / "none", 8, "checker")
    write_dataset(tmp_path / "mixed", {"train": tiny_judgements(), "dev": tiny_examples(1)}, {})
    with pytest.raises(PreflightError, match="rendered with different templates"):
        load_example_rows(tmp_path / "mixed", 8, "checker")
