"""The interactive track's grades and rows: rubrics by a judge, or the environment beside the benchmark's own orders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from tqdm import tqdm

from intentfold.domains.registry import Service, service_of
from intentfold.graders import Grade
from intentfold.metrics.passes import average, pass_all, pass_at
from intentfold.metrics.report import Row, row, score_rows
from intentfold.metrics.rubrics import RubricJudge, judge_run
from intentfold.metrics.scores import Case, score_gain
from intentfold.metrics.statistics import Comparison, interval
from intentfold.prompts.rubric_judge import transcript
from intentfold.prompts.tracker import Codec
from intentfold.records import canonical_json, to_json
from intentfold.runtime.interactive import Condition, Limits, Played, ScriptedAgent, ToolAgent, Worker, play
from intentfold.runtime.lockstep import Lost, Play, in_lockstep
from intentfold.runtime.roles import Backend, BackendError
from intentfold.runtime.worker import Desk
from intentfold.task import SourceTask
from intentfold.tool import ERROR
from intentfold.trace import Episode

COUNTED = ("turns", "rounds", "calls", "malformed")


def _service(episode: Episode) -> Service:
    """The episode's service, once seen to make something of its payload."""
    payload = episode.task.payload
    try:
        service = service_of(payload["domain"])
        service.tools(payload["environment"])
        service.reference_calls(payload["environment"], payload["reference"]["orders"])
        if not payload["rubrics"]:
            raise ValueError("payload.rubrics: there is nothing to judge")
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"episode {episode.id}: {type(error).__name__}: {error}") from error
    return service


class Judge(Protocol):
    """Grades a run; a value of None says that it could not."""

    @property
    def name(self) -> str: ...

    def grade(self, task: SourceTask, run: Played) -> Grade: ...


class RubricGrader:
    """The share of the task's rubrics that a judge finds met; what the judge's backend cannot say is ungraded, never unmet."""

    def __init__(self, judge: RubricJudge) -> None:
        self.judge = judge

    @property
    def name(self) -> str:
        """The identity of the judge."""
        return self.judge.name

    def grade(self, task: SourceTask, run: Played) -> Grade:
        """By the transcript and the orders at the end."""
        calls = [call for _, output in run.exchanges for call in output.calls]
        service = service_of(task.payload["domain"])
        orders = [canonical_json(order) for order in service.outcome(task.payload["environment"], calls)]
        try:
            return judge_run(task.payload["rubrics"], transcript(run.exchanges), "\n".join(orders) or "no orders", self.judge)
        except BackendError as error:
            return Grade(None, False, f"judge: {error}")


class ReferenceGrader:
    """No judge and no rubric: all or nothing, whether the environment ends as the benchmark's own orders would leave it."""

    name = "scripted: the benchmark's own orders"

    def grade(self, task: SourceTask, run: Played) -> Grade:
        """Ids, which follow the order of ordering, do not count; ungradable where the benchmark's orders cannot be made here."""
        environment, service = task.payload["environment"], service_of(task.payload["domain"])
        desk = Desk({tool.name: tool for tool in service.tools(environment)})
        for name, arguments in service.reference_calls(environment, task.payload["reference"]["orders"]):
            desk.calls.append(desk.tools[name].call(arguments, tuple(desk.calls)))
        if refused := next((call.result for call in desk.calls if call.result.startswith(ERROR)), ""):
            return Grade(None, False, f"reference: {refused}")
        made = [call for _, output in run.exchanges for call in output.calls]
        found, wanted = (
            Counter(canonical_json({key: value for key, value in order.items() if key != "order_id"}) for order in orders)
            for orders in (service.outcome(environment, made), service.outcome(environment, desk.calls))
        )
        same = found == wanted
        return Grade(float(same), same, "the orders that were wanted" if same else "other orders than were wanted")


