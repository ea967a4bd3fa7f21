"""Import people's own dialogues (MultiWOZ 2.1, Schema-Guided Dialogue) as traces for trackers.

    python data_gen/import_dialogues.py --config configs/data_gen/import_dialogues/multiwoz21.yaml

Leaves {train,dev,test}.jsonl and report.json. data_gen/mine_examples.py mines them and eval/state_tracking.py evaluates trackers
on them; there is no task behind them, so every run that would score an answer refuses them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tqdm import tqdm

from intentfold.config import check_same_run, parse, record_run
from intentfold.construct.human_dialogues import human_episode
from intentfold.construct.leakage import TrainingIndex, leakage_error
from intentfold.construct.splits import split_of
from intentfold.records import canonical_json, write_jsonl, write_text
from intentfold.sources.multiwoz import load_multiwoz
from intentfold.sources.schema_guided import load_schema_guided
from intentfold.sources.stated_dialogues import StatedDialogue
from intentfold.trace import Episode, Wording

Corpus = Literal["multiwoz21", "schema_guided"]
LOADERS: dict[Corpus, Callable[[Path], tuple[list[StatedDialogue], dict[str, int]]]] = {
    "multiwoz21": load_multiwoz,
    "schema_guided": load_schema_guided,
}
SPLITS: tuple[Wording, ...] = ("train", "dev", "test")


@dataclass(frozen=True)
class Arguments:
    """What to import.

    Args:
        corpus: multiwoz21 (a JSON file, or a zip of one) or schema_guided (a folder of dialogues_*.json)
        data: that file or folder
        out: folder for {train,dev,test}.jsonl and report.json
        max_dialogues: at most so many dialogues, in the corpus' order; 0 for all
        leak_budget: largest share of a held-out split that may be left out because the training part gives it away
    """

    corpus: Corpus
    data: Path
    out: Path
    max_dialogues: int = 0
    leak_budget: float = 0.5

    def __post_init__(self) -> None:
        if self.max_dialogues < 0 or not 0 <= self.leak_budget <= 1:
            raise ValueError(
                f"max_dialogues must be at least 0, leak_budget in [0, 1], got {self.max_dialogues}, {self.leak_budget}"
            )


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    check_same_run(args.out, args)
    if (args.out / "report.json").exists():
        print(f"{args.out} is complete")
        return
    record_run(args.out, args)
    dialogues, skipped = LOADERS[args.corpus](args.data)
    if not dialogues:
        raise SystemExit(f"{args.data}: no dialogue; skipped: {skipped}")
    episodes: dict[Wording, list[Episode]] = {split: [] for split in SPLITS}
    for dialogue in tqdm(dialogues[: args.max_dialogues or None], desc=args.corpus):
        split = split_of(f"{dialogue.corpus}/{dialogue.id}", dialogue.corpus)
        assert split != "held_out_family"
        episodes[split].append(human_episode(dialogue, split, split))
    index = TrainingIndex(episodes["train"])
    left: Counter[str] = Counter()
    for split in SPLITS[1:]:
        kept, leaks = index.part(episodes[split])
        if len(leaks) > args.leak_budget * len(episodes[split]):
            raise leakage_error(f"{split} ({len(episodes[split])} dialogues)", leaks)
        left.update(f"{split}: leak by {leak.kind}" for leak in leaks)
        episodes[split] = kept
    for split in SPLITS:
        write_jsonl(args.out / f"{split}.jsonl", episodes[split])
    report: dict[str, Any] = {"skipped": skipped, "left": dict(left), "counts": {s: counts(e) for s, e in episodes.items()}}
    write_text(args.out / "report.json", canonical_json(report) + "\n")
    for split in SPLITS:
        print(f"{split}: {report['counts'][split]}")
    print(f"skipped: {skipped}; left out: {dict(left)}")


def counts(episodes: list[Episode]) -> dict[str, int]:
    """Dialogues, turns, and turns by phenomenon."""
    phenomena = Counter(phenomenon for episode in episodes for turn in episode.turns for phenomenon in turn.phenomena)
    return {
        "dialogues": len(episodes),
        "turns": sum(len(episode.turns) for episode in episodes),
        **dict(sorted(phenomena.items())),
    }


if __name__ == "__main__":
    main()
