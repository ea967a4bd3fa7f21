"""Run a tracker over imported conversations and show the state after every turn. Nothing is scored: there is no oracle.

    python eval/track_conversations.py --config configs/eval/track_conversations/demo.yaml

Leaves in `out`: states.jsonl (a line a turn: what was said, written and rejected, and the state after it). Completions are
journaled as they come: a run that was killed goes on where it stopped.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from intentfold.codec.state import state_lines
from intentfold.config import check_same_run, parse, record_run
from intentfold.metrics.document import visible
from intentfold.models import InProcessOptions
from intentfold.prompts.tracker import WINDOW, Codec
from intentfold.records import read_jsonl, write_jsonl
from intentfold.runtime.backends import Model
from intentfold.runtime.episodes import spread, track_exchanges
from intentfold.runtime.journal import Journal, JournaledBackend
from intentfold.trace import Conversation


@dataclass(frozen=True)
class Arguments(InProcessOptions):
    """One run.

    Args:
        conversations: JSON lines of conversations, as data_gen/import_conversations.py leaves them
        out: folder that the run leaves
        tracker: who folds
        codec: what the tracker writes
        window: how many messages the tracker sees; 0 for all
        limit: run only so many conversations, spread evenly over the file; 0 for all
        max_tokens: most tokens that a fold may write
    """

    conversations: Path
    out: Path
    tracker: Model
    codec: Codec = "delta"
    window: int = WINDOW
    limit: int = 0
    max_tokens: int = 128

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tracker.kind not in ("in_process", "openai"):
            raise ValueError(f"tracker: there is no oracle to follow, expected in_process or openai, got {self.tracker.kind!r}")
        if min(self.limit, self.window) < 0 or self.max_tokens < 1:
            raise ValueError("limit, window must be at least 0; max_tokens at least 1")


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    if missing := args.tracker.missing(args.codec, args.window or None):
        raise SystemExit(f"tracker: {missing}")
    conversations = spread(read_jsonl(args.conversations, Conversation), args.limit)
    if not conversations:
        raise SystemExit(f"{args.conversations}: no conversations")
    check_same_run(args.out, args)
    record_run(args.out, args)
    exchanges = [conversation.exchanges for conversation in conversations]
    backend = args.backends().make(args.tracker)
    with tqdm(total=sum(map(len, exchanges)), desc="folds") as bar:
        journal = Journal(args.out / "completions.jsonl")
        served = JournaledBackend(backend, journal, chunk=2 * args.batch_size, progress=bar.update)
        settings: dict[str, Any] = {"codec": args.codec, "window": args.window or None, "max_tokens": args.max_tokens}
        folds = track_exchanges(exchanges, served, **settings)
    written = []
    for conversation, own in zip(conversations, folds, strict=True):
        print(f"\n=== {visible(conversation.id)}")
        for number, ((_, said), fold) in enumerate(zip(conversation.exchanges, own, strict=True)):
            rejected = [f"{one.what}: {one.reason}" for one in fold.rejected]
            state = state_lines(fold.state)
            print(visible(f"\nUser: {said}\n{state}"), *(f"(rejected {visible(line)})" for line in rejected), sep="\n")
            one = {"conversation": conversation.id, "turn": number, "user": said, "wrote": fold.raw}
            written.append({**one, "rejected": rejected, "state": state.splitlines()})
    write_jsonl(args.out / "states.jsonl", written)


if __name__ == "__main__":
    main()
