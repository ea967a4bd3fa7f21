"""Grades and rows of the interactive track, against tables worked by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from intentfold.dialogue import Observation, Output
from intentfold.domains.registry import service_of
from intentfold.graders import Grade
from intentfold.metrics.interactive import Bench, ReferenceGrader, RubricGrader, condition_rows, graded
from intentfold.metrics.rubrics import ModelRubricJudge
from intentfold.metrics.scores import Case
from intentfold.runtime.interactive import Limits, Played
from intentfold.runtime.lockstep import Lost
from intentfold.runtime.roles import BackendError, Completion, Prompt
from intentfold.sources.vitabench import load_interactive
from intentfold.task import SourceTask
from tests.services import RUBRICS, episodes, record, written


class Judge:
    """Says what stands for the rubric in `words`, and keeps the prompts; without a word for it, fails."""

    name = "judge"

    def __init__(self, **words: str) -> None:
        self.words, self.prompts = words, list[Prompt]()

    def complete(self, prompts: Sequence[Prompt], max_tokens: int) -> list[Completion]:
        self.prompts += prompts
        if "fail" in self.words:
            raise BackendError("down")
        soup = self.words.get("soup", "MET")
        return [Completion(soup if RUBRICS[0] in one[-1].content else "MET", 1, 1, True) for one in prompts]


def task(folder: Path, **more: Any) -> SourceTask:
    [found] = load_interactive(written(folder, record("7", **more)) / "vitabench").unverified
    return found


def worked(task: SourceTask, calls: Sequence[tuple[str, dict[str, str]]], errors: tuple[str, ...] = ()) -> Played:
    tools = {tool.name: tool for tool in service_of("delivery").tools(task.payload["environment"])}
    made: list[Observation] = []
    for name, arguments in calls:
        made.append(tools[name].call(arguments, tuple(made)))
    return Played((("A soup please", Output("Ordered.", tuple(made))),), errors, 3)


def wanted(task: SourceTask) -> list[tuple[str, dict[str, str]]]:
    payload = task.payload
    return service_of("delivery").reference_calls(payload["environment"], payload["reference"]["orders"])


def test_a_judge_sees_the_run_and_the_orders_and_what_it_cannot_say_is_ungraded(tmp_path: Path) -> None:
    found = task(tmp_path)
    run = worked(found, wanted(found))
    backend = Judge(soup="UNMET")
    assert RubricGrader(ModelRubricJudge(backend)).grade(found, run) == Grade(0.5, False, "1 of 2 rubrics met")
    shown = backend.prompts[0][-1].content
    assert "User: A soup please\nCall create_order:" in shown and "Assistant: Ordered." in shown
    assert '"status":"paid"' in shown.partition("At the end:")[2]
    assert RubricGrader(ModelRubricJudge(Judge())).grade(found, run).full
    unread = RubricGrader(ModelRubricJudge(Judge(soup="Maybe"))).grade(found, run)
    assert unread.value is None and unread.reason.startswith("ungradable: the judge cannot be read on 1 of 2")
    assert RubricGrader(ModelRubricJudge(Judge(fail="yes"))).grade(found, run) == Grade(None, False, "judge: down")


def test_without_a_judge_the_orders_must_be_the_benchmarks_own(tmp_path: Path) -> None:
    found = task(tmp_path)
    grader, calls = ReferenceGrader(), wanted(found)
    assert grader.grade(found, worked(found, calls)) == Grade(1.0, True, "the orders that were wanted")
    mistaken = [("create_order", {**calls[0][1], "store_id": "s9"}), *calls]
    assert grader.grade(found, worked(found, mistaken)).full, "a refused call changes nothing"
    noted = [("create_order", {**calls[0][1], "note": "x"}), calls[1]]
    for other in ([], calls[:1], [*calls, calls[0]], noted):
        assert grader.grade(found, worked(found, other)).value == 0.0
    [state] = record("7")["evaluation_criteria"]["expected_states"]
    elsewhere = {**state, "required_orders": [{**state["required_orders"][0], "store_id": "s9"}]}
    broken = task(tmp_path / "b", evaluation_criteria={"overall_rubrics": RUBRICS, "expected_states": [elsewhere]})
    assert grader.grade(broken, worked(broken, [])).reason == "reference: error: there is no store 's9'"


def test_rows_over_runs(tmp_path: Path) -> None:
    both = episodes(tmp_path, 2)
    full, none, half = Grade(1.0, True, ""), Grade(0.0, False, ""), Grade(0.5, False, "")
    lost = graded(both[0], Lost("agent", "down"), ReferenceGrader())
    assert lost == Grade(None, False, "agent: down")
    one = Played((("hi", Output("x")),) * 2, ("a", "b", "c"), 4)
    call = Output("", (Observation("look", {}, "there"),))
    other = Played((("hi", call),), (), 2)

    def cases(*grades: Grade) -> list[Case]:
        return [Case(e.id, e.task.origin, g) for e, g in zip(both, grades, strict=True)]

    runs = [cases(full, half), cases(none, full), cases(full, lost)]
    played = [[one, one], [other, other], [one, Lost("agent", "down")]]
    rows = {r.metric: r for r in condition_rows("-", "drift", "a", "j", both, played, runs, runs)}
    assert {(r.judge, r.protocol, r.agent) for r in rows.values()} == {("j", "interactive-test", "a")}
    expected = {
        "mean_score": (3.5 / 5, 5),
        "car": (3 / 6, 6),
        "coverage": (5 / 6, 6),
        "avg@3": (2 / 3, 1),  # the second task has an ungraded run
        "pass@3": (1.0, 1),
        "pass^3": (0.0, 1),
        "turns": (8 / 5, 5),
        "rounds": (16 / 5, 5),
        "calls": (2 / 5, 5),
        "malformed": (9 / 5, 5),
        "ungraded, agent": (1 / 6, 6),
        "mean_score, load 1": (3.5 / 5, 5),
    }
    for metric, (mean, n) in expected.items():
        assert (rows[metric].mean, rows[metric].n) == (pytest.approx(mean), n), metric
    single = {r.metric for r in condition_rows("-", "drift", "a", "j", both, played[:1], runs[:1], runs[:1])}
    assert not any(metric.startswith(("avg@", "pass", "ungraded")) for metric in single)


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        ({"domain": "ota"}, "domain must be one of"),
        ({"environment": {}}, "KeyError"),
        ({"reference": {}}, "KeyError: 'orders'"),
        ({"rubrics": []}, "nothing to judge"),
    ],
)
def test_an_episode_that_cannot_be_played_is_named_before_any_is(tmp_path: Path, damage: dict[str, Any], fault: str) -> None:
    good, bad = episodes(tmp_path)
    bad = replace(bad, task=replace(bad.task, payload={**bad.task.payload, **damage}))
    with pytest.raises(ValueError, match=f"episode {bad.id}: .*{fault}"):
        Bench([good, bad], None, ReferenceGrader(), 1, simulated=False, limits=Limits(), codec="delta", window=3)


def test_a_domain_without_an_environment_is_named() -> None:
    with pytest.raises(ValueError, match=r"domain must be one of \['delivery'\], .* got 'ota'"):
        service_of("ota")
