"""Rows of a recovery run: one (numerator, denominator) a metric and trajectory, summed with clustered intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from intentfold.metrics.document import Table
from intentfold.metrics.recovery.actions import WEIGHTINGS, ActionScore, rank_agreement
from intentfold.metrics.recovery.intention import MANY, OLD, IntentionScore
from intentfold.metrics.statistics import Comparison, Interval, interval, paired_ratios
from intentfold.records import RECORD, to_json
from intentfold.trajectory import Requirement, Trajectory

CONDITION = "fixed_replay"
TIERS = ("must", "preferred", "optional")
# The metrics of the table on the screen, in its order.
SHOWN = (
    "intention_recovery", "precision", "priority_accuracy", "obsolete_retention", "hard_success", "action_score",
    "intention_recovery, single", "intention_recovery, compound", "compound_gap",
    "atom_recovery, age 1", f"atom_recovery, age {OLD}+", "age_gap",
    "intention_coverage", "action_coverage",
)  # fmt: skip
# The metrics whose comparisons are put into words.
HEADLINES = ("intention_recovery", "action_score")
# Metrics whose ratio is no share of anything.
COUNTS = ("obsolete_base_rate",)
# Differences of two metrics of one arm.
GAPS = {
    "compound_gap": ("intention_recovery, single", "intention_recovery, compound"),
    "age_gap": ("atom_recovery, age 1", f"atom_recovery, age {OLD}+"),
}
Ratio = tuple[float, float]


@dataclass(frozen=True, slots=True)
class RecoveryRow:
    """One number of one arm in one domain, as `intentfold.metrics.report.Row` with the domain beside."""

    __pydantic_config__ = RECORD

    arm: str
    domain: str
    condition: str
    metric: str
    mean: float | None
    low: float | None
    high: float | None
    n: int
    agent: str


def measure(intentions: Sequence[IntentionScore], actions: Sequence[ActionScore]) -> dict[str, Ratio]:
    """Every metric of one trajectory as (numerator, denominator); the denominators are the base rates.

    intention_recovery, precision, priority_accuracy
                        means over the scored turns that have the score; the first also by number of changes (single is
                        1, compound more)
    atom_recovery       carried-over gold atoms recovered, by age
    obsolete_retention  over opportunities; obsolete_base_rate are those a scored turn
    priority, …         matched atoms of a gold tier by the tier that was predicted
    predicted …         predicted atoms by how they stand to the prediction before
    hard_success        scored turns; also feasible and infeasible ones
    action_score        scored turns; also by weighting, and after full and incomplete recovery
    reference_score     what the reference action itself would get: the ceiling of action_score
    failures, …         turns without Hard Success by what failed, given full and incomplete recovery
    …_coverage, faults  over all turns
    """
    found: dict[str, Ratio] = {}

    def put(metric: str, numerator: float, denominator: float) -> None:
        top, size = found.get(metric, (0.0, 0.0))
        found[metric] = (top + numerator, size + denominator)

    def mean(metric: str, value: float | None) -> None:
        put(metric, value or 0.0, value is not None)

    for turn in intentions:
        mean("intention_recovery", turn.recovery)
        mean("precision", turn.precision)
        mean("priority_accuracy", turn.priority_accuracy)
        for count in range(MANY + 1):
            here = turn.events is not None and min(turn.events, MANY) == count
            mean(f"intention_recovery, changes {count}{'+' if count == MANY else ''}", turn.recovery if here else None)
        mean("intention_recovery, single", turn.recovery if turn.events == 1 else None)
        mean("intention_recovery, compound", turn.recovery if (turn.events or 0) > 1 else None)
        for age in range(1, OLD + 1):
            put(f"atom_recovery, age {age}{'+' if age == OLD else ''}", *(turn.age or {}).get(age, (0, 0)))
        put("obsolete_retention", *turn.obsolete)
        put("obsolete_base_rate", turn.obsolete[1], turn.fault is None)
        for gold in TIERS:
            row = {mine: (turn.tiers or {}).get((gold, mine), 0) for mine in (*TIERS, "missing")}
            for mine, count in row.items():
                put(f"priority, gold {gold} as {mine}", count, sum(row.values()))
        for kind in ("new", "changed", "unchanged"):
            of_kind = {place: sum(n for pair, n in (turn.changes or {}).items() if pair[place] == kind) for place in (0, 1)}
            put(f"predicted {kind}", of_kind[0], turn.predicted)
            put(f"predicted priority {kind}", of_kind[1], turn.predicted)
        put("intention_coverage", turn.fault is None, 1)
        for fault in ("evaluator", "api", "data"):
            put(f"intention faults, {fault}", turn.fault == fault, 1)
    for intention, action in zip(intentions, actions, strict=True):
        scored = action.fault is None
        put("hard_success", action.hard, scored)
        put("hard_success, feasible", action.hard and action.feasible, scored and action.feasible)
        put("hard_success, infeasible", action.hard and not action.feasible, scored and not action.feasible)
        put("hard_success, flagged turns", action.flagged, scored)
        for weighting in WEIGHTINGS:
            mean("action_score" if weighting == "2:1" else f"action_score, {weighting}", action.score(weighting))
        mean("reference_score", WEIGHTINGS["2:1"](action.reference, action.reference) if scored else None)
        for name, given in (("full", intention.full), ("incomplete", intention.fault is None and not intention.full)):
            mean(f"action_score, {name} recovery", action.score() if given else None)
            for failure in ("budget", "other requirement", "invalid booking"):
                failed = scored and given and not action.hard
                put(f"failures, {name} recovery, {failure}", failed and failure in action.failures, failed)
        put("action_coverage", scored, 1)
        put("action faults, data", action.fault == "data", 1)
    return found


def rows(arm: str, agent: str, trajectories: Sequence[Trajectory], measured: Sequence[Mapping[str, Ratio]]) -> list[RecoveryRow]:
    """Every metric of an arm by domain, and the gaps between two of them; clustered by the trajectory's origin."""
    found = []
    for domain, places in by_domain(trajectories).items():
        clusters = [trajectories[place].origin for place in places]
        for metric in measured[0]:
            tops, sizes = ([measured[place][metric][side] for place in places] for side in (0, 1))
            estimate = interval(tops, sizes, clusters, proportion=metric not in COUNTS)
            found.append(_row(arm, domain, metric, estimate, agent))
        for gap, (first, second) in GAPS.items():
            found.append(_row(arm, domain, gap, _difference(measured, first, measured, second, places, clusters, 1.0), agent))
    return found


