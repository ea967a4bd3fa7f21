"""Import people's own conversations as traces that a tracker can run over: JSON lines of OpenAI-style messages.

    python data_gen/import_conversations.py --config configs/data_gen/import_conversations/example.yaml

Leaves in `out`: conversations.jsonl, counts.json, and quarantine.jsonl with every line that could not be read and why.
They have no task and no oracle state, so nothing can be scored on them: eval/track_conversations.py shows what a tracker
makes of them. With an annotator (a served model) they become episodes for trackers too, {train,dev,test}.jsonl: edits that
fold and are quoted from the user's own words; what it wrote otherwise stands in rejected.jsonl. `mask` takes personal data
out first (`sources/masking.py` says which).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from intentfold.config import check_same_run, parse, record_run
from intentfold.construct.annotate import FAMILY, Refused, Unannotated, annotated, own_episode
from intentfold.construct.leakage import TrainingIndex
from intentfold.construct.splits import split_of
from intentfold.construct.talk import together
from intentfold.prompts.annotator import Annotation
from intentfold.records import canonical_json, parse_quarantining, write_jsonl, write_text
from intentfold.runtime.backends import Model
from intentfold.runtime.roles import BackendError
from intentfold.runtime.serving import DEFAULT_SERVING, Failures, Ledger, Serving, bill, check_served, serve
from intentfold.sources.conversations import read_conversation
from intentfold.sources.masking import mask_conversation
from intentfold.trace import Conversation, Episode, Wording


@dataclass(frozen=True)
class Arguments:
    """One import.

    Args:
        conversations: JSON lines, each an object with `messages` and, if there is one, an `id`
        out: folder that is made
        mask: whether personal data is masked; lines that are set aside are then kept without their text
        annotator: a served model that writes the edits of every user turn; none by default
        attempts: how often it is asked about one turn
        license: licence of the conversations, as it stands in datasets made of them
        serving: how the annotator is asked
    """

    conversations: Path
    out: Path
    mask: bool = False
    annotator: Model | None = None
    attempts: int = 3
    license: str = "private"
    serving: Serving = DEFAULT_SERVING

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError(f"attempts must be at least 1, got {self.attempts}")
        check_served({"annotator": self.annotator}, self.serving)


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    if not args.conversations.is_file():
        raise SystemExit(f"{args.conversations}: no such file; expected conversations as JSON lines")
    check_same_run(args.out, args)
    record_run(args.out, args)
    if args.annotator is not None and (missing := args.annotator.missing()):
        raise SystemExit(f"annotator: {missing}")
    counts: dict[str, Counter[str]] = {}

    def imported(line: str) -> Conversation:
        conversation, left_out = read_conversation(line)
        if args.mask:
            conversation, masked = mask_conversation(conversation)
            left_out = left_out + Counter({f"{kind} values masked": count for kind, count in masked.items()})
        counts.setdefault(conversation.id, left_out)  # of the first of an id: a second is set aside
        return conversation

    quarantine = args.out / "quarantine.jsonl"
    found, bad = parse_quarantining(args.conversations, imported, quarantine, withheld=args.mask)
    write_jsonl(args.out / "conversations.jsonl", found)
    totals: dict[str, Any] = {
        "conversations": len(found),
        "user turns": sum(len(conversation.exchanges) for conversation in found),
        "lines set aside": bad,
        **sum(counts.values(), Counter()),
    }
    if args.annotator is not None:
        totals |= annotate(args, found)
    write_text(args.out / "counts.json", canonical_json(totals) + "\n")
    for what, count in totals.items():
        print(f"{count} {what}" if isinstance(count, int) else f"{what}: {count}")
    if not found:
        raise SystemExit(f"{args.conversations}: no conversation" + (f" could be read; {quarantine} says why" if bad else ""))


def annotate(args: Arguments, conversations: list[Conversation]) -> dict[str, Any]:
    """Write the episodes, and what was refused; returns the counts."""
    assert args.annotator is not None
    failures, ledger, refused = Failures(args.out / "failures.jsonl"), Ledger(), list[Refused]()
    annotator = serve(args.annotator, "annotator", args.serving, args.out / "annotations.jsonl", failures, Annotation)
    talks = [annotated(conversation, args.attempts, refused) for conversation in conversations]
    roles, most = {"annotator": annotator}, args.serving.max_tokens
    try:
        found = together(talks, roles, most, ledger, lambda number, reason: None, Unannotated)
    except BackendError as error:
        raise SystemExit(f"the annotator does not answer: {error}; what was answered is kept, run again to go on") from error
    episodes: dict[Wording, list[Episode]] = {"train": [], "dev": [], "test": []}
    for conversation, edits in zip(conversations, found, strict=True):
        if edits is not None:
            split = split_of(conversation.id, FAMILY)
            assert split != "held_out_family"
            episodes[split].append(own_episode(conversation, edits, split, split, args.license))
    index, leaks = TrainingIndex(episodes["train"]), 0
    for split, some in episodes.items():
        kept, leaked = (some, []) if split == "train" else index.part(some)
        write_jsonl(args.out / f"{split}.jsonl", kept)
        leaks += len(leaked)
    write_jsonl(args.out / "rejected.jsonl", sorted(refused, key=lambda one: (one.conversation, one.turn)))
    done = [edits for edits in found if edits is not None]
    return {
        "conversations annotated": len(done),
        "edits": sum(len(some) for edits in done for some in edits),
        "conversations given up": len(found) - len(done),
        "annotations rejected": len(refused),
        "episodes left out for a leak": leaks,
        "usage": bill([ledger.used], args.serving.prices),
        "failed requests": dict(sorted(failures.counts().items())),
    }


if __name__ == "__main__":
    main()
