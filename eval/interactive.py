"""The interactive track: episodes over a service's tools, with a user whose wishes drift, and rubrics judged at the end.

    python eval/interactive.py --config configs/eval/interactive/scripted.yaml

Leaves in `out`: results.json (rows of arm, condition, metric, mean, low, high, n, agent, judge), comparisons.json, runs.jsonl
(every run with its grade), report.html and report.md. Completions are journaled: a run that was killed, or in which a role
failed, goes on where it stopped. Each role may be scripted (no model; said so in every row), in-process or served.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from intentfold.config import check_names, check_same_run, parse, record_run
from intentfold.metrics import report
from intentfold.metrics.interactive import Bench, Judge, ReferenceGrader, RubricGrader
from intentfold.metrics.page import write_report
from intentfold.metrics.rubrics import ModelRubricJudge
from intentfold.metrics.statistics import MARGIN
from intentfold.models import InProcessOptions
from intentfold.prompts.tracker import WINDOW, Codec
from intentfold.records import read_jsonl_quarantining, write_jsonl
from intentfold.runtime.backends import Model, check_answering
from intentfold.runtime.episodes import spread
from intentfold.runtime.interactive import CONDITIONS, Limits, ScriptedAgent
from intentfold.runtime.journal import Journal, JournaledBackend
from intentfold.runtime.roles import Backend, require_separate
from intentfold.trace import Episode


@dataclass(frozen=True)
class Arguments(InProcessOptions):
    """One run of the interactive track.

    Args:
        episodes: JSON lines of interactive episodes
        out: folder that the run leaves
        agent: the model that works with the tools; null for the scripted agent, which is no model
        simulator: the model that says the user's turns in its own words; null for the turns as they stand
        judge: the model that judges the rubrics; null for the benchmark's own orders, all or nothing, without a judge
        trackers: trackers whose state the agent is shown, by name, each an arm of its own
        comparisons: pairs of conditions or trackers whose difference in mean score, first − second, is reported
        runs: runs of every episode by an agent that samples, each with another seed; avg@, pass@ and pass^ are over these
        limits: most rounds a user turn, and tokens (see Limits)
        codec: what the trackers write
        window: how many messages the trackers see; 0 for all
        margin: margin of equivalence and non-inferiority
        limit: run only so many episodes, spread evenly over the file; 0 for all
        allow_shared: let the tested agent be its own simulator or judge
    """

    episodes: Path
    out: Path
    agent: Model | None = None
    simulator: Model | None = None
    judge: Model | None = None
    trackers: dict[str, Model] = field(default_factory=dict)
    comparisons: dict[str, tuple[str, str]] = field(default_factory=dict)
    runs: int = 1
    limits: Limits = field(default_factory=Limits)
    codec: Codec = "delta"
    window: int = WINDOW
    margin: float = MARGIN
    limit: int = 0
    allow_shared: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_answering(self.roles)
        check_names("trackers", self.trackers, (*report.RESERVED, *CONDITIONS))
        check_names("comparisons", self.comparisons)
        known = {*CONDITIONS, *self.trackers}
        for name, pair in self.comparisons.items():
            if not set(pair) <= known:
                raise ValueError(f"comparisons.{name}: expected two of {sorted(known)}, got {list(pair)}")
        if self.runs < 1 or self.limit < 0 or self.window < 0 or not 0 < self.margin < 1:
            raise ValueError("runs must be at least 1; limit, window at least 0; margin between 0 and 1")
        if self.runs > 1 and (self.agent is None or not self.agent.temperature):
            raise ValueError(f"runs: {self.runs} runs of an agent that does not sample are one; give it a temperature")
        known_words = self.agent is None and self.simulator is None
        for name, model in self.trackers.items():
            if model.kind in ("oracle", "lapsing") and not known_words:
                raise ValueError(f"trackers.{name}: a {model.kind} tracker knows only what scripted roles say")

    @property
    def roles(self) -> dict[str, Model | None]:
        """The models besides the trackers."""
        return {"agent": self.agent, "simulator": self.simulator, "judge": self.judge}


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    for what, model in {**args.roles, **{f"trackers.{name}": model for name, model in args.trackers.items()}}.items():
        if model is not None and (missing := model.missing(args.codec if "." in what else None)):
            raise SystemExit(f"{what}: {missing}")
    check_same_run(args.out, args)
    record_run(args.out, args)
    episodes, bad = read_jsonl_quarantining(args.episodes, Episode, args.out / "quarantine.jsonl")
    episodes = spread([episode for episode in episodes if episode.task.answer_form == "interactive"], args.limit)
    if not episodes:
        raise SystemExit(f"{args.episodes}: no interactive episodes ({bad} bad lines)")
    completions = Journal(args.out / "completions.jsonl")
    makers = {role: args.backends() for role in (*args.roles, "tracker")}  # each with weights of its own

    def served(role: str, model: Model, **more: Any) -> Backend:
        return JournaledBackend(makers[role].make(model, **more), completions, chunk=len(episodes))

    models = {role: served(role, model) for role, model in args.roles.items() if model is not None}
    if args.agent is not None:
        plain = {role: replace(model, temperature=None, seed=None) for role, model in args.roles.items() if model is not None}
        names = {role: served(role, model).name for role, model in plain.items()}
        require_separate(names.pop("agent"), names, allow_shared=args.allow_shared)
    agent = models["agent"].name if args.agent is not None else None
    judge: Judge = RubricGrader(ModelRubricJudge(models["judge"])) if args.judge is not None else ReferenceGrader()
    said: dict[str, Any] = {"limits": args.limits, "codec": args.codec, "window": args.window or None}
    bench = Bench(episodes, agent, judge, args.runs, simulated=args.simulator is not None, **said)

    def backends(run: int, **more: Backend) -> dict[str, Backend]:
        if args.agent is not None and args.runs > 1:
            more["agent"] = served("agent", args.agent.in_epoch(run))
        return {**models, **more}

    for condition in CONDITIONS:
        bench.run(condition, report.NO_ARM, condition, backends)
    for name, model in args.trackers.items():
        tracker = served("tracker", model, episodes=episodes, codec=args.codec, window=args.window or None)
        bench.run(name, name, "tracker", partial(backends, tracker=tracker))
    gains = {name: bench.compare(a, b, args.margin) for name, (a, b) in args.comparisons.items()}
    write_jsonl(args.out / "runs.jsonl", bench.records)
    user = models["simulator"].name if args.simulator is not None else "the schedule's own words"
    what = f"{len(episodes)} episodes of {args.episodes}, {bad} bad lines set aside; {args.runs} runs each. The user: {user}. "
    what += f"The judge: {judge.name}. Stale items are unverified, for only a judge grades here."
    shown = {name: gain for name, gain in gains.items() if gain is not None}  # None where no case was graded on both sides
    write_report(args.out, what, agent or ScriptedAgent.name, bench.rows, shown, {}, title="Interactive track")
    print(report.table([row for row in bench.rows if row.metric in ("mean_score", "car", "coverage", "malformed")]))


if __name__ == "__main__":
    main()