def comparison_rows(
    name: str, arms: tuple[str, str], agent: str, trajectories: Sequence[Trajectory],
    measured: tuple[Sequence[Mapping[str, Ratio]], Sequence[Mapping[str, Ratio]]], margin: float,
) -> tuple[list[RecoveryRow], dict[str, Comparison]]:  # fmt: skip
    """The paired difference, first − second, in every shown share that both arms have, by domain."""
    found, compared = [], {}
    for domain, places in by_domain(trajectories).items():
        clusters = [trajectories[place].origin for place in places]
        for metric in SHOWN:
            if metric in GAPS:
                continue
            difference = _difference(measured[0], metric, measured[1], metric, places, clusters, margin)
            found.append(_row(arms[0], domain, f"{name}, {metric}", difference, agent))
            if difference is not None:
                compared[f"{domain}, {name}, {metric}"] = difference
    return found, compared


def agreement_rows(
    agent: str, trajectories: Sequence[Trajectory], arms: Mapping[str, Sequence[Mapping[str, Ratio]]]
) -> list[RecoveryRow]:
    """Kendall's τ of the ranking of the arms under every other weighting against that under 2:1, by domain."""
    found = []
    for domain, places in by_domain(trajectories).items():
        scores: dict[str, list[float]] = {}
        for weighting in WEIGHTINGS:
            metric = "action_score" if weighting == "2:1" else f"action_score, {weighting}"
            sums = [[sum(measured[place][metric][side] for place in places) for side in (0, 1)] for measured in arms.values()]
            scores[weighting] = [top / size if size else 0.0 for top, size in sums]
        for weighting, tau in rank_agreement(scores).items():
            metric = f"kendall_tau, {weighting}"
            found.append(RecoveryRow("-", domain, CONDITION, metric, tau, tau, tau, len(arms) if tau is not None else 0, agent))
    return found


