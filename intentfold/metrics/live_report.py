"""The rows and the report of an evaluation of learned assets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from intentfold.asset import Situation
from intentfold.metrics import live
from intentfold.metrics.document import Heading, Text
from intentfold.metrics.page import comparison_blocks, file_links, row_table, write_document
from intentfold.metrics.report import Row, row, under
from intentfold.metrics.statistics import Comparison, Interval, interval
from intentfold.records import canonical_json, to_json, write_text
from intentfold.runtime.selection import Selector
from intentfold.trace import LearningHistory, Ledger, LiveRun, Pair

DEPTHS = (1, 2, 3, 4, 5)


def live_rows(runs: Sequence[LiveRun], agent: str) -> list[Row]:
    """Every metric of each method over each kind of target and rates of the agent."""
    groups: dict[tuple[str, str], list[LiveRun]] = {}
    for run in runs:
        groups.setdefault((run.method, run.kind), []).append(run)
    return [
        row(method, kind, metric, found, agent)
        for (method, kind), some in groups.items()
        for metric, found in live.measures(some).items()
    ]


def recall_rows(pairs: Sequence[Pair], situations: Mapping[str, Sequence[Situation]], selector: Selector) -> list[Row]:
    """Recall@k of source histories: the situations of all users pooled, each eligible history's own request asked.

    Eligible are histories with at least three deliveries, feedback that names a discrepancy, a stated requirement, and
    acceptance (LiveAsset, 4.4.2). Two retrieval runs of a deterministic selector are the same: one is made.
    """
    pool = [situation for user in sorted(situations) for situation in situations[user]]
    hits: list[tuple[str, list[float]]] = []
    for history, ledger in pairs:
        if not eligible(history, ledger):
            continue
        ranked = [pool[place].sources for place in selector.rank(history.request, pool)]
        hits.append((history.user, [float(any(history.id in sources for sources in ranked[:k])) for k in DEPTHS]))
    clusters = [user for user, _ in hits]
    found: list[tuple[int, Interval | None]] = [
        (k, interval([hit[place] for _, hit in hits], [1.0] * len(hits), clusters)) for place, k in enumerate(DEPTHS)
    ]
    return [row(selector.name, "selection", f"recall@{k}", one, "-") for k, one in found]


def building_rows(learned: Mapping[str, Mapping[str, int]], indexed: int | None, users: Sequence[str]) -> list[Row]:
    """Tokens that building assets took, a user: by who learned, and for vectors of situations where an embedder has them.

    `learned` holds the tokens of each user under the learner's arm; empty for one without a model, who takes none. `indexed`
    are those of all users.
    """
    rows = []
    for arm, tokens in learned.items():
        taken = [float(tokens.get(user, 0)) for user in users]
        found = interval(taken, [1.0] * len(users), users, proportion=False) if tokens else None
        rows.append(row(arm, "building", "tokens a user", found, "-"))
    if indexed is not None:
        rows.append(Row("embedding", "building", "tokens a user", indexed / len(users), None, None, len(users), "-"))
    return rows


def scripted_roles(runs: Sequence[LiveRun], learner: str) -> str:
    """A sentence on which roles no model plays: they take no tokens."""
    played = {role for run in runs for role in run.tokens}
    roles = [*(role for role in live.ROLES if role not in played), *([] if learner == "model" else ["learner"])]
    return f"No model plays {', '.join(roles)}: no tokens are counted for that." if roles else "Models play every role."


def eligible(history: LearningHistory, ledger: Ledger) -> bool:
    """Whether a history counts for the recall of selection."""
    deliveries = sum(bool(found) for found in ledger.assessments)
    return deliveries >= 3 and any(ledger.discrepancies) and any(ledger.stated) and bool(history.closing)


SCRIPTED = (
    "The agent is scripted: no model, so nothing here says how a language model would fare. It reads requirements and messages,"
    " and no explanations; what it is not told it gets right at a fixed rate."
)


def write_live_report(folder: Path, what: str, rows: Sequence[Row], comparisons: Mapping[str, Comparison], agent: str) -> None:
    """Write results.json, comparisons.json, report.html and report.md."""
    write_text(folder / "results.json", canonical_json([to_json(r) for r in under("live-assets", rows)]) + "\n")
    write_text(folder / "comparisons.json", canonical_json({name: to_json(c) for name, c in comparisons.items()}) + "\n")
    text = (
        f"{what} {SCRIPTED if agent == 'scripted' else f'The agent is {agent}.'} Satisfaction is that of the executed checks"
        " over exposed requirements that apply, the executions of a target averaged, targets weighing the same. Tokens are those"
        " of prompts and completions, each once, without collection and evaluation. Intervals are at 95%, clustered by user."
        " What is compared is satisfaction."
    )
    blocks = [
        Heading("Live assets", 1),
        Text(text),
        row_table(under("live-assets", rows)),
        *comparison_blocks(comparisons, (), "users"),
    ]
    write_document(folder, "Live assets", [*blocks, *file_links(folder)])
