"""Judge held-out questions with each checker; report precision, recall and F1 by verdict, calibration and agreement.

    python eval/checker.py --config configs/eval/checker/demo.yaml

Leaves in `out`: results.json (rows of arm, condition, metric, mean, low, high, n, agent), comparisons.json,
judged.ARM.jsonl, reliability.ARM.json, reliability.png, report.html and report.md. Completions are journaled as they come:
a run that was killed goes on where it stopped.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tqdm import tqdm

from intentfold.config import check_names, check_same_run, parse, record_run
from intentfold.example import Example
from intentfold.metrics import checker as metrics
from intentfold.metrics import checker_report as judging
from intentfold.metrics.checker_report import METRICS
from intentfold.metrics.plot import plot_reliability
from intentfold.metrics.report import Row, row, table
from intentfold.metrics.statistics import Comparison
from intentfold.models import InProcessOptions
from intentfold.records import canonical_json, to_json, write_jsonl, write_text
from intentfold.runtime.backends import Model, check_answering
from intentfold.runtime.journal import Journal, journaled
from intentfold.runtime.roles import Backend
from intentfold.runtime.scripted import CannedBackend


@dataclass(frozen=True, kw_only=True)
class Arguments(InProcessOptions):
    """One evaluation.

    Args:
        examples: dataset folder, as data_gen/mine_checker.py leaves it
        out: folder that the run leaves
        arms: the checkers, by name; oracle writes the right verdicts, null always met
        comparisons: pairs of arms whose paired difference in macro-F1, first − second, is reported, by name
        splits: splits that are judged, each apart
        validation: split on which the threshold for unmet is chosen, for arms that give probabilities
        most_false: most of what is not unmet that may be called so on the validation split
        runs: how often each question is judged, in another order each time
        margin: margin of equivalence and non-inferiority
        limit: judge only so many questions of a split, drawn at random; 0 for all
        max_tokens: most tokens that a judgement may write
        seed: seed of draws and orders
    """

    examples: Path
    out: Path
    arms: dict[str, Model]
    comparisons: dict[str, tuple[str, str]] = field(default_factory=dict)
    splits: list[str] = field(default_factory=lambda: ["test", "held_out_family"])
    validation: str = "dev"
    most_false: float = 0.05
    runs: int = 1
    margin: float = 0.01
    limit: int = 0
    max_tokens: int = 48
    batch_size: int = 16
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.runs, self.max_tokens) < 1 or self.limit < 0 or not 0 < self.margin < 1:
            raise ValueError("runs, max_tokens must be at least 1; limit at least 0; margin between 0 and 1")
        if not 0.0 <= self.most_false < 1.0:
            raise ValueError(f"most_false must be in [0, 1), got {self.most_false}")
        check_names("arms", self.arms)
        # The oracle and null of this script are checkers; nothing lapses in them.
        check_answering({f"arms.{arm}": one for arm, one in self.arms.items() if one.kind not in ("oracle", "null")})
        check_names("comparisons", self.comparisons, {*self.arms, *METRICS})
        for name, pair in self.comparisons.items():
            if not set(pair) <= self.arms.keys():
                raise ValueError(f"comparisons.{name}: expected two of the arms {sorted(self.arms)}, got {list(pair)}")


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    for arm, model in args.arms.items():
        if missing := model.missing("verdict"):
            raise SystemExit(f"arms.{arm}: {missing}")
    check_same_run(args.out, args)
    record_run(args.out, args)
    parts = {split: questions(args, split) for split in dict.fromkeys((args.validation, *args.splits))}
    where = judging.conditions({split: parts[split] for split in args.splits})
    journals = [Journal(args.out / f"completions.{run + 1}.jsonl") for run in range(args.runs)]
    backends = args.backends()
    rows: list[Row] = []
    judged: dict[str, dict[str, list[metrics.Judged]]] = {}
    bins: dict[str, list[metrics.Bin]] = {}
    for arm, model in args.arms.items():
        backend = scripted(model, parts) or backends.make(model)
        judged[arm] = {}
        for split, examples in parts.items():
            runs = []
            for run in range(args.runs):
                order = random.Random(f"{args.seed}/{run}").sample(range(len(examples)), len(examples))
                asked = [examples[place] for place in order]
                with tqdm(total=len(asked), desc=f"{arm} {split}: run {run + 1}") as bar:
                    served = journaled(backend, journals[run], chunk=2 * args.batch_size, progress=bar.update)
                    found = judging.judge_examples(served, asked, args.max_tokens)
                back = dict(zip(order, found, strict=True))
                runs.append([back[place] for place in range(len(examples))])
            judged[arm][split] = runs[0]
            if args.runs > 1:
                rows.append(row(arm, split, "agreement", metrics.agreement(runs), "-"))
        whole = judged[arm][args.validation]
        threshold = metrics.choose_threshold(whole, args.most_false) if whole[0].probabilities else None
        for condition, places in where.items():
            asked = [parts[split][place] for split, place in places]
            rows += judging.checker_rows(arm, condition, asked, [judged[arm][split][place] for split, place in places], threshold)
        bins[arm] = metrics.reliability([one for split in args.splits for one in judged[arm][split]])
        write_jsonl(args.out / f"judged.{arm}.jsonl", [one for split in parts for one in judged[arm][split]])
        sure = to_json(metrics.Reliability(backend.name, threshold, tuple(bins[arm])))
        write_text(args.out / f"reliability.{arm}.json", canonical_json(sure) + "\n")
    comparisons: dict[str, Comparison] = {}
    for name, (a, b) in args.comparisons.items():
        for condition, places in where.items():
            ours, theirs = ([judged[arm][split][place] for split, place in places] for arm in (a, b))
            comparisons[f"{name}, {condition}"] = metrics.macro_f1_gain(ours, theirs, args.margin)
            rows.append(row(a, condition, name, comparisons[f"{name}, {condition}"], "-"))
    plot_reliability({arm: some for arm, some in bins.items() if some}, args.out / "reliability.png")
    what = f"{ {split: len(parts[split]) for split in args.splits} } questions of {args.examples}."
    judging.write_checker_report(args.out, what, rows, comparisons)
    print(table([r for r in rows if r.metric in ("macro_f1", "recall_unmet", "false_unmet", "ece", *args.comparisons)]))


def questions(args: Arguments, split: str) -> list[Example]:
    examples = judging.read_questions(args.examples / f"{split}.jsonl")
    if args.limit and len(examples) > args.limit:
        examples = random.Random(args.seed).sample(examples, args.limit)
    return examples


def scripted(model: Model, parts: dict[str, Sequence[Example]] | dict[str, list[Example]]) -> Backend | None:
    if model.kind == "null":
        return CannedBackend({}, name="always met", otherwise="met")
    if model.kind == "oracle":
        return CannedBackend({one.messages: one.completion for part in parts.values() for one in part}, name="oracle")
    return None


if __name__ == "__main__":
    main()
