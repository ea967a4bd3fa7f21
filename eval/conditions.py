"""The harnesses on the same cases: controls, compressed histories, a recap, trackers of both codecs, and ablations.

    python eval/conditions.py --config configs/eval/conditions/scripted.yaml

Leaves in `out`: results.json (rows of arm, condition, metric, mean, low, high, n, agent, protocol), comparisons.json,
cases.jsonl, folds.ARM.jsonl, report.md and report.html. Completions and grades are journaled: a run that was killed
goes on where it stopped.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tqdm import tqdm

from intentfold.config import check_names, check_same_run, parse, record_run
from intentfold.metrics import report
from intentfold.metrics.cases import Bench
from intentfold.metrics.compression import superseded_kept
from intentfold.metrics.page import write_report
from intentfold.metrics.state import fold_records, measure, rejections
from intentfold.metrics.statistics import MARGIN
from intentfold.models import InProcessOptions
from intentfold.prompts.tracker import WINDOW, Codec
from intentfold.records import read_jsonl_quarantining, write_jsonl
from intentfold.runtime.backends import Model, check_answering
from intentfold.runtime.compress import COMPRESSIONS, Budget, ExtractiveSummariser, ModelSummariser, Summariser, compressions
from intentfold.runtime.conditions import ABLATIONS, Ablation, ablated_view, compressed_view
from intentfold.runtime.episodes import CONTROLS, control_view, spread, track, tracker_view
from intentfold.runtime.journal import Journal, JournaledBackend
from intentfold.runtime.model_agent import ModelAgent
from intentfold.runtime.roles import Agent
from intentfold.runtime.scripted import ExecutorAgent
from intentfold.trace import Episode


@dataclass(frozen=True)
class Arguments(InProcessOptions):
    """One run of the conditions.

    Args:
        episodes: JSON lines of episodes
        out: folder that the run leaves
        trackers: the trackers, by name
        codecs: what each tracker writes, delta where it is not named
        agent: the model that answers; null for the state executor, which is no model
        summariser: the model that summarises; null for the extractive one, the only one that the state executor can read
        budget: when a history is compressed, and to what
        ablations: parts of the harness that are taken out of every tracker's condition, one at a time
        comparisons: pairs of conditions (drift, recap, NAME, NAME-no_gate, …) whose difference, first − second, is reported
        margin: margin of equivalence and non-inferiority
        window: how many messages the trackers see; 0 for all
        limit: run only so many episodes, spread evenly over the file; 0 for all
        max_tokens: most tokens that a fold may write
    """

    episodes: Path
    out: Path
    trackers: dict[str, Model]
    codecs: dict[str, Codec] = field(default_factory=dict)
    agent: Model | None = None
    summariser: Model | None = None
    budget: Budget = field(default_factory=Budget)
    ablations: list[Ablation] = field(default_factory=lambda: list(ABLATIONS))
    comparisons: dict[str, tuple[str, str]] = field(default_factory=dict)
    margin: float = MARGIN
    window: int = WINDOW
    limit: int = 0
    max_tokens: int = 256

    def __post_init__(self) -> None:
        super().__post_init__()
        check_answering({"agent": self.agent, "summariser": self.summariser})
        ablated = {f"{tracker}-{ablation}" for tracker in self.trackers for ablation in self.ablations}
        check_names("trackers", self.trackers, {*report.RESERVED, *ablated})
        check_names("comparisons", self.comparisons)
        known = {*CONTROLS, *COMPRESSIONS, *self.trackers, *ablated}
        for name, pair in self.comparisons.items():
            if not set(pair) <= known:
                raise ValueError(f"comparisons.{name}: expected two of {sorted(known)}, got {list(pair)}")
        if not self.codecs.keys() <= self.trackers.keys():
            raise ValueError(f"codecs: expected some of the trackers {sorted(self.trackers)}, got {sorted(self.codecs)}")
        if self.agent is None and self.summariser is not None:
            raise ValueError("summariser: the state executor reads no summary that a model wrote; leave it null")
        if self.limit < 0 or self.window < 0 or self.max_tokens < 1 or not 0 < self.margin < 1:
            raise ValueError("limit, window must be at least 0; max_tokens at least 1; margin between 0 and 1")


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    roles = {"agent": args.agent, "summariser": args.summariser, **{f"trackers.{t}": m for t, m in args.trackers.items()}}
    for what, model in roles.items():
        codec = args.codecs.get(what.removeprefix("trackers."), "delta") if "." in what else None
        if model is not None and (missing := model.missing(codec, args.window or None)):
            raise SystemExit(f"{what}: {missing}")
    check_same_run(args.out, args)
    record_run(args.out, args)
    episodes, bad = read_jsonl_quarantining(args.episodes, Episode, args.out / "quarantine.jsonl")
    episodes = spread(episodes, args.limit)
    if not episodes:
        raise SystemExit(f"{args.episodes}: no episodes ({bad} bad lines)")
    completions = Journal(args.out / "completions.jsonl")
    agent: Agent = ExecutorAgent()
    if args.agent is not None:
        agent = ModelAgent(JournaledBackend(args.backends().make(args.agent), completions))
    summariser: Summariser = ExtractiveSummariser()
    if args.summariser is not None:
        summariser = ModelSummariser(JournaledBackend(args.backends().make(args.summariser), completions))
    bench = Bench(episodes, agent, Journal(args.out / "grades.jsonl"), "general-test")

    executor = args.agent is None
    for control in CONTROLS:
        bench.run(control, report.NO_ARM, control, [control_view(episode, control, executor=executor) for episode in episodes])
    bench.share(report.NO_ARM, "drift", "superseded_kept", [superseded_kept(episode, episode.drift()) for episode in episodes])
    for condition in COMPRESSIONS:
        histories = compressions(condition, episodes, summariser, args.budget)
        pairs = list(zip(episodes, histories, strict=True))
        bench.run(condition, report.NO_ARM, condition, [compressed_view(e, h, condition, executor=executor) for e, h in pairs])
        bench.share(report.NO_ARM, condition, "superseded_kept", [superseded_kept(e, h.dialogue) for e, h in pairs])
        bench.share(report.NO_ARM, condition, "compressed", [(h.summaries > 0, 1.0) for h in histories])
    rejected: dict[str, Counter[str]] = {}
    backends, window = args.backends(), args.window or None
    for arm, model in args.trackers.items():
        codec = args.codecs.get(arm, "delta")
        with tqdm(total=sum(len(episode.turns) for episode in episodes), desc=f"{arm}: folds") as bar:
            backend = JournaledBackend(backends.make(model, episodes, codec, window), completions, progress=bar.update)
            own = track(episodes, backend, codec=codec, window=window, max_tokens=args.max_tokens)
        write_jsonl(args.out / f"folds.{arm}.jsonl", fold_records(episodes, own))
        rejected[arm] = rejections([fold for folds in own for fold in folds])
        pairs_own = list(zip(episodes, own, strict=True))
        cases = bench.run(arm, arm, "tracker", [tracker_view(e, folds) for e, folds in pairs_own])
        bench.add(report.state_rows(arm, agent.name, episodes, [measure(e, folds) for e, folds in pairs_own], cases))
        for ablation in args.ablations:
            views = [ablated_view(e, folds, ablation) for e, folds in pairs_own]
            bench.run(f"{arm}-{ablation}", arm, ablation, views, gate=ablation != "no_gate")
    compared = {name: bench.compare(a, b, args.margin) for name, (a, b) in args.comparisons.items()}
    comparisons = {name: found for name, found in compared.items() if found is not None}
    what = f"{len(episodes)} episodes of {args.episodes}, {bad} bad lines set aside; summaries: {summariser.name}."
    if executor:
        what += " The state executor reads neither history nor conclusions: no_invalidation and state_only cannot move it."
    if lost := sorted(compared.keys() - comparisons.keys()):
        what += f" Nothing to compare, for no case was graded on both sides: {', '.join(lost)}."
    write_jsonl(args.out / "cases.jsonl", bench.records)
    write_report(args.out, what, agent.name, bench.rows, comparisons, rejected, episodes, "Harnesses on the same cases")
    print(report.table([row for row in bench.rows if row.metric in ("mean_score", "car", "superseded_kept")]))


if __name__ == "__main__":
    main()
