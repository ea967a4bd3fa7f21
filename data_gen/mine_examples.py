"""Mine tracker examples from traces: a dataset folder with a card.

    python data_gen/mine_examples.py --config configs/data_gen/mine_examples/demo.yaml

From oracle states, from corrupted states (`corrupted_share`), and from executed failures of a tracker (`failures`:
the journal that eval/closed_loop.py left for it).
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

from tqdm import tqdm

from intentfold.config import check_same_run, parse, plain, record_run
from intentfold.example import Example
from intentfold.mining.card import write_dataset
from intentfold.mining.examples import corrupted_examples, oracle_examples
from intentfold.mining.failures import failure_examples, read_rollouts
from intentfold.prompts.tracker import WINDOW, Codec
from intentfold.records import read_jsonl_quarantining
from intentfold.trace import Episode


@dataclass(frozen=True)
class Arguments:
    """What to mine.

    Args:
        traces: folder of {train,dev,...}.jsonl as data_gen/build_traces.py leaves it
        out: dataset folder
        splits: splits to mine
        codec: delta (edits) or full (the whole state, for comparison)
        window: last messages of the dialogue that the prompt shows; 0 shows the whole history
        oracle_share: share of the turns, branches counted apart, mined from the oracle state
        corrupted_share: share of the turns mined once more from a corrupted state
        failures: journal of a tracker's closed-loop run over the training traces
        max_examples: at most so many training examples, drawn at random turn by turn, 0 for all
        seed: seed of corruption and draws
    """

    traces: Path
    out: Path
    splits: list[str] = field(default_factory=lambda: ["train", "dev"])
    codec: Codec = "delta"
    window: int = WINDOW
    oracle_share: float = 1.0
    corrupted_share: float = 0.0
    failures: Path | None = None
    max_examples: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("oracle_share", "corrupted_share"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError(f"{name} must be in [0, 1], got {getattr(self, name)}")
        if self.window < 0 or self.max_examples < 0:
            raise ValueError(f"window and max_examples must not be negative, got {self.window} and {self.max_examples}")


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    check_same_run(args.out, args)
    if (args.out / "README.md").exists():
        print(f"{args.out} is complete")
        return
    record_run(args.out, args)
    splits = {split: mine(args, split) for split in args.splits}
    write_dataset(args.out, splits, plain(args))
    print((args.out / "README.md").read_text(encoding="utf-8"))


def mine(args: Arguments, split: str) -> list[Example]:
    path = args.traces / f"{split}.jsonl"
    episodes, bad = read_jsonl_quarantining(path, Episode, args.out / f"{split}.quarantine.jsonl")
    if bad:
        print(f"{path}: {bad} bad lines, kept with their reasons in {args.out / f'{split}.quarantine.jsonl'}")
    window = args.window or None
    rollouts = read_rollouts(args.failures) if args.failures is not None and split == "train" else {}
    examples: list[Example] = []
    for episode in tqdm(episodes, desc=split):
        rng = random.Random(f"{args.seed}/{episode.id}")
        oracle = oracle_examples(episode, codec=args.codec, window=window)
        examples += [example for example in oracle if rng.random() < args.oracle_share]
        examples += corrupted_examples(episode, rng, share=args.corrupted_share, codec=args.codec, window=window)
        for rollout in rollouts.get(episode.id, ()):
            examples += failure_examples(episode, rollout, codec=args.codec, window=window)
    if split == "train" and 0 < args.max_examples < len(examples):
        examples = drawn(examples, args.max_examples, random.Random(args.seed), whole_dialogues=not args.window)
    return examples


def drawn(examples: list[Example], count: int, rng: random.Random, *, whole_dialogues: bool) -> list[Example]:
    """`count` examples at random, those that share most of their prompt together: of one turn, or of one dialogue."""
    families: dict[tuple[str, int, str], list[Example]] = {}
    for example in examples:
        where = example.provenance
        family = (where.episode, 0, "") if whole_dialogues else (where.episode, where.turn, where.mining)
        families.setdefault(family, []).append(example)
    together = rng.sample(list(families.values()), len(families))
    return [example for family in together for example in family][:count]


if __name__ == "__main__":
    main()
