"""The scripted teacher's thoughts on episodes that were worked on paper."""

from __future__ import annotations

from intentfold.codec.verdict import Judgement
from intentfold.graders import grade
from intentfold.intent import Edit, IntentState, fold
from intentfold.mining.walks import change_line, clean_walk, drift_walk, fold_walk, judgement_walk
from tests.episodes import episode, house, table_task
from tests.tiny import tiny_judgements


def test_the_house_turn_by_turn() -> None:
    thought, answer = drift_walk(house())
    assert thought.split("\n") == [
        "Turn 1: add city: Porto; add pool: yes",
        "Turn 2: withdraw pool: yes; add guests: 3",
        "Turn 3: add garden: yes; add conclusion beds: 3",
        "Turn 4: replace city: Porto by Lisbon, and conclusion beds: 3 falls with it",
        "Turn 5: withdraw garden: yes",
        "Turn 6: nothing changes",
        "Holds now:",
        "city: Lisbon",
        "guests: 3",
    ]
    assert grade(house().task, answer).full


def test_the_clean_request_is_one_turn() -> None:
    thought, answer = clean_walk(house())
    assert thought.split("\n") == ["Turn 1: add city: Lisbon; add guests: 3", "Holds now:", "city: Lisbon", "guests: 3"]
    assert grade(house().task, answer).full


def test_conventions_of_the_form_hold_too_and_are_kept() -> None:
    story = episode(table_task(), "e", ("A house. In a fenced json block.", (Edit("ADD", slot="guests", value="3"),), ""))
    thought, answer = drift_walk(story)
    assert thought.endswith("Holds now:\nguests: 3\nformat answer in a fenced json block")
    assert answer.startswith("```json\n")


def test_one_fold_and_nothing_at_all() -> None:
    state = fold(IntentState(), (Edit("ADD", slot="seats", value="3"), Edit("ADD", text="no stairs")))
    assert fold_walk(state, (Edit("DELETE", id=1),)) == "This turn: withdraw seats: 3\nHolds now:\nno stairs"
    assert fold_walk(IntentState(), ()) == "This turn: nothing changes\nHolds now: nothing"
    assert change_line(state, (Edit("REPRIORITIZE", id=1, priority="must"),)) == "make seats: 3 must"
    assert change_line(state, (Edit("REPLACE", id=2, text="</think>\na lift"),)) == (
        "replace no stairs by \\u003c/think>\\na lift"
    )


def test_a_judgement_says_what_is_asked_where_it_looked_and_what_it_found() -> None:
    met, unmet, _ = tiny_judgements(1, 3)
    assert judgement_walk(met, Judgement("met")).split("\n") == [
        "Why: why 0",
        "Requirement: want 0",
        # `0` is all that it has in common with two lines: the later one counts.
        "Looked at: Table 0 is laid: cups, plates and 2 spoons stand ready, the window is open.",
        "The output does this.",
    ]
    assert judgement_walk(unmet, Judgement("unmet", "no tea")).endswith("The output goes against this: no tea.")
