"""Trackers on people's own words: what each got right of the annotated states. Nothing is answered or scored.

    python eval/state_tracking.py --config configs/eval/state_tracking/multiwoz21.yaml

Leaves in `out`: results.json (rows of arm and metric), comparisons.json, folds.ARM.jsonl, report.html and report.md. Completions
are journaled: a run that was killed goes on where it stopped.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from intentfold.config import check_names, check_same_run, parse, record_run
from intentfold.graders import Grade
from intentfold.metrics import report
from intentfold.metrics.page import write_report
from intentfold.metrics.scores import Case
from intentfold.metrics.state import Ratio, fold_records, measure, rejections
from intentfold.metrics.statistics import MARGIN, Comparison
from intentfold.models import InProcessOptions
from intentfold.prompts.tracker import WINDOW, Codec
from intentfold.records import read_jsonl_quarantining, write_jsonl
from intentfold.runtime.backends import Model
from intentfold.runtime.episodes import spread, track, track_forced
from intentfold.runtime.journal import Journal, JournaledBackend
from intentfold.trace import Episode


@dataclass(frozen=True)
class Arguments(InProcessOptions):
    """One run over imported dialogues.

    Args:
        dialogues: JSON lines of episodes, as data_gen/import_dialogues.py leaves them
        out: folder that the run leaves
        arms: the trackers, by name
        comparisons: pairs of arms whose paired differences, first − second, are reported, by name
        margin: margin of equivalence and non-inferiority
        codec: what the trackers write
        window: how many messages the trackers see; 0 for all
        teacher_forced: also fold every turn from the annotated state, for exact edits
        limit: run only so many episodes, spread evenly over the file; 0 for all
        max_tokens: most tokens that a fold may write
    """

    dialogues: Path
    out: Path
    arms: dict[str, Model]
    comparisons: dict[str, tuple[str, str]] = field(default_factory=dict)
    margin: float = MARGIN
    codec: Codec = "delta"
    window: int = WINDOW
    teacher_forced: bool = True
    limit: int = 0
    max_tokens: int = 128

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.limit < 0 or self.window < 0 or self.max_tokens < 1 or not 0 < self.margin < 1:
            raise ValueError("limit, window must be at least 0; max_tokens at least 1; margin between 0 and 1")
        check_names("arms", self.arms, report.RESERVED)
        check_names("comparisons", self.comparisons, {*self.arms, *report.METRICS})
        for name, pair in self.comparisons.items():
            if not set(pair) <= self.arms.keys():
                raise ValueError(f"comparisons.{name}: expected two of the arms {sorted(self.arms)}, got {list(pair)}")


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    for arm, model in args.arms.items():
        if missing := model.missing(args.codec, args.window or None):
            raise SystemExit(f"arms.{arm}: {missing}")
    check_same_run(args.out, args)
    record_run(args.out, args)
    episodes, bad = read_jsonl_quarantining(args.dialogues, Episode, args.out / "quarantine.jsonl")
    episodes = spread(episodes, args.limit)
    if not episodes:
        raise SystemExit(f"{args.dialogues}: no episodes ({bad} bad lines)")
    backends, completions = args.backends(), Journal(args.out / "completions.jsonl")
    # Nobody answers: the cases only say which episodes share an origin.
    cases = [Case(episode.id, episode.task.origin, Grade(None, False, "nothing to answer")) for episode in episodes]
    settings: dict[str, Any] = {"codec": args.codec, "window": args.window or None, "max_tokens": args.max_tokens}
    folds = sum(len(episode.turns) for episode in episodes) * (1 + args.teacher_forced)
    rows: list[report.Row] = []
    states: dict[str, list[dict[str, Ratio]]] = {}
    rejected: dict[str, Counter[str]] = {}
    for arm, model in args.arms.items():
        backend = backends.make(model, episodes, args.codec, args.window or None)
        with tqdm(total=folds, desc=f"{arm}: folds") as bar:
            served = JournaledBackend(backend, completions, chunk=2 * args.batch_size, progress=bar.update)
            own = track(episodes, served, **settings)
            forced = track_forced(episodes, served, **settings) if args.teacher_forced else None
        states[arm] = [measure(e, own[n], forced[n] if forced else None) for n, e in enumerate(episodes)]
        rejected[arm] = rejections([fold for folds in own for fold in folds])
        write_jsonl(args.out / f"folds.{arm}.jsonl", fold_records(episodes, own))
        rows += report.state_rows(arm, report.NO_ARM, episodes, states[arm], cases)
    comparisons: dict[str, Comparison] = {}
    for name, (a, b) in args.comparisons.items():
        found = report.state_comparisons(name, states[a], states[b], cases, args.margin)
        rows += [report.row(a, "tracker", key, one, report.NO_ARM) for key, one in found.items()]
        comparisons |= found
    rows = [replace(row, protocol="state-tracking") for row in rows]
    what = f"{len(episodes)} episodes of {args.dialogues}, {bad} bad lines set aside; codec {args.codec}, window {args.window}."
    write_report(args.out, what, report.NO_ARM, rows, comparisons, rejected, title="State tracking", secondary=comparisons)
    print(report.table([row for row in rows if row.metric in ("exact_state", "exact_final_state", "item_f1", "exact_edits")]))


if __name__ == "__main__":
    main()
