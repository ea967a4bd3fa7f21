"""Scores of one case by hand, and each way in which one can be missing."""

from __future__ import annotations

import pytest

from intentfold.intent import IntentState
from intentfold.metrics.case_scores import SCORERS, case_rows
from intentfold.runtime.inspect_task import CaseScore
from intentfold.runtime.outcome import Outcome
from intentfold.runtime.roles import BackendError, Completion
from intentfold.runtime.scripted import CannedBackend
from tests.episodes import house, small_house


class Away:
    name = "away"

    def complete(self, prompts, max_tokens):
        raise BackendError("502")


class Writes:
    def __init__(self, text: str, stopped: bool = True) -> None:
        self.name, self.text, self.stopped = "writes", text, stopped
        self.asked: list[str] = []

    def complete(self, prompts, max_tokens):
        self.asked += [prompt[-1].content for prompt in prompts]
        return [Completion(self.text, 1, 1, self.stopped) for _ in prompts]


# The tracker holds the first of two goals.
HALF = Outcome("an answer", small_house().drift(), (), (small_house().turns[0].state,))
JUDGED = [
    (Writes("1-1"), {"recovered": 0.5}, "1 of 2 goals"),
    (Writes("NONE"), {"recovered": 0.0}, "0 of 2 goals"),
    (Writes("1-1", stopped=False), None, "evaluator error: the judge's answer was cut off"),
    (Writes("1-3"), None, "evaluator error: '1-3' names none of 1 predicted and 2 gold"),
    (Away(), None, "api error: 502"),
]


@pytest.mark.parametrize(("judge", "values", "reason"), JUDGED)
def test_what_a_judge_finds_recovered(judge, values, reason) -> None:
    found = SCORERS["judge"].find(small_house(), HALF, {"judge": judge})
    assert (found.values, found.reason[: len(reason)]) == (values, reason)


def test_an_empty_state_recovers_nothing_and_the_judge_is_not_asked() -> None:
    found = SCORERS["judge"].find(small_house(), Outcome("x", ()), {"judge": Away()})
    assert found.values == {"recovered": 0.0}


CHECKED = [
    (Writes("met"), {"passed": 1.0}, ""),
    (Writes("not applicable"), {"passed": 1.0}, ""),
    (Writes("unmet: no"), {"passed": 0.0}, "city: Lisbon: no; guests: 3: no"),
    (Writes("well"), None, "not assessed: city: Lisbon; guests: 3"),
    (Away(), None, "502"),
]


@pytest.mark.parametrize(("checker", "values", "reason"), CHECKED)
def test_what_a_checker_says_of_the_answer(checker, values, reason) -> None:
    found = SCORERS["checker"].find(small_house(), HALF, {"checker": checker})
    assert (found.values, found.reason) == (values, reason)


def test_a_checker_is_asked_about_goals_and_conventions_of_the_oracle_alone() -> None:
    checker = Writes("met")
    story = house()
    assert story.turns[2].state.of_kind("conclusion")  # a conclusion holds here
    cut = type(story)(**{field: getattr(story, field) for field in story.__slots__} | {"turns": story.turns[:3]})
    SCORERS["checker"].find(cut, HALF, {"checker": checker})
    assert [said.rpartition("Requirement: ")[2] for said in checker.asked] == ["city: Porto", "guests: 3", "garden: yes"]
    assert all("an answer" in said for said in checker.asked)


def test_the_task_grades_the_answer() -> None:
    found = SCORERS["task_grade"].find(small_house(), Outcome("no call", ()), {"judge": CannedBackend({})})
    assert found.values == {"value": 0.0, "full": 0.0}


def test_rows_by_hand() -> None:
    one, two = small_house("one"), small_house("two")
    scores = [
        CaseScore("one", 1, "task_grade", {"value": 1.0, "full": 1.0}, ""),
        CaseScore("one", 2, "task_grade", {"value": 0.5, "full": 0.0}, ""),
        CaseScore("two", 1, "task_grade", {"value": 0.25, "full": 0.0}, ""),
        CaseScore("two", 2, "task_grade", None, "no sandbox"),
        *(CaseScore(case, epoch, "judge", None, "502") for case in ("one", "two") for epoch in (1, 2)),
    ]
    found = {row.metric: (row.mean, row.n) for row in case_rows("tracker", "tracker", "executor", [one, two], scores, 2)}
    assert found == {
        "mean_score": (0.5, 2),  # 0.75 and 0.25
        "coverage": (0.75, 2),
        "car": (0.25, 2),  # one of two epochs, none of two
        "judged_recovery": (None, 0),
        "judged_recovery coverage": (0.0, 2),
    }
    assert IntentState() == Outcome("x", ()).state
