"""Mine thoughts that lead from the dialogue to what holds now to the answer: a dataset folder with a card.

    python data_gen/mine_rationales.py --config configs/data_gen/mine_rationales/demo.yaml

The teacher is scripted, from the oracle, or a model, which may be shown the right state or edits. Of several drafts a case those
with a right answer are kept: by the task's grader (agent), the exact state (tracker), the executed verdict (checker).
Completions and grades are journaled: a run that was killed goes on where it stopped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

from tqdm import tqdm

from intentfold.codec.thinking import Style
from intentfold.config import check_same_run, parse, plain, record_run
from intentfold.example import Example
from intentfold.graders import grade
from intentfold.mining import rationales as mining
from intentfold.mining.card import write_dataset
from intentfold.mining.rationales import Case, Draft, Shown, Told
from intentfold.models import InProcessOptions
from intentfold.prompts.tracker import WINDOW, Codec
from intentfold.records import read_jsonl
from intentfold.runtime.backends import Model, check_answering
from intentfold.runtime.episodes import spread
from intentfold.runtime.journal import Journal, JournaledBackend, journaled_grade
from intentfold.trace import Episode

OF_ROLE = {"told": ("agent", ["drift", "clean"]), "codec": ("tracker", "delta"), "window": ("tracker", WINDOW)}


@dataclass(frozen=True, kw_only=True)
class Arguments(InProcessOptions):
    """What to mine.

    Args:
        source: folder of {train,dev,...}.jsonl: traces (data_gen/build_traces.py) for an agent or a tracker, a dataset of
            judgements (data_gen/mine_checker.py) for a checker
        out: dataset folder
        role: who is to think
        style: how: as the model's chat template keeps reasoning (think), in words (plain), or not at all, for a cold start (none)
        splits: splits to mine
        told: of an agent, the conditions that its cases are told in
        codec: of a tracker, what it writes
        window: of a tracker, last messages of the dialogue that the prompt shows; 0 shows the whole history
        teacher: the model that writes the thoughts; null for the scripted one. One that thinks of its own accord (thinking) is
            taken by its thoughts, another writes its way in words
        shown: what a model is shown of the right answer
        samples: drafts a case; of a model that samples, each with a seed of its own
        keep: at most so many drafts a case are kept
        max_cases: at most so many cases a split, and of an agent a condition, spread evenly over the file; 0 for all
        max_tokens: most tokens of a draft
        seed: of the first draft; the second has the next
    """

    source: Path
    out: Path
    role: Literal["agent", "tracker", "checker"] = "agent"
    style: Literal["think", "plain", "none"] = "plain"
    splits: list[str] = field(default_factory=lambda: ["train", "dev"])
    told: list[Told] = field(default_factory=lambda: ["drift", "clean"])
    codec: Codec = "delta"
    window: int = WINDOW
    teacher: Model | None = None
    shown: Shown = "nothing"
    samples: int = 1
    keep: int = 1
    max_cases: int = 0
    max_tokens: int = 1024
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_answering({"teacher": self.teacher})
        if min(self.samples, self.keep, self.max_tokens) < 1 or min(self.max_cases, self.window) < 0:
            raise ValueError("samples, keep, max_tokens must be at least 1; max_cases, window at least 0")
        if self.teacher is None and (self.samples > 1 or self.shown != "nothing"):
            raise ValueError("samples, shown: the scripted teacher has one draft and knows the answer; leave them")
        if self.teacher is not None and self.samples > 1 and not self.teacher.temperature:
            raise ValueError("samples: a teacher without a temperature writes the same each time; expected 1")
        for name, (role, default) in OF_ROLE.items():
            if self.role != role and getattr(self, name) != default:
                raise ValueError(f"{name}: only for role {role}, got {getattr(self, name)} for a {self.role}")
        if self.role != "agent" and self.style == "none":
            raise ValueError(f"style: a {self.role} that does not think is mined by another script, got none")


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    if args.teacher is not None and (missing := args.teacher.missing()):
        raise SystemExit(f"teacher: {missing}")
    check_same_run(args.out, args)
    if (args.out / "README.md").exists():
        print(f"{args.out} is complete")
        return
    record_run(args.out, args)
    counts: dict[str, Counter[str]] = {split: Counter() for split in args.splits}
    splits = {split: mine(args, split, counts[split]) for split in args.splits}
    write_dataset(args.out, splits, plain(args), "data_gen/mine_rationales.py", counts)
    print((args.out / "README.md").read_text(encoding="utf-8"))


def mine(args: Arguments, split: str, counts: Counter[str]) -> list[Example]:
    cases = read_cases(args, split, counts)
    drafts = [mining.scripted_drafts(cases)] if args.teacher is None else list(written(args, args.teacher, split, cases))
    style: Style | None = None if args.style == "none" else args.style
    examples: list[Example] = []
    for place, case in enumerate(tqdm(cases, desc=f"{split}: sifting")):
        kept, found = mining.sift(case, [each[place] for each in drafts], style, args.keep, args.shown)
        examples += kept
        counts.update(found)
        counts[mining.BARREN] += not kept
    return examples


def read_cases(args: Arguments, split: str, counts: Counter[str]) -> list[Case]:
    path = args.source / f"{split}.jsonl"
    if args.role == "checker":
        return [mining.checker_case(one) for one in spread(read_jsonl(path, Example), args.max_cases)]
    episodes = read_jsonl(path, Episode)
    if args.role == "tracker":
        window = args.window or None
        return spread([case for one in episodes for case in mining.tracker_cases(one, args.codec, window)], args.max_cases)
    graded = partial(journaled_grade, Journal(args.out / "grades.jsonl"), grade=grade)
    can = [episode for episode in episodes if mining.gradable(episode)]
    counts["ungradable"] += (len(episodes) - len(can)) * len(args.told)
    return [mining.agent_case(episode, told, graded) for told in args.told for episode in spread(can, args.max_cases)]


def written(args: Arguments, teacher: Model, split: str, cases: Sequence[Case]) -> list[list[Draft]]:
    """The drafts of a model, a list a sample."""
    journal, seeded = Journal(args.out / "completions.jsonl"), args.seeded(teacher)
    found = []
    with tqdm(total=args.samples * len(cases), desc=f"{split}: drafts") as bar:
        for sample in range(args.samples):
            backend = seeded(args.seed + sample if teacher.temperature else None)
            served = JournaledBackend(backend, journal, chunk=2 * args.batch_size, progress=bar.update)
            writes = teacher.thinking is None
            found.append(mining.drafts(cases, served, args.shown, writes=writes, max_tokens=args.max_tokens))
    return found


if __name__ == "__main__":
    main()
