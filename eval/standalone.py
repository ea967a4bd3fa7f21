"""Agents alone with the dialogue, without tracker or harness: before and after training, on drifting and on clean requests.

    python eval/standalone.py --config configs/eval/standalone/demo.yaml

Each agent answers greedily, and `samples` times more at `temperature` (avg@k). Leaves in `out`: results.json (rows of arm,
condition, metric, mean, low, high, n, agent, protocol), comparisons.json, cases.jsonl (thoughts, answers and grades), report.html
and report.md. Completions and grades are journaled as they come: a run that was killed goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from tqdm import tqdm

from intentfold.config import check_names, check_same_run, parse, record_run
from intentfold.graders import grade
from intentfold.metrics import report
from intentfold.metrics.page import write_report
from intentfold.metrics.scores import Case, mean_score, score_gain
from intentfold.metrics.standalone import Answered, average, thinking_rows
from intentfold.metrics.statistics import Comparison
from intentfold.models import InProcessOptions
from intentfold.records import read_jsonl_quarantining, write_jsonl
from intentfold.runtime.backends import Backends, Model, check_answering
from intentfold.runtime.episodes import control_view, spread
from intentfold.runtime.journal import Journal, JournaledBackend, journaled_grade
from intentfold.runtime.model_agent import ModelAgent
from intentfold.trace import Episode

Condition = Literal["clean", "no_drift", "drift"]


@dataclass(frozen=True)
class Arguments(InProcessOptions):
    """One run.

    Args:
        episodes: JSON lines of episodes
        out: folder that the run leaves
        agents: the agents, by name; one with `thinking` thinks before it answers
        comparisons: pairs of agents whose paired difference, first − second, is reported in each condition, by name
        conditions: what the agents are given; clean is always among it
        samples: answers sampled beside the greedy one, each with a seed of its own; 0 for none
        temperature: of the samples
        seed: of the first sample; the second has the next
        margin: margin of equivalence and non-inferiority
        limit: run only so many episodes, spread evenly over the file; 0 for all
        max_tokens: most tokens of thought and answer together
    """

    episodes: Path
    out: Path
    agents: dict[str, Model]
    comparisons: dict[str, tuple[str, str]] = field(default_factory=dict)
    conditions: list[Condition] = field(default_factory=lambda: ["clean", "drift"])
    samples: int = 3
    temperature: float = 0.7
    seed: int = 0
    margin: float = 0.03
    limit: int = 0
    max_tokens: int = 1024

    def __post_init__(self) -> None:
        super().__post_init__()
        check_answering({f"agents.{name}": model for name, model in self.agents.items()})
        check_names("agents", self.agents, report.RESERVED)
        check_names("comparisons", self.comparisons, {*self.agents, *report.METRICS})
        for name, pair in self.comparisons.items():
            if not set(pair) <= self.agents.keys():
                raise ValueError(f"comparisons.{name}: expected two of the agents {sorted(self.agents)}, got {list(pair)}")
        for name, model in self.agents.items():
            if model.temperature or model.seed is not None:
                raise ValueError(f"agents.{name}: temperature and seed are this script's own, got them for one agent")
        if min(self.samples, self.limit) < 0 or self.max_tokens < 1 or not 0 < self.margin < 1 or self.temperature <= 0:
            raise ValueError("samples, limit: at least 0; max_tokens at least 1; margin between 0 and 1; temperature above 0")
        if "clean" not in self.conditions:
            raise ValueError(f"conditions: gaps are against clean, expected it among them, got {self.conditions}")


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    for name, model in args.agents.items():
        if missing := model.missing("answer"):
            raise SystemExit(f"agents.{name}: {missing}")
    check_same_run(args.out, args)
    record_run(args.out, args)
    episodes, bad = read_jsonl_quarantining(args.episodes, Episode, args.out / "quarantine.jsonl")
    episodes = spread(episodes, args.limit)
    if not episodes:
        raise SystemExit(f"{args.episodes}: no episodes ({bad} bad lines)")
    grades, completions = Journal(args.out / "grades.jsonl"), Journal(args.out / "completions.jsonl")
    origins = [episode.task.origin for episode in episodes]
    avg, backends = f"avg@{args.samples}", args.backends()
    rows: list[report.Row] = []
    written: list[Answered] = []
    scores: dict[tuple[str, str, str], list[Case]] = {}  # by agent, condition and metric
    for arm, model in args.agents.items():
        for condition in sorted(args.conditions):  # clean is the first
            runs = [answer(args, arm, condition, run, episodes, backends, completions, grades) for run in range(1 + args.samples)]
            cases = [[Case(o.episode, c, o.grade) for o, c in zip(run, origins, strict=True)] for run in runs]
            scores[arm, condition, "greedy"] = cases[0]
            name = backends.make(model).name
            rows += report.score_rows(arm, condition, name, episodes, cases[0], scores[arm, "clean", "greedy"])
            if args.samples:
                scores[arm, condition, avg] = average(cases[1:])
                rows.append(report.row(arm, condition, avg, mean_score(scores[arm, condition, avg]), name))
            everything = [one for run in runs for one in run]
            rows += thinking_rows(arm, condition, name, everything, origins * len(runs))
            written += everything
    comparisons: dict[str, Comparison] = {}
    for name, (a, b) in args.comparisons.items():
        for condition in sorted(args.conditions):
            for metric in ("greedy", avg) if args.samples else ("greedy",):
                gain = score_gain(scores[a, condition, metric], scores[b, condition, metric], args.margin)
                if gain is not None:  # None where no case was graded for both
                    comparisons[f"{name}, {condition}, {metric}"] = gain
                rows.append(report.row(a, condition, f"{name}, {metric}", gain, "-"))
    write_jsonl(args.out / "cases.jsonl", [one.record() for one in written])
    rows = report.under("standalone", rows)
    what = f"{len(episodes)} episodes of {args.episodes}, {bad} bad lines set aside; agents without tracker and harness."
    write_report(args.out, what, "each arm's own model", rows, comparisons, {}, title="Agents alone")
    shown = {"mean_score", "car", avg, "unended_thoughts", *(f"{c}, {m}" for c in args.comparisons for m in ("greedy", avg))}
    print(report.table([r for r in rows if r.metric in shown]))


def answer(
    args: Arguments, arm: str, condition: Condition, run: int, episodes: Sequence[Episode], backends: Backends,
    completions: Journal, grades: Journal,
) -> list[Answered]:  # fmt: skip
    """Every episode answered and graded once: greedily for run 0, else sampled with that run's seed."""
    model = args.agents[arm]
    if run:
        model = replace(model, temperature=args.temperature, seed=args.seed + run - 1)
    with tqdm(total=len(episodes), desc=f"{arm} {condition}: run {run}") as bar:
        served = JournaledBackend(backends.make(model), completions, chunk=2 * args.batch_size, progress=bar.update)
        views = [control_view(episode, condition, executor=False) for episode in episodes]
        said = ModelAgent(served, args.max_tokens).complete(views)
    graded = [journaled_grade(grades, e.task, one.text, grade) for e, one in zip(episodes, said, strict=True)]
    found = zip(episodes, said, graded, strict=True)
    return [Answered(arm, condition, run, episode.id, one, its) for episode, one, its in found]


if __name__ == "__main__":
    main()
