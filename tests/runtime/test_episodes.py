"""What each condition shows, and the executor's score under it."""

from __future__ import annotations

import pytest

from intentfold.dialogue import Turn
from intentfold.graders import grade
from intentfold.runtime.episodes import CONTROLS, control_view, track, tracker_view
from intentfold.runtime.gate import answer_through_gate
from intentfold.runtime.scripted import ExecutorAgent, null_backend, oracle_backend
from tests.episodes import episode, house, small_house, table_task


@pytest.mark.parametrize(("condition", "full"), [("clean", True), ("no_drift", True), ("drift", False), ("oracle_state", True)])
def test_the_executor_under_each_control(condition, full) -> None:
    view = control_view(house(), condition, executor=True)
    [gated] = answer_through_gate(ExecutorAgent(), [view])
    assert grade(house().task, gated.answer).full is full


def test_a_model_sees_dialogues_and_the_state_only_where_it_should() -> None:
    story = house()
    views = {condition: control_view(story, condition, executor=False) for condition in CONTROLS}
    assert views["clean"].dialogue == (Turn("user", story.clean),)
    assert views["no_drift"].dialogue == story.no_drift
    assert views["drift"].dialogue == views["oracle_state"].dialogue == story.drift()
    assert [view.items is None for view in views.values()] == [True, True, True, False]


def test_the_tracker_condition_shows_what_the_trackers_made_of_it() -> None:
    formal = episode(
        table_task(), "f", *[(t.user, t.edits, t.reply) for t in small_house().turns[:2]], ("Answer with JSON only.", (), "")
    )
    episodes = [house(), formal]
    folds = track(episodes, oracle_backend(episodes))
    assert {item.text for item in tracker_view(episodes[0], folds[0]).items or ()} == {"city: Lisbon", "guests: 3"}
    assert [item.text for item in tracker_view(formal, folds[1]).items or ()][-1] == "answer with JSON only"
    assert tracker_view(formal, track([formal], null_backend())[0]).dialogue == formal.drift()
