"""Learn assets from histories, then run later tasks with them: same-task replay and changed tasks, against baselines.

    python eval/live_assets.py --config configs/eval/live_assets/demo.yaml

Leaves in `out`: assets/ (the store), runs.jsonl, results.json (rows of arm, condition, metric, mean, low, high, n, agent),
comparisons.json, report.html, report.md. The agent is scripted; learner, selector and checkers scripted or models, by config.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from tqdm import tqdm

from intentfold.config import check_names, check_same_run, parse, record_run
from intentfold.construct.corrective.agent import AgentRates
from intentfold.construct.corrective.methods import Methods
from intentfold.construct.corrective.origins import Origins
from intentfold.construct.corrective.replay import METHODS, Method, execute
from intentfold.construct.corrective.targets import KINDS, Kind, targets
from intentfold.metrics import live
from intentfold.metrics.live_report import live_rows, recall_rows, write_live_report
from intentfold.metrics.report import Row, row, table
from intentfold.metrics.statistics import MARGIN
from intentfold.mining.assets import Who, learn_all
from intentfold.mining.checker import read_pairs
from intentfold.models import InProcessOptions
from intentfold.records import write_jsonl
from intentfold.runtime.asset_store import AssetStore
from intentfold.runtime.backends import Model, check_answering
from intentfold.runtime.journal import Journal, JournaledBackend
from intentfold.runtime.selection import LexicalSelector, ModelSelector, Selector
from intentfold.trace import LiveRun


@dataclass(frozen=True, kw_only=True)
class Arguments(InProcessOptions):
    """One evaluation.

    Args:
        histories: folder that data_gen/build_histories.py left
        out: folder that the run leaves
        splits: splits whose users are taken
        methods, kinds: what is compared (live_assets once for each checker), on which kinds of targets, each reported apart
        checkers: who judges, by name; null for the executed checks
        thresholds: for checkers that judge by probabilities, from which one of unmet on it is unmet, by name (eval/checker.py
            chooses one on validation and leaves it in reliability.ARM.json)
        learner: who learns: oracle (shown the ledger), verbatim, or the model under learner_model
        learner_model, selector_model: models of those roles; the selector is lexical by default
        sweep: rates of the scripted agent, each a condition of its own; the first is that of the comparisons
        runs, seed: executions of each target; seed of the agent's luck
        limit, margin: at most so many users of a split, 0 for all; margin of equivalence and non-inferiority
        max_tokens: most tokens of a judgement
    """

    histories: Path
    out: Path
    splits: list[str] = field(default_factory=lambda: ["test"])
    methods: list[Method] = field(default_factory=lambda: list(METHODS))
    kinds: list[Kind] = field(default_factory=lambda: list(KINDS))
    checkers: dict[str, Model | None] = field(default_factory=lambda: {"executed": None})
    thresholds: dict[str, float] = field(default_factory=dict)
    learner: Who = "oracle"
    learner_model: Model | None = None
    selector_model: Model | None = None
    sweep: list[AgentRates] = field(default_factory=lambda: [AgentRates()])
    runs: int = 2
    limit: int = 0
    margin: float = MARGIN
    max_tokens: int = 48
    batch_size: int = 16
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        roles = {"learner_model": self.learner_model, "selector_model": self.selector_model}
        check_answering({**roles, **{f"checkers.{name}": model for name, model in self.checkers.items()}})
        check_names("checkers", self.checkers, ("learner", "selector"))
        if (self.learner == "model") != (self.learner_model is not None):
            raise ValueError("learner_model goes with learner 'model'")
        if min(self.runs, self.max_tokens) < 1 or self.limit < 0 or not 0 < self.margin < 1:
            raise ValueError("runs, max_tokens must be at least 1; limit at least 0; margin between 0 and 1")
        for name, threshold in self.thresholds.items():
            model = self.checkers.get(name)
            if model is None or model.kind != "in_process":
                raise ValueError(f"thresholds.{name}: expected an in-process model among the checkers {sorted(self.checkers)}")
            # Above 1 nothing is unmet: that is what is chosen where no threshold lets few enough through.
            if not 0.0 <= threshold <= 1.001:
                raise ValueError(f"thresholds.{name}: expected a probability, got {threshold}")
        if not (self.sweep and self.methods and self.kinds and self.checkers):
            raise ValueError("sweep, methods, kinds and checkers must each hold something")


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    roles: list[tuple[str, Model | None, str | None]] = [(f"checkers.{n}", m, "verdict") for n, m in args.checkers.items()]
    roles += [("learner_model", args.learner_model, "asset"), ("selector_model", args.selector_model, None)]
    for what, model, codec in roles:
        if model is not None and (missing := model.missing(codec)):
            raise SystemExit(f"{what}: {missing}")
    check_same_run(args.out, args)
    record_run(args.out, args)
    pairs = [pair for split in args.splits for pair in read_pairs(args.histories, split, args.limit)]
    if not pairs:
        raise SystemExit(f"{args.histories}: no histories in {args.splits}")
    journal = Journal(args.out / "completions.jsonl")

    def served(model: Model) -> JournaledBackend:
        return JournaledBackend(args.backends().make(model), journal)

    learner = None if args.learner_model is None else served(args.learner_model)
    # The ranker is for recall, which is measured to a depth of five whatever is selected at task entry.
    rankers: list[Selector] = [LexicalSelector(), LexicalSelector(most=5, floor=0.0)]
    if args.selector_model is not None:
        rankers = [ModelSelector(served(args.selector_model), most=most) for most in (3, 5)]
    selector, ranker = rankers
    judges = {name: None if model is None else served(model) for name, model in args.checkers.items()}
    learned, rejected = zip(*(learn_all(pairs, args.learner, learner, context=shown) for shown in (True, False)), strict=True)
    if rejected[0]:
        print(f"{len(rejected[0])} edits of assets rejected, such as {rejected[0][0]}")
    store = AssetStore(args.out / "assets")
    for assets in learned[0].values():
        kept = store.load(assets.user)
        if kept.situations != assets.situations:  # the first time, or histories were built anew in the same folder
            store.commit(replace(assets, version=kept.version))
    origins = Origins(ledger for _, ledger in pairs)
    histories = [history for history, _ in pairs]
    methods = Methods(histories, learned[0], learned[1], selector, judges, args.max_tokens, args.thresholds)
    arms = [(m, c) for m in args.methods for c in (args.checkers if m == "live_assets" else list(args.checkers)[:1])]
    idle = {m: f"{m} (cannot move)" for m in methods.idle(next(iter(args.checkers)))}
    found: list[LiveRun] = []
    tasks = list(targets(pairs, args.kinds))
    for rates in args.sweep:
        condition = f"fix {rates.fix}, half-fix {rates.half_fix}, regression {rates.regression}"
        for target in tqdm(tasks, desc=condition):
            for method, checker in arms:
                supplied = methods.supply(method, target, checker)
                name = f"{method}, {checker}" if method == "live_assets" else idle.get(method, method)
                said = {"method": name, "kind": f"{target.kind}; {condition}"}
                for run in range(args.runs):
                    found.append(execute(target, supplied, rates, origins, **said, run=run, seed=args.seed))
    write_jsonl(args.out / "runs.jsonl", found)
    rows: list[Row] = live_rows(found)
    rows += recall_rows(pairs, {user: assets.situations for user, assets in learned[0].items()}, ranker)
    comparisons = live.lifts(found, args.margin)
    rows += [row(*name, one, "scripted") for name, one in comparisons.items()]
    what = f"{len(tasks)} targets of {len(learned[0])} users; learner {args.learner}, selector {selector.name}."
    what += "".join(f" The findings of {method} cannot all be followed: {why}." for method, why in live.untraced(found).items())
    what += "".join(f" {name} cannot move: {why}." for name, why in methods.idle(next(iter(args.checkers))).items())
    write_live_report(args.out, what, rows, {", ".join(name): one for name, one in comparisons.items()})
    print(table([r for r in rows if (r.metric == "satisfaction" and r.condition == found[0].kind) or "recall@" in r.metric]))


if __name__ == "__main__":
    main()
