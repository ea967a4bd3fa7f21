"""Run episodes under clean, no_drift, drift, tracker and oracle_state; report scores, gaps and what each tracker got right.

    python eval/closed_loop.py --config configs/eval/closed_loop/demo.yaml

Leaves in `out`: results.json (rows of arm, condition, metric, mean, low, high, n, agent, protocol), comparisons.json,
cases.jsonl (answers and grades), folds.ARM.jsonl, rollouts.ARM.jsonl (what data_gen/mine_examples.py mines failures from),
report.html and report.md.
Completions and grades are journaled as they come: a run that was killed goes on where it stopped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from intentfold.config import check_names, check_same_run, parse, record_run
from intentfold.graders import grade
from intentfold.metrics import report
from intentfold.metrics.page import write_report
from intentfold.metrics.scores import Case, score_gain
from intentfold.metrics.state import Ratio, fold_records, measure, rejections
from intentfold.metrics.statistics import MARGIN, Comparison
from intentfold.models import InProcessOptions
from intentfold.prompts.tracker import WINDOW, Codec
from intentfold.records import read_jsonl_quarantining, to_json, write_jsonl
from intentfold.runtime.backends import Model, check_answering
from intentfold.runtime.episodes import CONTROLS, control_view, rollouts, spread, track, track_forced, tracker_view
from intentfold.runtime.gate import answer_through_gate
from intentfold.runtime.journal import Journal, JournaledBackend, journaled_grade
from intentfold.runtime.model_agent import ModelAgent
from intentfold.runtime.roles import Agent, View
from intentfold.runtime.scripted import ExecutorAgent
from intentfold.trace import Episode


@dataclass(frozen=True)
class Arguments(InProcessOptions):
    """One closed-loop run.

    Args:
        episodes: JSON lines of episodes
        out: folder that the run leaves
        arms: the trackers, by name
        comparisons: pairs of arms whose paired difference, first − second, is reported, by name
        agent: the model that answers; null for the state executor
        margin: margin of equivalence and non-inferiority
        codec: what the trackers write
        window: how many messages the trackers see; 0 for all
        teacher_forced: also fold every turn from the oracle's state, for exact edits
        limit: run only so many episodes, spread evenly over the file; 0 for all
        max_tokens: most tokens that a fold may write
    """

    episodes: Path
    out: Path
    arms: dict[str, Model]
    comparisons: dict[str, tuple[str, str]] = field(default_factory=dict)
    agent: Model | None = None
    margin: float = MARGIN
    codec: Codec = "delta"
    window: int = WINDOW
    teacher_forced: bool = True
    limit: int = 0
    max_tokens: int = 128

    def __post_init__(self) -> None:
        super().__post_init__()
        check_answering({"agent": self.agent})
        if self.limit < 0 or self.window < 0 or self.max_tokens < 1 or not 0 < self.margin < 1:
            raise ValueError("limit, window must be at least 0; max_tokens at least 1; margin between 0 and 1")
        check_names("arms", self.arms, report.RESERVED)
        check_names("comparisons", self.comparisons, {*self.arms, *report.METRICS})
        for name, pair in self.comparisons.items():
            if not set(pair) <= self.arms.keys():
                raise ValueError(f"comparisons.{name}: expected two of the arms {sorted(self.arms)}, got {list(pair)}")


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    for what, model in {"agent": args.agent, **{f"arms.{arm}": model for arm, model in args.arms.items()}}.items():
        if model is not None and (missing := model.missing(None if what == "agent" else args.codec, args.window or None)):
            raise SystemExit(f"{what}: {missing}")
    check_same_run(args.out, args)
    record_run(args.out, args)
    episodes, bad = read_jsonl_quarantining(args.episodes, Episode, args.out / "quarantine.jsonl")
    episodes = spread(episodes, args.limit)
    if not episodes:
        raise SystemExit(f"{args.episodes}: no episodes ({bad} bad lines)")
    completions, grades = Journal(args.out / "completions.jsonl"), Journal(args.out / "grades.jsonl")
    backends = args.backends()
    agent: Agent = ExecutorAgent()
    if args.agent is not None:  # with weights of its own: the trackers switch adapters on theirs
        agent = ModelAgent(JournaledBackend(args.backends().make(args.agent), completions))
    written: list[dict[str, Any]] = []

    def answer(arm: str, condition: str, views: Sequence[View]) -> list[Case]:
        cases = []
        gated = answer_through_gate(agent, views)
        for episode, one in tqdm(list(zip(episodes, gated, strict=True)), desc=f"{arm} {condition}: grades"):
            found = journaled_grade(grades, episode.task, one.answer, grade)
            cases.append(Case(episode.id, episode.task.origin, found))
            written.append({"arm": arm, "condition": condition, "episode": episode.id, **to_json(one), "grade": to_json(found)})
        return cases

    rows: list[report.Row] = []
    controls: dict[str, list[Case]] = {}
    for condition in CONTROLS:
        views = [control_view(episode, condition, executor=args.agent is None) for episode in episodes]
        controls[condition] = answer(report.NO_ARM, condition, views)
        rows += report.score_rows(report.NO_ARM, condition, agent.name, episodes, controls[condition], controls["clean"])
    scores: dict[str, list[Case]] = {}
    states: dict[str, list[dict[str, Ratio]]] = {}
    rejected: dict[str, Counter[str]] = {}
    settings: dict[str, Any] = {"codec": args.codec, "window": args.window or None, "max_tokens": args.max_tokens}
    folds = sum(len(episode.turns) for episode in episodes) * (1 + args.teacher_forced)
    for arm, model in args.arms.items():
        backend = backends.make(model, episodes, args.codec, args.window or None)
        with tqdm(total=folds, desc=f"{arm}: folds") as bar:
            served = JournaledBackend(backend, completions, chunk=2 * args.batch_size, progress=bar.update)
            own = track(episodes, served, **settings)
            forced = track_forced(episodes, served, **settings) if args.teacher_forced else None
        states[arm] = [measure(e, own[n], forced[n] if forced else None) for n, e in enumerate(episodes)]
        rejected[arm] = rejections([fold for folds in own for fold in folds])
        write_jsonl(args.out / f"folds.{arm}.jsonl", fold_records(episodes, own))
        views = [tracker_view(episode, own[n]) for n, episode in enumerate(episodes)]
        cases = scores[arm] = answer(arm, "tracker", views)
        rows.append(report.unresolved_row(arm, agent.name, views, cases))
        verdicts = [[case.grade for case in part] for part in (cases, controls["oracle_state"])]
        write_jsonl(args.out / f"rollouts.{arm}.jsonl", rollouts(arm, args.codec, episodes, own, *verdicts))
        rows += report.score_rows(arm, "tracker", agent.name, episodes, cases, controls["clean"])
        rows += report.gap_rows(arm, agent.name, episodes, controls["drift"], cases, controls["oracle_state"])
        rows += report.state_rows(arm, agent.name, episodes, states[arm], cases)
    comparisons: dict[str, Comparison] = {}
    for name, (a, b) in args.comparisons.items():
        gain = score_gain(scores[a], scores[b], args.margin)  # None where no case was graded for both
        found = report.state_comparisons(name, states[a], states[b], scores[a], args.margin)
        rows += [report.row(a, "tracker", key, one, agent.name) for key, one in {name: gain, **found}.items()]
        comparisons |= found if gain is None else {name: gain, **found}
    what = f"{len(episodes)} episodes of {args.episodes}, {bad} bad lines set aside; codec {args.codec}, window {args.window}."
    write_jsonl(args.out / "cases.jsonl", written)
    secondary = comparisons.keys() - args.comparisons.keys()  # of the turns' metrics
    write_report(args.out, what, agent.name, rows, comparisons, rejected, episodes, secondary=secondary)
    print(report.table([r for r in rows if r.metric in ("mean_score", "car", *args.comparisons)]))


if __name__ == "__main__":
    main()
