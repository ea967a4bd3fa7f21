"""The report of an evaluation, for someone who never saw the code: report.html and report.md beside its logs."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from intentfold.metrics.document import Block, Figure, Heading, Links, Pair, Table, Text, to_html, to_markdown
from intentfold.metrics.report import NO_ARM, Row
from intentfold.metrics.statistics import Comparison
from intentfold.metrics.svg import Bar, intervals
from intentfold.records import canonical_json, from_json, to_json, write_text
from intentfold.runtime.scripted import ExecutorAgent
from intentfold.trace import Episode

WORST = 3
CONDITIONS = {
    "clean": "the final wishes in one fully specified request",
    "no_drift": "the final wishes first, then as many turns without a change",
    "drift": "the dialogue with its changes of mind, and nothing else",
    "oracle_state": "the dialogue with the exact list of what holds now",
    "recap": "the dialogue with a recap of itself in the place of that list",
    "summarize": "older messages replaced by a rolling summary",
    "compact": "older replies cleared, then older messages summarised where that was not enough",
    "tracker": "the dialogue with the list that the tracker keeps of what holds now",
    "drift_restated, diagnostic": "drift, with all final wishes said again at its end: a diagnostic, no result",
    "no_invalidation": "tracker, with the conclusions shown that changes have made stale",
    "no_format_tracker": "tracker, without the separate tracker of output conventions",
    "no_gate": "tracker, without the final check of the answer's form",
    "state_only": "tracker, without the dialogue before the last turn",
}
HEADLINES = ("mean_score", "car", "coverage", "idg")
VERDICTS = {
    "superior": "is better: its interval lies above 0",
    "equivalent": "is equivalent: whatever difference there is lies within the margin of {margin}",
    "non-inferior": "is not worse by as much as the margin of {margin}; that it is better is not shown",
    "inferior": "is worse: its interval lies below 0",
    "inconclusive": "cannot be told from the other: neither a difference nor its absence is shown",
}


def write_report(
    folder: Path,
    what: str,
    agent: str,
    rows: Sequence[Row],
    comparisons: Mapping[str, Comparison],
    rejected: Mapping[str, Counter[str]],
    episodes: Sequence[Episode] = (),
    title: str = "Closed loop",
    secondary: Collection[str] = (),
) -> None:
    """Write results.json, comparisons.json, about.json, report.html and report.md; `rejected` counts reasons by arm.

    Comparisons that `secondary` names stand in the table alone, without words. With `episodes` the
    reports show the worst cases, from the folder's cases.jsonl and folds.ARM.jsonl.
    """
    write_text(folder / "results.json", canonical_json([to_json(r) for r in rows]) + "\n")
    write_text(folder / "comparisons.json", canonical_json({name: to_json(c) for name, c in comparisons.items()}) + "\n")
    about = {"title": title, "what": what, "agent": agent, "rejected": rejected, "secondary": sorted(secondary)}
    write_text(folder / "about.json", canonical_json(about) + "\n")
    write_pages(folder, episodes)


def write_pages(folder: Path, episodes: Sequence[Episode] = ()) -> None:
    """Write report.html and report.md anew from a folder's files. Raises `FileNotFoundError` for one without results."""
    about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    rows = [from_json(Row, row) for row in json.loads((folder / "results.json").read_text(encoding="utf-8"))]
    found = json.loads((folder / "comparisons.json").read_text(encoding="utf-8"))
    comparisons = {name: from_json(Comparison, c) for name, c in found.items()}
    blocks = [
        *_opening(about, rows),
        Heading("Scores"),
        _scores_figure(rows),
        _headlines(rows),
        *comparison_blocks(comparisons, about.get("secondary", ())),  # folders of older runs name none
        Heading("What the trackers got right, and all other numbers"),
        row_table(rows, "All rows"),
        *_rejections(about["rejected"]),
        *worst_cases(folder, episodes),
        *file_links(folder),
    ]
    write_document(folder, about["title"], blocks)


