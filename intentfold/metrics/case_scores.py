"""Scores of one case by its task's grader, by a matching judge and by a checker, each with its own way to be missing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from intentfold.asset import ContextualIntent, Requirement
from intentfold.dialogue import Output
from intentfold.graders import grade
from intentfold.metrics.recovery.judge import JudgeMatcher
from intentfold.metrics.recovery.matching import Failed, atoms
from intentfold.metrics.report import Row, row
from intentfold.metrics.statistics import interval
from intentfold.runtime.checker import Checker, ModelJudge
from intentfold.runtime.inspect_task import CaseScore, Scored, Scorer
from intentfold.runtime.outcome import Outcome, Roles
from intentfold.runtime.roles import BackendError
from intentfold.trace import Episode
from intentfold.trajectory import as_intention


def task_grade(episode: Episode, outcome: Outcome, roles: Roles) -> Scored:
    """The task's own grade: its value, and whether credit is full."""
    found = grade(episode.task, outcome.answer)
    if found.value is None:
        return Scored(None, found.reason)
    return Scored({"value": found.value, "full": float(found.full)}, found.reason)


def recovered_intention(episode: Episode, outcome: Outcome, roles: Roles) -> Scored:
    """The share of the oracle's final goals that the judge finds in the tracker's last state (priorities aside)."""
    predicted, gold = (atoms(as_intention(state)) for state in (outcome.state, episode.final_state))
    if not gold:
        return Scored(None, "the oracle's final state holds no goal")
    [pairs] = JudgeMatcher(roles["judge"]).match([(predicted, gold)])
    if isinstance(pairs, Failed):
        return Scored(None, f"{pairs.kind} error: {pairs.reason}")
    return Scored({"recovered": len(pairs) / len(gold)}, f"{len(pairs)} of {len(gold)} goals")


def checked_answer(episode: Episode, outcome: Outcome, roles: Roles) -> Scored:
    """Whether the checker finds no item of the oracle's final state unmet in the answer; conclusions are not asked for."""
    wanted = episode.final_state.of_kind("goal", "format")
    intents = [ContextualIntent(n, "", (Requirement(n, item.text),)) for n, item in enumerate(wanted, start=1)]
    try:
        check = Checker(ModelJudge(roles["checker"]), intents).check(Output(outcome.answer), outcome.dialogue)
    except BackendError as error:
        return Scored(None, str(error))
    if unread := check.of(None):
        return Scored(None, f"not assessed: {'; '.join(finding.text for finding in unread)}")
    if check.passed is None:
        return Scored(None, "the oracle's final state holds nothing to check")
    unmet = check.of("unmet")
    return Scored({"passed": float(not unmet)}, "; ".join(f"{finding.text}: {finding.reason}" for finding in unmet))


# By title; a score that a role gives is asked for where the role has a model.
SCORERS = {
    "task_grade": Scorer(("value", "full"), task_grade),
    "judge": Scorer(("recovered",), recovered_intention),
    "checker": Scorer(("passed",), checked_answer),
}
# The metric of a score's value, and that of its coverage.
_METRICS = {
    ("task_grade", "value"): ("mean_score", "coverage"),
    ("judge", "recovered"): ("judged_recovery", "judged_recovery coverage"),
    ("checker", "passed"): ("checker_passed", "checker_passed coverage"),
}


def case_rows(
    arm: str, condition: str, agent: str, episodes: Sequence[Episode], scores: Sequence[CaseScore], epochs: int
) -> list[Row]:
    """Rows over cases, each being the mean over its epochs; where a grade is missing there is no full credit (CAR).

    A case counts in a mean where at least one of its epochs was scored; coverage is the share of all runs that were.
    """
    origins = {episode.id: episode.task.origin for episode in episodes}
    found: defaultdict[tuple[str, str, str], list[float]] = defaultdict(list)
    for one in scores:
        for name, value in (one.values or {}).items():
            found[one.score, name, one.episode].append(value)

    def line(metric: str, cases: dict[str, float]) -> Row:
        return row(arm, condition, metric, interval(list(cases.values()), [1.0] * len(cases), [origins[c] for c in cases]), agent)

    rows = []
    for (title, name), (metric, coverage) in _METRICS.items():
        if any(one.score == title for one in scores):
            runs = {case: found[title, name, case] for case in origins}
            rows.append(line(metric, {case: sum(values) / len(values) for case, values in runs.items() if values}))
            rows.append(line(coverage, {case: len(values) / epochs for case, values in runs.items()}))
    return [*rows, line("car", {case: sum(found["task_grade", "full", case]) / epochs for case in origins})]
