"""What learned assets do for later tasks: satisfaction, the path of a finding, and repeated runs (LiveAsset, section 4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from intentfold.metrics.statistics import Comparison, Interval, interval, paired
from intentfold.trace import LiveRun


def satisfaction(run: LiveRun, *, first: bool = False) -> float:
    """Σ w·1[satisfied] / Σ w over the exposed requirements (LiveAsset, equation 4)."""
    met = run.first if first else run.final
    return sum(weight for weight, ok in zip(run.weights, met, strict=True) if ok) / sum(run.weights)


@dataclass(frozen=True, slots=True)
class Averaged:
    """A target with its executions averaged, so that every target weighs the same."""

    target: str
    cluster: str
    value: float


def averaged(runs: Sequence[LiveRun], value: Callable[[LiveRun], float]) -> list[Averaged]:
    """One value a target, in the order in which targets first occur."""
    groups = by_target(runs)
    return [Averaged(t, some[0].cluster, sum(map(value, some)) / len(some)) for t, some in groups.items()]


def by_target(runs: Sequence[LiveRun]) -> dict[str, list[LiveRun]]:
    """The executions of each target."""
    groups: dict[str, list[LiveRun]] = {}
    for run in runs:
        groups.setdefault(run.target, []).append(run)
    return groups


def mean(values: Sequence[Averaged]) -> Interval | None:
    """The mean over targets, clustered by user."""
    return interval([one.value for one in values], [1.0] * len(values), [one.cluster for one in values])


def lift(a: Sequence[LiveRun], b: Sequence[LiveRun], margin: float) -> Comparison:
    """The paired difference a − b in satisfaction over the same targets."""
    ours, theirs = averaged(a, satisfaction), averaged(b, satisfaction)
    if [one.target for one in ours] != [one.target for one in theirs]:
        raise ValueError("paired runs must be of the same targets, in the same order")
    return paired([one.value for one in ours], [one.value for one in theirs], [one.cluster for one in ours], margin)


def lifts(runs: Sequence[LiveRun], margin: float) -> dict[tuple[str, str, str], Comparison]:
    """By (method, kind, metric): what learned assets add to the same loop without checks, and to the bare agent."""
    found = {}
    groups: dict[tuple[str, str], list[LiveRun]] = {}
    for run in runs:
        groups.setdefault((run.method, run.kind), []).append(run)
    for (method, kind), ours in groups.items():
        for other in ("no_runtime", "base"):
            if method.startswith("live_assets") and (other, kind) in groups:
                found[(method, kind, f"lift over {other}")] = lift(ours, groups[(other, kind)], margin)
    return found


@dataclass(frozen=True, slots=True)
class _Path:
    """How far one requirement that the first candidate fails came: each step holds with those before it.

    `fulfilled_anyhow` is fulfilled after it was identified, by corrective action or without.
    """

    cluster: str
    selected: bool
    identified: bool
    acted: bool
    fulfilled: bool
    fulfilled_anyhow: bool


def untraced(runs: Sequence[LiveRun]) -> dict[str, str]:
    """By method, why the findings of some of its runs cannot be followed: the first reason that occurs."""
    found: dict[str, str] = {}
    for run in runs:
        if run.untraced:
            found.setdefault(run.method, run.untraced)
    return found


ROLES = ("worker", "checker", "selection")


def tokens(runs: Sequence[LiveRun]) -> dict[str, Interval | None]:
    """Tokens a run, in and out, by role and of all models together; None for a role that no model plays, which takes none."""
    ones, clusters = [1.0] * len(runs), [run.cluster for run in runs]
    found: dict[str, Interval | None] = {}
    for role in ROLES:
        taken = [float(run.tokens.get(role, 0)) for run in runs]
        played = any(role in run.tokens for run in runs)
        found[f"tokens a run, {role}"] = interval(taken, ones, clusters, proportion=False) if played else None
    taken = [float(sum(run.tokens.values())) for run in runs]
    found["tokens a run"] = interval(taken, ones, clusters, proportion=False) if any(run.tokens for run in runs) else None
    return found


def measures(runs: Sequence[LiveRun]) -> Mapping[str, Interval | None]:
    """Every metric of one method over one kind of target."""
    clusters = [run.cluster for run in runs]
    checked = [float(run.passed is not None) for run in runs]
    passed = [float(bool(run.passed)) for run in runs]
    slipped = [float(bool(run.passed) and not all(run.final)) for run in runs]
    # Requirement-run records whose first candidate fails: the path selection, finding, corrective action, fulfilment.
    records = [
        _Path(run.cluster, selected, identified, identified and acted, identified and acted and final, identified and final)
        for run in runs
        if run.selected is not None and run.identified is not None
        for first, final, selected, identified, acted in zip(
            run.first, run.final, run.selected, run.identified, run.acted, strict=True
        )
        if not first
    ]
    whole, ones = [one.cluster for one in records], [1.0] * len(records)
    chosen = [float(one.selected) for one in records]
    found = [float(one.identified) for one in records]
    untraced = [float(run.selected is None) for run in runs]
    twice = [some for some in by_target(runs).values() if len(some) == 2]
    pairs = [(a.cluster, x and y) for a, b in twice for x, y in zip(a.final, b.final, strict=True)]
    gaps = [abs(satisfaction(a) - satisfaction(b)) for a, b in twice]
    return {
        "satisfaction": mean(averaged(runs, satisfaction)),
        "satisfaction of the first candidate": mean(averaged(runs, lambda run: satisfaction(run, first=True))),
        "runs in which something was checked": interval(checked, [1.0] * len(runs), clusters),
        "passed with unmet, of all runs": interval(slipped, [1.0] * len(runs), clusters),
        "passed with unmet, of those checked": interval(slipped, checked, clusters),
        "passed with unmet, of those that pass": interval(slipped, passed, clusters),
        "selected": interval(chosen, ones, whole),
        "identified": interval(found, ones, whole),
        "identified given selected": interval([float(one.selected and one.identified) for one in records], chosen, whole),
        "identified and acted on": interval([float(one.acted) for one in records], ones, whole),
        "identified, acted on, fulfilled": interval([float(one.fulfilled) for one in records], ones, whole),
        "fulfilled given identified": interval([float(one.fulfilled_anyhow) for one in records], found, whole),
        "runs whose findings cannot be followed": interval(untraced, [1.0] * len(runs), clusters),
        "requirements met in both runs": interval([float(ok) for _, ok in pairs], [1.0] * len(pairs), [c for c, _ in pairs]),
        "difference between two runs": interval(gaps, [1.0] * len(gaps), [a.cluster for a, _ in twice]),
        "revisions": interval([float(r.revisions) for r in runs], [1.0] * len(runs), clusters, proportion=False),
        **tokens(runs),
    }
