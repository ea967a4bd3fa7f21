"""Mine checker examples (or examples for the learner of assets) from learning histories: a dataset folder with a card.

    python data_gen/mine_checker.py --config configs/data_gen/mine_checker/demo.yaml

Labels come from the executed checks in the histories' ledgers. Checker examples are balanced by verdict, family and
difficulty; a held-out prompt that stands in the training part is an error.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from intentfold.config import check_same_run, parse, plain, record_run
from intentfold.construct.corrective.validate import check_environment
from intentfold.example import Example
from intentfold.mining.assets import learner_examples
from intentfold.mining.card import write_dataset
from intentfold.mining.checker import Shown, balance, candidates, check_no_leak, example, read_pairs


@dataclass(frozen=True)
class Arguments:
    """What to mine.

    Args:
        histories: folder of {train,dev,...}.jsonl and private/, as data_gen/build_histories.py leaves it
        out: dataset folder
        role: checker, or learner for the edits of assets
        splits: splits to mine
        shown: what a checker sees of the dialogue: the request alone, or the whole
        foreign: for each delivery, so many requirements of situations that do not hold
        max_examples: at most so many examples of the training split, 0 for all
        max_held_out: at most so many examples of each other split, 0 for all
        seed: seed of draws
    """

    histories: Path
    out: Path
    role: Literal["checker", "learner"] = "checker"
    splits: list[str] = field(default_factory=lambda: ["train", "dev", "test", "held_out_family"])
    shown: Shown = "request"
    foreign: int = 1
    max_examples: int = 0
    max_held_out: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("foreign", "max_examples", "max_held_out"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)}")


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    check_same_run(args.out, args)
    if (args.out / "README.md").exists():
        print(f"{args.out} is complete")
        return
    record_run(args.out, args)
    splits = {split: mine(args, split) for split in args.splits}
    if args.role == "checker":
        for split, examples in splits.items():
            if split != "train":
                check_no_leak(splits.get("train", []), examples)
    write_dataset(args.out, splits, plain(args), "data_gen/mine_checker.py")
    print((args.out / "README.md").read_text(encoding="utf-8"))


def mine(args: Arguments, split: str) -> list[Example]:
    most = args.max_examples if split == "train" else args.max_held_out
    rng = random.Random(f"{args.seed}/{split}")
    pairs = read_pairs(args.histories, split)
    check_environment(pairs)
    if args.role == "learner":
        examples = [one for history, ledger in pairs for one in learner_examples(history, ledger)]
        return examples if not 0 < most < len(examples) else rng.sample(examples, most)
    # A family that is held out has no other beside it: what does not hold there comes from the test's histories.
    beside = read_pairs(args.histories, "test") if split == "held_out_family" else []
    ours = {history.id for history, _ in pairs}
    found = [one for one in candidates([*pairs, *beside], rng, foreign=args.foreign) if one.pair[0].id in ours]
    return [example(one, args.shown) for one in balance(found, most, rng)]


if __name__ == "__main__":
    main()
