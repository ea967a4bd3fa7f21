"""The report of a run: verdicts in words, and the worst cases with both states."""

from __future__ import annotations

from collections import Counter

import pytest

from intentfold.metrics.document import Text
from intentfold.metrics.page import comparison_blocks, verdict_words, worst_cases, write_pages, write_report
from intentfold.metrics.report import Row
from intentfold.metrics.state import fold_records
from intentfold.metrics.statistics import Comparison
from intentfold.records import write_jsonl
from intentfold.runtime.episodes import track
from intentfold.runtime.scripted import null_backend
from tests.episodes import house, small_house
from tests.pages import Page, check_page, in_browser

WORDS = [
    (Comparison(0.1, 0.05, 0.15, 40, 20, 0.02, 0.07, 900, 0.1, "superior"), ["is better", "40 cases of 20 source tasks"]),
    (Comparison(0.0, -0.01, 0.01, 40, 20, 0.02, 0.01, 30, 0.9, "equivalent"), ["is equivalent", "margin of 0.02"]),
    (Comparison(0.0, -0.01, 0.05, 40, 20, 0.02, 0.01, 90, 0.7, "non-inferior"), ["is not worse", "About 90 cases"]),
    (Comparison(-0.1, -0.2, -0.01, 40, 20, 0.02, 0.1, 900, 0.1, "inferior"), ["is worse"]),
    (
        Comparison(0.0, -0.1, 0.1, 10, 10, 0.02, 0.14, 4000, 0.1, "inconclusive"),
        ["cannot be told", "neither a difference nor its absence", "A difference of 0.140", "About 4000 cases"],
    ),
]


@pytest.mark.parametrize(("comparison", "parts"), WORDS)
def test_the_verdicts_in_words(comparison, parts) -> None:
    words = verdict_words("a_vs_b", comparison)
    assert all(part in words for part in parts)
    assert "equal" not in words.replace("equivalent", "")


def leave_a_run(folder, episodes, values) -> None:
    folds = track(episodes, null_backend())
    write_jsonl(folder / "folds.none.jsonl", fold_records(episodes, folds))
    cases = []
    for episode, value in zip(episodes, values, strict=True):
        for arm, condition, grade in (("-", "oracle_state", 1.0), ("none", "tracker", value)):
            graded = {"value": grade, "full": grade == 1.0, "reason": "<b>said</b>"}
            case = {"arm": arm, "condition": condition, "episode": episode.id, "answer": "an answer"}
            cases.append({**case, "broken": [], "left": [], "grade": graded})
    write_jsonl(folder / "cases.jsonl", cases)


def test_the_worst_cases_first_with_dialogue_and_states_side_by_side(tmp_path) -> None:
    episodes = [house("h1"), small_house("s1"), house("h2"), small_house("s2"), house("h3"), house("h4")]
    leave_a_run(tmp_path, episodes, [0.5, 1.0, 0.0, None, 0.25, 0.75])
    row = Row("none", "tracker", "mean_score", 0.5, 0.2, 0.8, 5, "executor")
    write_report(tmp_path, "Six episodes.", "executor", [row], {}, {"none": Counter({"a | reason": 2})}, episodes)
    page = (tmp_path / "report.html").read_text()
    assert [page.index(f"none: {name}, ") for name in ("h2", "h3", "h1")] == sorted(
        page.index(f"none: {name}, ") for name in ("h1", "h2", "h3")
    )
    assert "none: h4" not in page
    assert "none: s2" not in page
    assert "state of none at the end</b><pre>empty</pre>" in page
    assert "right state at the end</b><pre>city: Lisbon\nguests: 3</pre>" in page
    assert "Scratch that last one. Guests: 3." in page
    assert "&lt;b&gt;said&lt;/b&gt;" in page
    assert '<a href="folds.none.jsonl">' in page
    assert check_page(tmp_path / "report.html").tags.count("table") > 4
    markdown = (tmp_path / "report.md").read_text()
    assert "state executor: no model" in markdown
    assert "a \\| reason" in markdown
    before = page
    write_pages(tmp_path, episodes)
    assert (tmp_path / "report.html").read_text() == before


def test_without_episodes_there_are_no_worst_cases(tmp_path) -> None:
    assert worst_cases(tmp_path, ()) == []


def test_a_case_that_lost_nothing_is_no_worst_case(tmp_path) -> None:
    leave_a_run(tmp_path, [small_house("s1")], [1.0])
    assert worst_cases(tmp_path, [small_house("s1")]) == []


def test_words_for_every_comparison_that_is_not_secondary_with_its_own_clusters() -> None:
    one = WORDS[0][0]
    found = {"a, test": one, "b": one, "b, exact_state": one}
    said = [block.text for block in comparison_blocks(found, ["b, exact_state"], "users") if isinstance(block, Text)][1:]
    assert [text.split(":")[0] for text in said] == ["a, test", "b"]
    assert all("40 cases of 20 users" in text for text in said)
    nouns = {"a, test": "paragraphs", "b": "tasks", "b, exact_state": "tasks"}
    said = [block.text for block in comparison_blocks(found, (), nouns) if isinstance(block, Text)][1:]
    assert [text.split(" of 20 ")[1].split(")")[0] for text in said] == ["paragraphs", "tasks", "tasks"]


def test_secondary_comparisons_stay_so_when_the_page_is_written_anew(tmp_path) -> None:
    row = Row("none", "tracker", "mean_score", 0.5, 0.2, 0.8, 5, "executor")
    found = {"a, test": WORDS[0][0], "b, exact": WORDS[0][0]}
    write_report(tmp_path, "What.", "executor", [row], found, {}, secondary=["b, exact"])
    write_pages(tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert "a, test: the first is better" in page
    assert "b, exact: the first" not in page


def test_a_browser_shows_a_report_as_it_was_written(tmp_path) -> None:
    episodes = [house("h1"), small_house("s1")]
    leave_a_run(tmp_path, episodes, [0.5, 1.0])
    row = Row("none", "tracker", "mean_score", 0.5, 0.2, 0.8, 5, "executor")
    write_report(tmp_path, "Two episodes.", "executor", [row], {"a": WORDS[0][0]}, {"none": Counter({"r": 2})}, episodes)
    written = check_page(tmp_path / "report.html")
    shown = Page(in_browser(tmp_path / "report.html", tmp_path / "profile"))
    assert not shown.faults
    # A browser puts a <tbody> into each table, and changes nothing else.
    assert [tag for tag in shown.tags if tag != "tbody"] == written.tags
    assert shown.references == written.references