class Bench:
    """The same episodes, agent and judge under every condition, each run `runs` times; it collects rows, cases and records.

    `agent` is the model's name, None for the scripted agent; with a `simulated` user its words are those of that role.
    Raises ValueError, before anything is run, for an episode whose environment is not known here or cannot be read.
    """

    def __init__(
        self,
        episodes: Sequence[Episode],
        agent: str | None,
        judge: Judge,
        runs: int,
        *,
        simulated: bool,
        limits: Limits,
        codec: Codec,
        window: int | None,
    ) -> None:
        self.episodes, self.agent, self.judge, self.runs = list(episodes), agent, judge, runs
        self.services = [_service(episode) for episode in episodes]
        self.settings: dict[str, Any] = {"simulated": simulated, "limits": limits, "codec": codec, "window": window}
        self.rows: list[Row] = []
        self.scores: dict[str, list[list[Case]]] = {}
        self.records: list[dict[str, Any]] = []

    def run(self, name: str, arm: str, condition: Condition, backends: Callable[[int], Mapping[str, Backend]]) -> None:
        """Play and grade every episode with the roles' `backends` of each run, from 1. The first condition must be clean."""
        played, cases = [], []
        for run in tqdm(range(1, self.runs + 1), desc=name):
            found = in_lockstep([self._play(n, condition) for n in range(len(self.episodes))], backends(run))
            grades = [graded(episode, one, self.judge) for episode, one in zip(self.episodes, found, strict=True)]
            cases.append([Case(f"{e.id}#{run}", e.task.origin, g) for e, g in zip(self.episodes, grades, strict=True)])
            played.append(found)
            about = {"arm": arm, "condition": condition, "run": run}
            for episode, one, grade in zip(self.episodes, found, grades, strict=True):
                self.records.append({**about, "episode": episode.id, "played": to_json(one), "grade": to_json(grade)})
        self.scores[name] = cases
        who = self.agent or ScriptedAgent.name
        self.rows += condition_rows(arm, condition, who, self.judge.name, self.episodes, played, cases, self.scores["clean"])

    def _play(self, number: int, condition: Condition) -> Play[Played]:
        episode, service = self.episodes[number], self.services[number]
        environment, orders = episode.task.payload["environment"], episode.task.payload["reference"]["orders"]
        tools = service.tools(environment)
        worker: Worker = ToolAgent(tools, service.brief, self.settings["limits"])
        if self.agent is None:
            worker = ScriptedAgent(episode, service.reference_calls(environment, orders))
        return play(episode, condition, worker, tools, **self.settings)

    def compare(self, a: str, b: str, margin: float) -> Comparison | None:
        """The paired difference in mean score of two that were run, first − second; None with no case in common."""
        first, second = ([case for run in self.scores[name] for case in run] for name in (a, b))
        return score_gain(first, second, margin)


def graded(episode: Episode, run: Played | Lost, judge: Judge) -> Grade:
    """The grade of a run; a lost one is ungraded, with the role that failed."""
    return Grade(None, False, f"{run.role}: {run.reason}") if isinstance(run, Lost) else judge.grade(episode.task, run)


def condition_rows(
    arm: str,
    condition: str,
    agent: str,
    judge: str,
    episodes: Sequence[Episode],
    played: Sequence[Sequence[Played | Lost]],
    cases: Sequence[Sequence[Case]],
    clean: Sequence[Sequence[Case]],
) -> list[Row]:
    """Scores, what runs took, and what was lost, of `played[run][episode]` and its cases.

    Scores count each run as a case of its task, so that mean_score is Avg@k over graded runs. From two runs on avg@k, pass@k
    and pass^k stand beside, over the tasks all of whose runs were graded.
    """
    flat, base = [case for run in cases for case in run], [case for run in clean for case in run]
    rows = score_rows(arm, condition, agent, list(episodes) * len(cases), flat, base)
    if len(cases) > 1:
        rows += _pass_rows(arm, condition, agent, list(zip(*cases, strict=True)))
    whole = [(one, case.cluster) for one, case in zip((p for run in played for p in run), flat, strict=True)]
    found = [(one, cluster) for one, cluster in whole if isinstance(one, Played)]
    for metric in COUNTED:
        numbers, clusters = [counts(one)[metric] for one, _ in found], [cluster for _, cluster in found]
        rows.append(row(arm, condition, metric, interval(numbers, [1.0] * len(found), clusters, proportion=False), agent))
    ungraded = Counter(case.grade.reason.partition(":")[0] for case in flat if case.grade.value is None)
    for role in sorted(ungraded):
        lost = [float(c.grade.value is None and c.grade.reason.partition(":")[0] == role) for c in flat]
        share = interval(lost, [1.0] * len(lost), [case.cluster for case in flat])
        rows.append(row(arm, condition, f"ungraded, {role}", share, agent))
    return [replace(one, protocol="interactive-test", judge=judge) for one in rows]


def counts(run: Played) -> dict[str, float]:
    """`COUNTED` of one run: user turns, what the agent wrote, its calls, and its actions that were none or did nothing."""
    calls = sum(len(output.calls) for _, output in run.exchanges)
    return {"turns": len(run.exchanges), "rounds": run.rounds, "calls": calls, "malformed": len(run.errors)}


def _pass_rows(arm: str, condition: str, agent: str, tasks: Sequence[Sequence[Case]]) -> list[Row]:
    k = len(tasks[0])
    whole = [runs for runs in tasks if all(case.grade.value is not None for case in runs)]
    values = [[case.grade.value or 0.0 for case in runs] for runs in whole]
    clusters = [runs[0].cluster for runs in whole]
    scores = {
        f"avg@{k}": [average([runs]) for runs in values],
        f"pass@{k}": [pass_at([runs], k) for runs in values],
        f"pass^{k}": [pass_all([runs], k) for runs in values],
    }
    return [
        row(arm, condition, name, interval(found, [1.0] * len(found), clusters), agent)  # None where no task is whole
        for name, found in scores.items()
    ]
