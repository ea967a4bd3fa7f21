"""E2E and ToTTo: values in people's words, references that say all of them, and what must not be said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from intentfold.graders import bleu, grade, reference_answer
from intentfold.sources.e2e import load_e2e
from intentfold.sources.loading import LoadReport, SourceError
from intentfold.sources.totto import load_totto
from tests.sources.verdicts import assert_own_goals_answer, decoys, sample, share_that_costs_credit, variants, verdict

MEANING = "name[The Mill], eatType[pub], priceRange[high], familyFriendly[no], near[Raja Indian Cuisine]"
WHOLE = "The Mill is an expensive pub near Raja Indian Cuisine. It is not a family-friendly place."
PARTIAL = "The Mill is a pub near Raja Indian Cuisine."


def e2e(folder: Path, *rows: tuple[str, str]) -> LoadReport:
    lines = ["mr,ref", *(f'"{meaning}","{text}"' for meaning, text in rows)]
    (folder / "devset.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return load_e2e(folder)


def test_references_are_the_texts_that_say_every_value(tmp_path: Path) -> None:
    [task] = e2e(tmp_path, (MEANING, PARTIAL), (MEANING, WHOLE)).tasks
    assert task.payload["reference"]["references"] == [WHOLE] and task.payload["benchmark_split"] == "dev"
    assert grade(task, reference_answer(task)).full and bleu(task, WHOLE) > 99
    assert grade(task, PARTIAL).value == pytest.approx(3 / 5)
    assert e2e(tmp_path, (MEANING, PARTIAL)).skipped == {"no text that says every value in words that are known": 1}


@pytest.mark.parametrize(
    ("text", "full"),
    [
        (WHOLE.replace("expensive", "high priced"), True),
        (WHOLE.replace("expensive", "cheap"), False),
        (WHOLE.replace("expensive", "cheap and expensive"), False),
        (WHOLE.replace("is not a", "is a"), False),
        (WHOLE + " It serves Indian food.", True),  # "Indian" cannot be told from the landmark's name
        (WHOLE + " It serves French food.", False),
        (WHOLE + " There is live jazz.", False),
    ],
)
def test_what_a_text_says_decides(text: str, full: bool, tmp_path: Path) -> None:
    [task] = e2e(tmp_path, (MEANING, WHOLE)).tasks
    assert grade(task, text).full is full


def test_e2e_goals_variants_and_decoys_have_consequences(tmp_path: Path) -> None:
    [task] = e2e(tmp_path, (MEANING, WHOLE)).tasks
    assert [goal.slot for goal in task.goals][:2] == ["name of the place", "type of place"]
    assert_own_goals_answer([task])
    assert share_that_costs_credit(task, variants(task)) == 1
    harmless = [decoy.value for decoy in decoys(task) if verdict(task, (*task.goals, decoy)).full]
    assert len(decoys(task)) >= 6 and set(harmless) <= {"Indian"}, "the landmark's name hides it: construction leaves it out"


def test_malformed_meanings_are_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"devset.csv:2: field mr: unknown attributes \['colour'\]"):
        e2e(tmp_path, ("name[The Mill], colour[red]", WHOLE))
    with pytest.raises(SourceError, match=r"devset.csv:2: field mr: no attributes as in"):
        e2e(tmp_path, ("The Mill", WHOLE))


def cell(value: str, *, header: bool = False, width: int = 1) -> dict[str, object]:
    return {"value": value, "is_header": header, "column_span": width, "row_span": 1}


FIGHT = {
    "example_id": 42,
    "table_page_title": "Ring nights",
    "table_section_title": "Results",
    "table": [
        [cell("Event", header=True), cell("Day", header=True), cell("Place", header=True, width=2)],
        [cell("Ring 4"), cell("7 May"), cell("Old Hall"), cell("Porto")],
        [cell("Ring 3"), cell("2 May"), cell("Town Hall"), cell("Faro")],
    ],
    "highlighted_cells": [[2, 0], [2, 1], [2, 2]],
    "sentence_annotations": [
        {"final_sentence": "Ring 3 was held in the Town Hall."},
        {"final_sentence": "The Town Hall saw Ring 3."},
    ],
}


def totto(folder: Path, **changes: object) -> LoadReport:
    (folder / "totto_dev_data.jsonl").write_text(json.dumps({**FIGHT, **changes}) + "\n")
    return load_totto(folder)


def test_totto_asks_for_the_highlighted_cells_that_every_reference_says(tmp_path: Path) -> None:
    [task] = totto(tmp_path).tasks
    assert [(goal.slot, goal.value) for goal in task.goals] == [("Event", "Ring 3"), ("Place", "Town Hall")]
    assert task.payload["parameters"]["Event"]["values"] == ["Ring 4"]
    assert all(grade(task, text).full for text in task.payload["reference"]["references"])
    assert not grade(task, "Ring 3 was held in the Town Hall of Faro.").full, "Faro is a cell that nobody asked for"
    assert_own_goals_answer([task])
    assert share_that_costs_credit(task, variants(task)) == 1
    assert len(decoys(task)) >= 5 and not any(verdict(task, (*task.goals, decoy)).full for decoy in decoys(task))


def test_totto_without_a_cell_in_the_tables_words_makes_no_task(tmp_path: Path) -> None:
    report = totto(tmp_path, highlighted_cells=[[2, 1]])
    assert report.tasks == () and sum(report.skipped.values()) == 1
    with pytest.raises(SourceError, match=r"totto_dev_data.jsonl:1: field highlighted_cells: there is no cell \[2, 4\]"):
        totto(tmp_path, highlighted_cells=[[2, 4]])


def test_the_real_meanings_make_tasks_whose_own_goals_answer_them(real: Callable[[str], LoadReport]) -> None:
    report = real("e2e")
    assert len(report.tasks) >= 520 and sum(report.skipped.values()) <= 27
    assert_own_goals_answer(sample(report.tasks, 40))
    assert all(grade(task, reference_answer(task)).full for task in sample(report.tasks, 40))
