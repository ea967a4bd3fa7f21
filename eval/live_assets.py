"""Learn assets from histories, then run later tasks with them: same-task replay and changed tasks, against baselines.

    python eval/live_assets.py --config configs/eval/live_assets/demo.yaml

Leaves in `out`: assets/ (the store), runs.jsonl, results.json (rows of arm, condition, metric, mean, low, high, n, agent),
comparisons.json, report.html, report.md. Agent, learner, selector and checkers are scripted or models, by config.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tqdm import tqdm

from intentfold.config import check_names, check_same_run, parse, record_run
from intentfold.construct.corrective.agent import AgentRates
from intentfold.construct.corrective.casting import Casting, Selection
from intentfold.construct.corrective.methods import Methods
from intentfold.construct.corrective.origins import Origins
from intentfold.construct.corrective.replay import METHODS, Method, execute
from intentfold.construct.corrective.targets import KINDS, Kind, targets
from intentfold.construct.corrective.validate import check_environment
from intentfold.metrics import live
from intentfold.metrics.checker import read_threshold
from intentfold.metrics.live_report import building_rows, live_rows, recall_rows, scripted_roles, write_live_report
from intentfold.metrics.report import Row, row, table
from intentfold.metrics.statistics import MARGIN
from intentfold.mining.assets import Who, learn_all
from intentfold.mining.checker import read_pairs
from intentfold.models import InProcessOptions
from intentfold.records import write_jsonl
from intentfold.runtime.asset_store import AssetStore
from intentfold.runtime.backends import Model, check_answering
from intentfold.runtime.embeddings import EmbeddingSelector
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
        thresholds: for checkers that judge by probabilities, by name, the reliability.ARM.json in which eval/checker.py left
            the threshold that it chose for the same checker
        learner: who learns: oracle (shown the ledger), verbatim, or the model under learner_model
        selector: who selects: lexical, the model under selector_model, or by the vectors of that model
        learner_model, selector_model: models of those roles
        agent_model: a model that does the work, instead of the scripted agent
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
    thresholds: dict[str, Path] = field(default_factory=dict)
    learner: Who = "oracle"
    selector: Selection = "lexical"
    learner_model: Model | None = None
    selector_model: Model | None = None
    agent_model: Model | None = None
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
        if (self.selector == "lexical") != (self.selector_model is None):
            raise ValueError("selector_model goes with selector 'model' or 'embedding'")
        if min(self.runs, self.max_tokens) < 1 or self.limit < 0 or not 0 < self.margin < 1:
            raise ValueError("runs, max_tokens must be at least 1; limit at least 0; margin between 0 and 1")
        for name in self.thresholds:
            model = self.checkers.get(name)
            if model is None or model.kind != "in_process":
                raise ValueError(f"thresholds.{name}: expected an in-process model among the checkers {sorted(self.checkers)}")
        if not (self.sweep and self.methods and self.kinds and self.checkers):
            raise ValueError("sweep, methods, kinds and checkers must each hold something")


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    roles: list[tuple[str, Model | None, str | None]] = [(f"checkers.{n}", m, "verdict") for n, m in args.checkers.items()]
    roles += [("learner_model", args.learner_model, "asset"), ("selector_model", args.selector_model, None)]
    roles += [("agent_model", args.agent_model, None)]
    for what, model, codec in roles:
        if model is not None and (missing := model.missing(codec)):
            raise SystemExit(f"{what}: {missing}")
    check_same_run(args.out, args)
    record_run(args.out, args)
    pairs = [pair for split in args.splits for pair in read_pairs(args.histories, split, args.limit)]
    if not pairs:
        raise SystemExit(f"{args.histories}: no histories in {args.splits}")
    check_environment(pairs)
    casting = Casting(args.out, args.in_process)
    selector, rankers = casting.selectors(args.selector, args.selector_model)
    judges = {name: None if model is None else casting.served(model) for name, model in args.checkers.items()}
    thresholds = {name: read_threshold(path, str(getattr(judges[name], "name", ""))) for name, path in args.thresholds.items()}
    learner = None if args.learner_model is None else casting.served(args.learner_model)
    learned, blind = (learn_all(pairs, args.learner, learner, context=shown) for shown in (True, False))
    if learned.rejected:
        print(f"{len(learned.rejected)} edits of assets rejected, such as {learned.rejected[0]}")
    store = AssetStore(args.out / "assets")
    for assets in learned.assets.values():
        store.keep(assets)
    histories = [history for history, _ in pairs]
    methods = Methods(histories, learned.assets, blind.assets, selector, judges, args.max_tokens, thresholds)
    arms = [(m, c) for m in args.methods for c in (args.checkers if m == "live_assets" else list(args.checkers)[:1])]
    unmoved = methods.idle(next(iter(args.checkers)), scripted=args.agent_model is None)
    who, agents = casting.agents(args.sweep, args.agent_model, args.runs)
    origins, tasks, found = Origins(ledger for _, ledger in pairs), list(targets(pairs, args.kinds)), list[LiveRun]()
    for condition, agent in agents:
        for target in tqdm(tasks, desc=condition):
            for method, checker in arms:
                supplied = methods.supply(method, target, checker)
                name = f"{method}, {checker}" if method == "live_assets" else method + " (cannot move)" * (method in unmoved)
                said = {"method": name, "kind": f"{target.kind}; {condition}"}
                for run in range(args.runs):
                    found.append(execute(target, supplied, agent[run], origins, **said, run=run, seed=args.seed))
    write_jsonl(args.out / "runs.jsonl", found)
    rows: list[Row] = live_rows(found, who)
    situations = {user: assets.situations for user, assets in learned.assets.items()}
    rows += [one for ranker in rankers for one in recall_rows(pairs, situations, ranker)]
    built = {"learner": learned.tokens, "learner without context": blind.tokens}
    rows += building_rows(built, selector.indexed if isinstance(selector, EmbeddingSelector) else None, sorted(situations))
    comparisons = live.lifts(found, args.margin)
    rows += [row(*name, one, who) for name, one in comparisons.items()]
    what = f"{len(tasks)} targets of {len(situations)} users; learner {args.learner}, selector {selector.name}."
    what += "".join(f" The findings of {method} cannot all be followed: {why}." for method, why in live.untraced(found).items())
    what += "".join(f" {name} cannot move: {why}." for name, why in unmoved.items()) + f" {scripted_roles(found, args.learner)}"
    write_live_report(args.out, what, rows, {", ".join(name): one for name, one in comparisons.items()}, who)
    print(table([r for r in rows if (r.metric == "satisfaction" and r.condition == found[0].kind) or "recall@" in r.metric]))


if __name__ == "__main__":
    main()
