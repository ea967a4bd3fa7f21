"""Replay evolving intentions through trackers: what they recover of them, and what acting on it is worth.

    python eval/intention_recovery.py --config configs/eval/intention_recovery/recovery.yaml

Fixed replay (IntentDelta, appendix B.1): the same ordered utterances for every arm; the tracker's state after every turn
is its predicted cumulative intention. The actor is scripted, no model: it acts on the predicted intention alone, so
action scores measure the recovered intention. Leaves in `out`: results.json (rows of arm, domain, condition, metric,
mean, low, high, n, agent), comparisons.json, turns.jsonl (predictions, actions and their scores), report.html, report.md.
Completions are journaled as they come: a run that was killed goes on where it stopped.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from intentfold.config import check_names, check_same_run, parse, record_run
from intentfold.domains.registry import RULES
from intentfold.metrics.document import Heading, Text
from intentfold.metrics.page import comparison_blocks, file_links, write_document
from intentfold.metrics.recovery import report
from intentfold.metrics.recovery.actions import score_actions
from intentfold.metrics.recovery.intention import score_intentions
from intentfold.metrics.recovery.judge import JudgeMatcher
from intentfold.metrics.recovery.matching import Matcher, RuleMatcher
from intentfold.metrics.statistics import MARGIN, Comparison
from intentfold.models import InProcessOptions
from intentfold.prompts.tracker import WINDOW, Codec
from intentfold.records import canonical_json, to_json, write_jsonl, write_text
from intentfold.runtime.backends import Model, check_answering
from intentfold.runtime.episodes import spread, track
from intentfold.runtime.journal import Journal, JournaledBackend
from intentfold.runtime.roles import require_separate
from intentfold.trajectory import as_episode, as_intention, read_trajectories

ACTOR = "scripted actor"


@dataclass(frozen=True)
class Arguments(InProcessOptions):
    """One recovery run.

    Args:
        trajectories: JSON lines of trajectories
        out: folder that the run leaves
        arms: the trackers, by name
        comparisons: pairs of arms whose paired difference, first − second, is reported, by name
        judge: the model that matches requirements; null for the rule
        margin: margin of equivalence and non-inferiority
        codec: what the trackers write
        window: how many messages the trackers see; 0 for all
        limit: run only so many trajectories, spread evenly over the file; 0 for all
        max_tokens: most tokens that a fold may write
    """

    trajectories: Path
    out: Path
    arms: dict[str, Model]
    comparisons: dict[str, tuple[str, str]] = field(default_factory=dict)
    judge: Model | None = None
    margin: float = MARGIN
    codec: Codec = "delta"
    window: int = WINDOW
    limit: int = 0
    max_tokens: int = 160

    def __post_init__(self) -> None:
        super().__post_init__()
        check_answering({"judge": self.judge})
        if self.limit < 0 or self.window < 0 or self.max_tokens < 1 or not 0 < self.margin < 1:
            raise ValueError("limit, window must be at least 0; max_tokens at least 1; margin between 0 and 1")
        check_names("arms", self.arms)
        check_names("comparisons", self.comparisons, self.arms)
        for name, pair in self.comparisons.items():
            if not set(pair) <= self.arms.keys():
                raise ValueError(f"comparisons.{name}: expected two of the arms {sorted(self.arms)}, got {list(pair)}")


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    for what, model in {"judge": args.judge, **{f"arms.{arm}": model for arm, model in args.arms.items()}}.items():
        if model is not None and (missing := model.missing(None if what == "judge" else args.codec, args.window or None)):
            raise SystemExit(f"{what}: {missing}")
    trajectories = spread(read_trajectories(args.trajectories), args.limit)
    if not trajectories:
        raise SystemExit(f"{args.trajectories}: no trajectories")
    check_same_run(args.out, args)
    record_run(args.out, args)
    completions = Journal(args.out / "completions.jsonl")
    backends = args.backends()
    matcher: Matcher = RuleMatcher()
    if args.judge is not None:  # with weights of its own: the trackers switch adapters on theirs
        matcher = JudgeMatcher(JournaledBackend(args.backends().make(args.judge), completions))
    episodes = [as_episode(trajectory, carry=True) for trajectory in trajectories]
    settings: dict[str, Any] = {"codec": args.codec, "window": args.window or None, "max_tokens": args.max_tokens}
    measured: dict[str, list[dict[str, report.Ratio]]] = {}
    rows: list[report.RecoveryRow] = []
    written: list[dict[str, Any]] = []
    for arm, model in args.arms.items():
        backend = backends.make(model, episodes, args.codec, args.window or None)
        require_separate(backend.name, {"judge": matcher.name})
        with tqdm(total=sum(len(episode.turns) for episode in episodes), desc=f"{arm}: folds") as bar:
            folds = track(
                episodes, JournaledBackend(backend, completions, chunk=2 * args.batch_size, progress=bar.update), **settings
            )
        predicted = [[as_intention(fold.state) for fold in own] for own in folds]
        intentions = score_intentions(trajectories, predicted, matcher)
        pairs = list(zip(trajectories, predicted, strict=True))
        acted = [[RULES[t.domain].choose(t.environment, p) for p in own] for t, own in tqdm(pairs, desc=f"{arm}: actions")]
        actions = [score_actions(t, own) for t, own in zip(trajectories, acted, strict=True)]
        measured[arm] = [report.measure(*scores) for scores in zip(intentions, actions, strict=True)]
        rows += report.rows(arm, ACTOR, trajectories, measured[arm])
        for parts in zip(trajectories, predicted, acted, intentions, actions, strict=True):
            written += report.turn_records(arm, *parts)
    rows += report.agreement_rows(ACTOR, trajectories, measured)
    comparisons: dict[str, Comparison] = {}
    for name, (a, b) in args.comparisons.items():
        found, compared = report.comparison_rows(name, (a, b), ACTOR, trajectories, (measured[a], measured[b]), args.margin)
        rows, comparisons = rows + found, comparisons | compared
    write_jsonl(args.out / "turns.jsonl", written)
    write_text(args.out / "comparisons.json", canonical_json({name: to_json(c) for name, c in comparisons.items()}) + "\n")
    what = f"{len(trajectories)} trajectories of {args.trajectories}; matcher {matcher.name}; actor: scripted, no model."
    write_text(args.out / "results.json", canonical_json([to_json(row) for row in rows]) + "\n")
    secondary = [name for name in comparisons if not name.endswith(tuple(f", {metric}" for metric in report.HEADLINES))]
    words = comparison_blocks(comparisons, secondary, "source records")
    blocks = [Heading("Intention recovery", 1), Text(what), report.table_block(rows), *words, *file_links(args.out)]
    write_document(args.out, "Intention recovery", blocks)
    print(report.table(rows))


if __name__ == "__main__":
    main()