def write_document(folder: Path, title: str, blocks: Sequence[Block]) -> None:
    """report.html and report.md of these blocks."""
    write_text(folder / "report.html", to_html(title, blocks))
    write_text(folder / "report.md", to_markdown(blocks))


def _opening(about: Mapping[str, Any], rows: Sequence[Row]) -> list[Block]:
    shown = dict.fromkeys(row.condition for row in rows if row.condition in CONDITIONS)
    protocols = ", ".join(dict.fromkeys(row.protocol for row in rows))
    return [
        Heading(about["title"], 1),
        Text(f"{about['what']} The agent is {agent_words(about['agent'])}. Protocol: {protocols}."),
        Text(
            "mean_score averages the tasks' own grades over graded cases; car is the share of all cases with full credit, an "
            "ungraded case earning none; coverage is the share that could be graded; idg is the case-paired difference "
            "clean − condition in full credit. Intervals are at 95%, clustered by the origin of the source task."
        ),
        Table(("condition", "what the agent is given"), tuple((name, CONDITIONS[name]) for name in shown)),
    ]


def agent_words(agent: str) -> str:
    """How a report names the agent."""
    return "the state executor: no model, so the score measures the tracker" if agent == ExecutorAgent.name else agent


def _scores_figure(rows: Sequence[Row]) -> Figure:
    bars = [
        Bar(_name(row), row.mean, row.low or 0.0, row.high or 0.0, row.condition == "tracker")
        for row in rows
        if row.metric == "mean_score" and row.mean is not None
    ]
    return Figure(intervals(bars, "mean score, 95% interval"), "Mean score by condition; trackers in blue")


def _headlines(rows: Sequence[Row]) -> Table:
    """One line a condition."""
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        if row.metric in HEADLINES:
            shown = number(row.mean) if row.mean is None else f"{number(row.mean)} ({span(row.low, row.high)})"
            found.setdefault(_name(row), {"n": str(row.n)})[row.metric] = shown
    lines = tuple((name, *(cells.get(metric, "–") for metric in HEADLINES), cells["n"]) for name, cells in found.items())
    return Table(("condition or tracker", *HEADLINES, "n"), lines)


def _name(row: Row) -> str:
    if row.arm == NO_ARM:
        return row.condition
    return row.arm if row.condition == "tracker" else f"{row.arm}, {row.condition}"


def row_table(rows: Sequence[Row], folded: str = "") -> Table:
    """Rows with their intervals."""
    return Table(
        ("arm", "condition", "metric", "mean", "95% interval", "n", "protocol"),
        tuple(
            (r.arm, r.condition, r.metric, number(r.mean), span(r.low, r.high), str(r.n), r.protocol)
            for r in rows
        ),
        folded,
    )  # fmt: skip


def number(value: float | None) -> str:
    """Three digits, or a dash for nothing."""
    return "–" if value is None else f"{value:.3f}"


def span(low: float | None, high: float | None) -> str:
    """An interval, or a dash for none."""
    return "–" if low is None or high is None else f"{low:.3f} to {high:.3f}"


def comparison_blocks(
    comparisons: Mapping[str, Comparison], secondary: Collection[str] = (), clusters: str | Mapping[str, str] = "source tasks"
) -> list[Block]:
    """Each comparison in words, but for the `secondary` ones, and the table of their numbers.

    `clusters` says what the clusters are, by comparison where they differ.
    """
    if not comparisons:
        return []
    header = ("comparison", "difference", "95% interval", "n", "clusters", "margin", "detectable", "cases to settle", "verdict")
    table = tuple(
        (
            name,
            f"{c.mean:+.3f}",
            f"{c.low:+.3f} to {c.high:+.3f}",
            *map(str, (c.n, c.clusters, c.margin)),
            f"{c.mde:.3f}",
            str(c.needed_n),
            c.verdict,
        )
        for name, c in comparisons.items()
    )
    order = (
        "A verdict is the first of these that holds: superior (the interval lies above 0), equivalent (it lies within the "
        "margin on both sides), non-inferior (it lies above minus the margin), inferior (it lies below 0), inconclusive. "
        "Inconclusive never means equal."
    )
    nouns = {name: clusters if isinstance(clusters, str) else clusters[name] for name in comparisons}
    words = [Text(verdict_words(name, c, nouns[name])) for name, c in comparisons.items() if name not in secondary]
    return [Heading("Comparisons"), Text(order), *words, Table(header, table)]


