"""Tracker scale: any number of trackers against one reference, on the same cases with the same frozen agent.

    python eval/tracker_scale.py --config configs/eval/tracker_scale/smollm2.yaml

Leaves in `out`: results.json (a row a tracker: scores, state metrics, tokens, seconds, cost, and against the reference
the paired difference with verdict, margin, mde and needed_n), rows.json (every metric with its interval), comparisons.json,
cases.jsonl, folds.NAME.jsonl, report.html and report.md. Killed and started again it goes on where it stopped.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from intentfold.config import check_names, check_same_run, parse, record_run
from intentfold.metrics import report
from intentfold.metrics.cases import Bench
from intentfold.metrics.page import file_links, worst_cases, write_document
from intentfold.metrics.scale import Price, ScaleRow, scale_blocks, scale_row
from intentfold.metrics.state import Ratio, fold_records, measure
from intentfold.metrics.statistics import MARGIN
from intentfold.models import InProcessOptions
from intentfold.prompts.tracker import WINDOW, Codec
from intentfold.records import canonical_json, read_jsonl_quarantining, to_json, write_jsonl, write_text
from intentfold.runtime.backends import Model, check_answering
from intentfold.runtime.episodes import CONTROLS, control_view, spread, track, tracker_view
from intentfold.runtime.journal import Journal, JournaledBackend
from intentfold.runtime.model_agent import ModelAgent
from intentfold.runtime.roles import Agent
from intentfold.runtime.scripted import ExecutorAgent
from intentfold.runtime.timing import TimedBackend, Usage
from intentfold.trace import Episode


@dataclass(frozen=True)
class Arguments(InProcessOptions):
    """One scale run.

    Args:
        episodes: JSON lines of episodes
        out: folder that the run leaves
        trackers: the trackers by name, the reference among them
        reference: the tracker that the others are compared with
        pairs: more comparisons, first − second, by name
        sizes: billions of parameters by tracker, for the plot
        prices: what a million tokens cost by tracker
        agent: the model that answers; null for the state executor, which is no model
        margin: margin of equivalence and non-inferiority
        codec: what the trackers write
        window: how many messages the trackers see; 0 for all
        limit: run only so many episodes, spread evenly over the file; 0 for all
        max_tokens: most tokens that a fold may write
    """

    episodes: Path
    out: Path
    trackers: dict[str, Model]
    reference: str
    pairs: dict[str, tuple[str, str]] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)
    prices: dict[str, Price] = field(default_factory=dict)
    agent: Model | None = None
    margin: float = MARGIN
    codec: Codec = "delta"
    window: int = WINDOW
    limit: int = 0
    max_tokens: int = 128

    def __post_init__(self) -> None:
        super().__post_init__()
        check_answering({"agent": self.agent})
        named = {"reference": [self.reference], "sizes": self.sizes, "prices": self.prices}
        named |= {f"pairs.{name}": pair for name, pair in self.pairs.items()}
        for what, names in named.items():
            if unknown := sorted(set(names) - self.trackers.keys()):
                raise ValueError(f"{what}: expected trackers among {sorted(self.trackers)}, got {unknown}")
        check_names("trackers", self.trackers, report.RESERVED)
        check_names("pairs", self.pairs)
        if self.limit < 0 or self.window < 0 or self.max_tokens < 1 or not 0 < self.margin < 1:
            raise ValueError("limit, window must be at least 0; max_tokens at least 1; margin between 0 and 1")


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    for what, model in {"agent": args.agent, **{f"trackers.{name}": model for name, model in args.trackers.items()}}.items():
        if model is not None and (missing := model.missing(None if what == "agent" else args.codec, args.window or None)):
            raise SystemExit(f"{what}: {missing}")
    check_same_run(args.out, args)
    record_run(args.out, args)
    episodes, bad = read_jsonl_quarantining(args.episodes, Episode, args.out / "quarantine.jsonl")
    episodes = spread(episodes, args.limit)
    if not episodes:
        raise SystemExit(f"{args.episodes}: no episodes ({bad} bad lines)")
    completions, timings = Journal(args.out / "completions.jsonl"), Journal(args.out / "timings.jsonl")
    agent: Agent = ExecutorAgent()
    if args.agent is not None:
        agent = ModelAgent(JournaledBackend(args.backends().make(args.agent), completions))
    bench = Bench(episodes, agent, Journal(args.out / "grades.jsonl"), "unified re-run")
    for control in CONTROLS:
        views = [control_view(episode, control, executor=args.agent is None) for episode in episodes]
        bench.run(control, report.NO_ARM, control, views)

    backends = args.backends()
    settings: dict[str, Any] = {"codec": args.codec, "window": args.window or None, "max_tokens": args.max_tokens}
    states: dict[str, list[dict[str, Ratio]]] = {}
    usage: dict[str, Usage] = {}
    for name, model in args.trackers.items():
        backend = TimedBackend(backends.make(model, episodes, args.codec, args.window or None), timings)
        with tqdm(total=sum(len(episode.turns) for episode in episodes), desc=f"{name}: folds") as bar:
            served = JournaledBackend(backend, completions, chunk=2 * args.batch_size, progress=bar.update)
            own = track(episodes, served, **settings)
        usage[name] = backend.usage()
        states[name] = [measure(episode, own[n]) for n, episode in enumerate(episodes)]
        write_jsonl(args.out / f"folds.{name}.jsonl", fold_records(episodes, own))
        cases = bench.run(name, name, "tracker", [tracker_view(episode, own[n]) for n, episode in enumerate(episodes)])
        bench.add(report.state_rows(name, agent.name, episodes, states[name], cases))
    rows: list[ScaleRow] = []
    for name in args.trackers:
        size, price = args.sizes.get(name), args.prices.get(name)
        both = bench.scores[name], bench.scores[args.reference]
        one = scale_row(name, args.reference, agent.name, *both, states[name], usage[name], args.margin, size=size, price=price)
        rows.append(one)
    compared = {name: bench.compare(a, b, args.margin) for name, (a, b) in args.pairs.items()}
    comparisons = {name: found for name, found in compared.items() if found is not None}
    write_text(args.out / "results.json", canonical_json([to_json(row) for row in rows]) + "\n")
    write_text(args.out / "rows.json", canonical_json([to_json(row) for row in bench.rows]) + "\n")
    write_text(args.out / "comparisons.json", canonical_json({name: to_json(c) for name, c in comparisons.items()}) + "\n")
    write_jsonl(args.out / "cases.jsonl", bench.records)
    what = f"{len(episodes)} episodes of {args.episodes}, {bad} bad lines set aside; codec {args.codec}, window {args.window}."
    if lost := sorted(compared.keys() - comparisons.keys()):
        what += f" Nothing to compare, for no case was graded on both sides: {', '.join(lost)}."
    blocks = [*scale_blocks(what, rows, comparisons), *worst_cases(args.out, episodes), *file_links(args.out)]
    write_document(args.out, "Tracker scale", blocks)
    for row in rows:
        gain = "nothing to compare" if row.difference is None else f"{row.difference:+.3f}"
        print(f"{row.tracker}: {row.mean_score} ({gain} against {row.reference}): {row.verdict}")


if __name__ == "__main__":
    main()
