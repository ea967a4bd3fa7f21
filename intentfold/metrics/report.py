"""Rows of a report: one number with its interval each, and the table that shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from intentfold.metrics.scores import Case, car, car_bounds, coverage, idg, mean_score
from intentfold.metrics.state import COUNTS, OPS, Ratio
from intentfold.metrics.statistics import Comparison, Interval, interval, paired_ratios
from intentfold.records import RECORD
from intentfold.runtime.compress import COMPRESSIONS
from intentfold.runtime.conditions import ABLATIONS
from intentfold.runtime.episodes import CONTROLS
from intentfold.runtime.executor import execute
from intentfold.runtime.roles import View
from intentfold.trace import Episode

NO_ARM = "-"
# Shares of what went wrong: of these a tracker is better that has less.
MISTAKES = ("obsolete_retention", "wrong_slot", "dangling_conclusions")
# What no tracker may be called: conditions that have no tracker, or that every tracker has.
RESERVED = (*CONTROLS, *COMPRESSIONS, *ABLATIONS, "tracker")
# The metrics of a tracker's rows, as they stand before slices: no comparison may be called so.
METRICS = (
    "mean_score", "car", "car_bounds", "coverage", "idg", "gap_closed", "unresolved_items",
    "exact_edits", "exact_state", "exact_final_state", "item_f1", "obsolete_retention", "wrong_slot", "dangling_conclusions",
    "recovery", "recovered_items", *COUNTS, *(f"{op.lower()}_{m}" for op in OPS for m in ("precision", "recall", "f1")),
)  # fmt: skip
# Protocols are never mixed in one table (PROTOCOLS.md, IntentFlux): every row names its own.
Protocol = Literal[
    "tracker-training", "unified re-run", "general-test", "checker", "live-assets", "state-tracking", "interactive-test",
    "standalone",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """One number. `n` counts what was averaged over; mean and interval are None where that is nothing.

    `arm` is the tracker, `-` for the controls, which have none; `agent` is who answered. `protocol` is the tracker-training
    evaluation (frozen agent, small tracker), the unified re-run (tracker scale), the task score of a harness, verdicts on
    mined examples, LiveAsset's targets (LA 4), the states of people's dialogues, where nobody answers, what was done in an
    environment of tools, where `judge` says who graded it (empty for the tasks' own graders), or an agent alone with the dialogue
    (thinking distillation).
    """

    __pydantic_config__ = RECORD

    arm: str
    condition: str
    metric: str
    mean: float | None
    low: float | None
    high: float | None
    n: int
    agent: str
    protocol: Protocol = "tracker-training"
    judge: str = ""


def under(protocol: Protocol, rows: Sequence[Row]) -> list[Row]:
    """The rows, of that protocol."""
    return [replace(row, protocol=protocol) for row in rows]


def row(arm: str, condition: str, metric: str, found: Interval | Comparison | None, agent: str) -> Row:
    """A row of an interval or comparison, or of nothing."""
    if found is None:
        return Row(arm, condition, metric, None, None, None, 0, agent)
    return Row(arm, condition, metric, found.mean, found.low, found.high, found.n, agent)


def score_rows(
    arm: str, condition: str, agent: str, episodes: Sequence[Episode], cases: Sequence[Case], clean: Sequence[Case]
) -> list[Row]:
    """Mean score, CAR with its bounds, coverage and the gap to `clean`; mean score, CAR and gap by load and by family."""
    whole = {"mean_score": mean_score(cases), "car": car(cases), "car_bounds": car_bounds(cases), "coverage": coverage(cases)}
    rows = [row(arm, condition, metric, found, agent) for metric, found in whole.items()]
    rows.append(row(arm, condition, "idg", idg(clean, cases), agent))
    for name, places in slices(episodes).items():
        part, base = [cases[n] for n in places], [clean[n] for n in places]
        for metric, found in {"mean_score": mean_score(part), "car": car(part), "idg": idg(base, part)}.items():
            rows.append(row(arm, condition, f"{metric}, {name}", found, agent))
    families = [
        [cases[n] for n in places]
        for name, places in slices(episodes).items()
        if name.startswith("family ") and ", load" not in name
    ]
    return [*rows, row(arm, condition, "mean_score, macro", _macro(families), agent)]


def unresolved_row(arm: str, agent: str, views: Sequence[View], cases: Sequence[Case]) -> Row:
    """Items a case that name no parameter of its task, or no value of one: the state executor ignores them (D13)."""
    counts = [
        len(execute(view.task, view.items).unresolved) for view in views if view.task is not None and view.items is not None
    ]
    found = interval(counts, [1.0] * len(counts), [case.cluster for case in cases], proportion=False)
    return row(arm, "tracker", "unresolved_items", found, agent)


def slices(episodes: Sequence[Episode]) -> dict[str, list[int]]:
    """Positions of the episodes of each load, family, and both, by name."""
    found: dict[str, list[int]] = {}
    for position, episode in enumerate(episodes):
        load, family = f"load {episode.load}", f"family {episode.task.family}"
        for name in (load, family, f"{family}, {load}"):
            found.setdefault(name, []).append(position)
    return dict(sorted(found.items()))


def state_rows(
    arm: str, agent: str, episodes: Sequence[Episode], ratios: Sequence[Mapping[str, Ratio]], cases: Sequence[Case]
) -> list[Row]:
    """One row a metric of `intentfold.metrics.state.measure`, over all episodes and by load and family.

    `ratios` and `cases` hold an episode each.
    """
    rows = []
    for name, places in {"": list(range(len(episodes))), **slices(episodes)}.items():
        clusters = [cases[n].cluster for n in places]
        for metric in ratios[0]:
            part = [ratios[n][metric] for n in places]
            proportion = metric not in COUNTS
            found = interval([top for top, _ in part], [size for _, size in part], clusters, proportion=proportion)
            rows.append(row(arm, "tracker", f"{metric}, {name}" if name else metric, found, agent))
    return rows


def state_comparisons(
    name: str, a: Sequence[Mapping[str, Ratio]], b: Sequence[Mapping[str, Ratio]], cases: Sequence[Case], margin: float
) -> dict[str, Comparison]:
    """The paired difference a − b in every share of `measure` that both arms had opportunities for, as `name, metric`.

    Of mistakes it is b − a, as `name, less metric`: above 0 is for `a` in all of them, as the verdicts read it.
    """
    found = {}
    for metric in a[0]:
        ours, theirs = [r[metric] for r in a], [r[metric] for r in b]
        if metric not in COUNTS and any(size for _, size in ours) and any(size for _, size in theirs):
            if metric in MISTAKES:
                ours, theirs = theirs, ours
            found[f"{name}, {'less ' if metric in MISTAKES else ''}{metric}"] = paired_ratios(
                [count for count, _ in ours],
                [size for _, size in ours],
                [count for count, _ in theirs],
                [size for _, size in theirs],
                [case.cluster for case in cases],
                margin,
            )
    return found


def gap_rows(
    arm: str, agent: str, episodes: Sequence[Episode], low: Sequence[Case], found: Sequence[Case], high: Sequence[Case]
) -> list[Row]:
    """`gap_closed` over all episodes and by load and family."""
    rows = [row(arm, "tracker", "gap_closed", gap_closed(low, found, high), agent)]
    for name, places in slices(episodes).items():
        parts = [[cases[n] for n in places] for cases in (low, found, high)]
        rows.append(row(arm, "tracker", f"gap_closed, {name}", gap_closed(*parts), agent))
    return rows


def gap_closed(low: Sequence[Case], found: Sequence[Case], high: Sequence[Case]) -> Interval | None:
    """(found − low) / (high − low) in mean score, over cases graded in all three; None where there is no gap."""
    numerators, denominators, clusters = [], [], []
    for a, b, c in zip(low, found, high, strict=True):
        if a.grade.value is not None and b.grade.value is not None and c.grade.value is not None:
            numerators.append(b.grade.value - a.grade.value)
            denominators.append(c.grade.value - a.grade.value)
            clusters.append(a.cluster)
    closed = interval(numerators, denominators, clusters, proportion=False)
    return None if closed is None else replace(closed, n=len(clusters))


def table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    lines = ["| arm | condition | metric | mean | 95% interval | n | agent |", "|---|---|---|---|---|---|---|"]
    for r in rows:
        mean, span = ("–", "–") if r.mean is None else (f"{r.mean:.3f}", f"{r.low:.3f} to {r.high:.3f}")
        lines.append(f"| {r.arm} | {r.condition} | {r.metric} | {mean} | {span} | {r.n} | {r.agent} |")
    return "\n".join(lines)


def _macro(families: Sequence[Sequence[Case]]) -> Interval | None:
    """Mean score with every family of equal weight, over those that have a graded case."""
    graded = [[case for case in family if case.grade.value is not None] for family in families]
    graded = [family for family in graded if family]
    total = sum(map(len, graded))
    weights = [total / (len(graded) * len(family)) for family in graded for _ in family]
    cases = [case for family in graded for case in family]
    numerators = [weight * (case.grade.value or 0.0) for weight, case in zip(weights, cases, strict=True)]
    return interval(numerators, weights, [case.cluster for case in cases])