def verdict_words(name: str, c: Comparison, clusters: str = "source tasks") -> str:
    """One comparison as sentences."""
    says = VERDICTS[c.verdict].format(margin=c.margin)
    words = f"{name}: the first {says} ({c.mean:+.3f}, {c.low:+.3f} to {c.high:+.3f}, {c.n} cases of {c.clusters} {clusters})."
    if c.verdict in ("inconclusive", "non-inferior"):
        words += f" A difference of {c.mde:.3f} would have been found with a power of 0.8."
        if c.needed_n is not None:
            words += f" About {c.needed_n} cases as noisy as these would settle it."
    return words


def _rejections(rejected: Mapping[str, Mapping[str, int]]) -> list[Block]:
    rows = tuple((arm, reason, str(times)) for arm, found in rejected.items() for reason, times in Counter(found).most_common())
    return [Heading("Rejected edits"), Table(("arm", "reason", "times"), rows)] if rows else []


def worst_cases(folder: Path, episodes: Sequence[Episode]) -> list[Block]:
    """For each tracker the cases that it lost furthest below the oracle's state, with dialogue and both states."""
    if not episodes or not (folder / "cases.jsonl").is_file():
        return []
    cases = [json.loads(line) for line in (folder / "cases.jsonl").read_text(encoding="utf-8").splitlines()]
    graded = {(c["arm"], c["condition"], c["episode"]): c for c in cases if c["grade"]["value"] is not None}
    by_id = {episode.id: episode for episode in episodes}
    blocks: list[Block] = []
    for arm in dict.fromkeys(c["arm"] for c in cases if c["condition"] == "tracker"):
        turns: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        for line in (folder / f"folds.{arm}.jsonl").read_text(encoding="utf-8").splitlines():
            turn = json.loads(line)
            turns[turn["episode"]].append(turn)
        lost = []
        for (_, _, id), case in ((key, c) for key, c in graded.items() if key[:2] == (arm, "tracker")):
            oracle = graded.get((NO_ARM, "oracle_state", id))
            gap = 0.0 if oracle is None else oracle["grade"]["value"] - case["grade"]["value"]
            if gap > 0 and id in by_id:
                lost.append((-gap, id, case))
        for gap, id, case in sorted(lost, key=lambda entry: entry[:2])[:WORST]:
            blocks += _worst(arm, by_id[id], turns[id], case, -gap)
    return [Heading("Worst cases"), *blocks] if blocks else []


def _worst(arm: str, episode: Episode, turns: Sequence[Mapping[str, Any]], case: Mapping[str, Any], gap: float) -> list[Block]:
    rows = tuple(
        (turn.user, fold["wrote"], fold["oracle"], "yes" if fold["right"] else "no", turn.reply)
        for turn, fold in zip(episode.turns, turns, strict=True)
    )
    last = turns[-1]
    return [
        Heading(f"{arm}: {episode.id}, {gap:.2f} below the oracle's state", 3),
        Table(("user", f"{arm} wrote", "right edits", "state right after it", "agent"), rows),
        Pair((f"state of {arm} at the end", last["state"]), ("right state at the end", last["oracle_state"])),
        Pair(("answer", case["answer"]), ("grade", f"{case['grade']['value']:.2f}: {case['grade']['reason']}")),
    ]


def file_links(folder: Path) -> list[Block]:
    """Links to what the run left beside the report."""
    names = tuple(sorted(path.name for path in folder.iterdir() if path.suffix in (".json", ".jsonl", ".yaml", ".png")))
    return [Heading("Logs and files"), Links(names)]
