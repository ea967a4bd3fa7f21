"""Tracker scale: every tracker against one reference, on the same cases with the same frozen agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from intentfold.metrics.document import Block, Figure, Heading, Table, Text
from intentfold.metrics.page import agent_words, number, span, verdict_words
from intentfold.metrics.report import Protocol
from intentfold.metrics.scores import Case, car, coverage, mean_score, score_gain
from intentfold.metrics.state import Ratio
from intentfold.metrics.statistics import Comparison, Verdict, bootstrap, mcnemar, tost
from intentfold.metrics.svg import Band, Bar, intervals
from intentfold.records import RECORD
from intentfold.runtime.timing import Usage

STATE_METRICS = ("exact_state", "exact_final_state", "item_f1", "obsolete_retention", "recovery")


@dataclass(frozen=True, slots=True)
class ScaleRow:
    """One tracker. Its verdict is that of `difference` (tracker − reference in mean score, paired, clustered).

    `size` is in billions of parameters where it was given. Seconds a turn are a fold's share of batched calls, latencies
    how long the model was at a fold (`Usage`). `in_flight` is a server's requests at a time over those allowed, averaged over
    the wall time, and `busy` the share of that time in which it had any; both None for what is not served. `cost` is that of
    1,000 turns at the prices that were given. McNemar's p is that of CAR (see `Mcnemar` for its caveat); TOST and the
    bootstrap stand beside the interval and decide nothing. Where no case is graded for both, everything about the difference
    is None, and `n` 0.
    """

    __pydantic_config__ = RECORD

    tracker: str
    reference: str
    protocol: Protocol
    agent: str
    size: float | None
    n: int
    clusters: int
    mean_score: float | None
    low: float | None
    high: float | None
    car: float | None
    coverage: float | None
    state: dict[str, float | None]
    decode_tokens: float
    seconds_per_turn: float | None
    cpu_seconds_per_turn: float | None
    latency_mean: float | None
    latency_p50: float | None
    latency_p95: float | None
    in_flight: float | None
    busy: float | None
    cost: float | None
    difference: float | None
    difference_low: float | None
    difference_high: float | None
    verdict: Verdict | None
    margin: float
    mde: float | None
    needed_n: int | None
    power: float | None
    bootstrap_low: float | None
    bootstrap_high: float | None
    tost_p: float | None
    mcnemar_p: float
    mcnemar_clustered: bool


@dataclass(frozen=True)
class Price:
    """What a million tokens cost, in any one currency.

    Args:
        input: of the prompt
        output: of the completion
    """

    input: float
    output: float


def scale_row(
    tracker: str,
    reference: str,
    agent: str,
    cases: Sequence[Case],
    against: Sequence[Case],
    ratios: Sequence[Mapping[str, Ratio]],
    usage: Usage,
    margin: float,
    *,
    size: float | None = None,
    price: Price | None = None,
) -> ScaleRow:
    """The row of a tracker with its `cases`, against the reference's on the same episodes.

    Cases that are ungraded for either are left out of the difference, and shown in coverage.
    """
    found = score_gain(cases, against, margin)
    score, credit, seen = mean_score(cases), car(cases), coverage(cases)
    both = [
        (one.grade.value, other.grade.value, one.cluster)
        for one, other in zip(cases, against, strict=True)
        if one.grade.value is not None and other.grade.value is not None
    ]
    a, b, clusters = [x for x, _, _ in both], [y for _, y, _ in both], [c for _, _, c in both]
    boot_low, boot_high = bootstrap(a, b, clusters) if both else (None, None)
    test = mcnemar([c.grade.full for c in cases], [c.grade.full for c in against], [c.cluster for c in cases])
    per_turn = None if not usage.prompts else 1 / usage.prompts
    cost = None
    if price is not None and per_turn is not None:
        cost = (usage.prompt_tokens * price.input + usage.completion_tokens * price.output) / 1e6 * per_turn * 1000
    return ScaleRow(
        tracker,
        reference,
        "unified re-run",
        agent,
        size,
        len(both),
        len(set(clusters)),
        None if score is None else score.mean,
        None if score is None else score.low,
        None if score is None else score.high,
        None if credit is None else credit.mean,
        None if seen is None else seen.mean,
        {metric: _share(ratios, metric) for metric in STATE_METRICS},
        _share(ratios, "decode_tokens") or 0.0,
        per_turn and usage.seconds * per_turn,
        per_turn and usage.cpu_seconds * per_turn,
        usage.mean_latency,
        usage.latency(50),
        usage.latency(95),
        usage.in_flight,
        usage.busy_share,
        cost,
        None if found is None else found.mean,
        None if found is None else found.low,
        None if found is None else found.high,
        None if found is None else found.verdict,
        margin,
        None if found is None else found.mde,
        None if found is None else found.needed_n,
        None if found is None else found.power,
        boot_low,
        boot_high,
        tost(a, b, clusters, margin) if both else None,
        test.p,
        test.clustered,
    )


def _share(ratios: Sequence[Mapping[str, Ratio]], metric: str) -> float | None:
    pairs = [found[metric] for found in ratios if metric in found]
    size = sum(of for _, of in pairs)
    return sum(count for count, _ in pairs) / size if size else None


def scale_blocks(what: str, rows: Sequence[ScaleRow], comparisons: Mapping[str, Comparison]) -> list[Block]:
    """The report's blocks: plot, table, verdicts in words. `rows` hold the reference's own, whose tracker it names."""
    ordered = sorted(rows, key=lambda row: (row.size is None, row.size or 0.0))
    reference = next(row for row in rows if row.tracker == row.reference)
    bars = [
        Bar(_label(row), row.mean_score, row.low or 0.0, row.high or 0.0, row is not reference)
        for row in ordered
        if row.mean_score is not None
    ]
    band = None
    if reference.mean_score is not None:
        band = Band(reference.tracker, reference.mean_score, reference.low or 0.0, reference.high or 0.0)
    scores = tuple(
        (
            _label(r),
            f"{number(r.mean_score)} ({span(r.low, r.high)})",
            number(r.car),
            *(number(r.state[metric]) for metric in STATE_METRICS[:3]),
            _difference(r),
            "reference" if r is reference else r.verdict or "–",
        )
        for r in ordered
    )
    found = ("mean score", "car", "exact state", "exact final state", "item F1", "against the reference", "verdict")
    costs = tuple(
        (
            _label(r),
            f"{r.decode_tokens:.1f}",
            *map(number, (r.seconds_per_turn, r.cpu_seconds_per_turn, r.latency_mean, r.latency_p50, r.latency_p95)),
            "–" if r.in_flight is None else f"{r.in_flight:.0%} / {r.busy:.0%}",
            number(r.cost),
        )
        for r in ordered
    )
    spent = ("tokens a turn", "s a turn", "CPU-s a turn", "latency, mean s", "p50", "p95", "server full / busy", "cost of 1,000")
    others = [row for row in ordered if row is not reference]
    return [
        Heading("Tracker scale", 1),
        Text(f"{what} The agent is {agent_words(reference.agent)}. Protocol: {reference.protocol}."),
        Text(
            "Every tracker folded the same dialogues and the same frozen agent answered from its state. The difference is "
            f"paired by case and clustered by source task; the margin is {reference.margin}."
        ),
        Figure(intervals(bars, "mean score, 95% interval", band), f"Mean score; the band is that of {reference.tracker}"),
        Table(("tracker", *found), scores),
        Heading("Verdicts"),
        *(Text(_words(row)) for row in others),
        *(Text(verdict_words(name, comparison)) for name, comparison in comparisons.items()),
        Heading("What a turn costs"),
        Text(
            "Seconds a turn are a turn's share of batched calls, latencies how long the model was at one turn: its request "
            "with a server, its batch in process. A server is full by its requests in flight over those allowed, and busy while "
            "it has any; what other clients ask of it is not seen."
        ),
        Table(("tracker", *spent), costs),
    ]  # fmt: skip


def _label(row: ScaleRow) -> str:
    return row.tracker if row.size is None else f"{row.tracker} ({row.size:g}B)"


def _difference(r: ScaleRow) -> str:
    return "–" if r.difference is None else f"{r.difference:+.3f} ({r.difference_low:+.3f} to {r.difference_high:+.3f})"


def _words(r: ScaleRow) -> str:
    name = f"{r.tracker} against {r.reference}"
    mean, low, high = r.difference, r.difference_low, r.difference_high
    if mean is None or low is None or high is None or r.mde is None or r.power is None or r.verdict is None:
        return f"{name}: nothing to compare, for no case was graded for both."
    return verdict_words(name, Comparison(mean, low, high, r.n, r.clusters, r.margin, r.mde, r.needed_n, r.power, r.verdict))