def table(found: Sequence[RecoveryRow], shown: Sequence[str] = SHOWN) -> str:
    """The shown metrics as a Markdown table, a row a domain and metric, a column an arm."""
    cells = table_block(found, shown)
    return "\n".join(f"| {' | '.join(line)} |" for line in (cells.header, ["---"] * len(cells.header), *cells.rows))


def table_block(found: Sequence[RecoveryRow], shown: Sequence[str] = SHOWN) -> Table:
    """The same as a block of a report."""
    arms = list(dict.fromkeys(row.arm for row in found if row.metric in shown))
    cells = {(row.domain, row.metric, row.arm): row for row in found}
    lines = [
        (domain, metric, *(_cell(cells.get((domain, metric, arm))) for arm in arms))
        for domain in dict.fromkeys(row.domain for row in found)
        for metric in shown
    ]
    return Table(("domain", "metric", *arms), tuple(lines))


def by_domain(trajectories: Sequence[Trajectory]) -> dict[str, list[int]]:
    """Positions of the trajectories of each domain."""
    found: dict[str, list[int]] = {}
    for place, trajectory in enumerate(trajectories):
        found.setdefault(trajectory.domain, []).append(place)
    return dict(sorted(found.items()))


def _cell(row: RecoveryRow | None) -> str:
    if row is None or row.mean is None:
        return "–"
    return f"{row.mean:.3f} ({row.low:.3f} to {row.high:.3f}), n {row.n}"


def _row(arm: str, domain: str, metric: str, found: Interval | Comparison | None, agent: str) -> RecoveryRow:
    if found is None:
        return RecoveryRow(arm, domain, CONDITION, metric, None, None, None, 0, agent)
    return RecoveryRow(arm, domain, CONDITION, metric, found.mean, found.low, found.high, found.n, agent)


def _difference(
    a: Sequence[Mapping[str, Ratio]], metric_a: str, b: Sequence[Mapping[str, Ratio]], metric_b: str,
    places: Sequence[int], clusters: Sequence[str], margin: float,
) -> Comparison | None:  # fmt: skip
    ours, theirs = [a[place][metric_a] for place in places], [b[place][metric_b] for place in places]
    if not any(size for _, size in ours) or not any(size for _, size in theirs):
        return None
    tops_a, sizes_a, tops_b, sizes_b = ([ratio[side] for ratio in part] for part in (ours, theirs) for side in (0, 1))
    return paired_ratios(tops_a, sizes_a, tops_b, sizes_b, clusters, margin)


def turn_records(
    arm: str,
    trajectory: Trajectory,
    predicted: Sequence[Sequence[Requirement]],
    acted: Sequence[Mapping[str, Any]],
    intentions: Sequence[IntentionScore],
    actions: Sequence[ActionScore],
) -> list[dict[str, Any]]:
    """Every turn as plain data, to read where it went wrong."""
    return [
        {
            "arm": arm,
            "trajectory": trajectory.id,
            "turn": number,
            "utterance": turn.utterance,
            "gold": [to_json(requirement) for requirement in turn.intention or ()],
            "predicted": [to_json(requirement) for requirement in predicted[number]],
            "action": acted[number],
            "recovery": intentions[number].recovery,
            "faults": [intentions[number].reason, actions[number].reason],
            "hard_success": actions[number].hard,
            "action_score": actions[number].score(),
        }
        for number, turn in enumerate(trajectory.turns)
    ]
