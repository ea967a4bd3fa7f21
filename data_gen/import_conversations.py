"""Import people's own conversations as traces that a tracker can run over: JSON lines of OpenAI-style messages.

    python data_gen/import_conversations.py --config configs/data_gen/import_conversations/example.yaml

Leaves in `out`: conversations.jsonl, counts.json, and quarantine.jsonl with every line that could not be read and why.
They have no task and no oracle state, so nothing can be scored on them: eval/track_conversations.py shows what a tracker
makes of them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from intentfold.config import check_same_run, parse, record_run
from intentfold.records import canonical_json, parse_quarantining, write_jsonl, write_text
from intentfold.sources.conversations import read_conversation
from intentfold.trace import Conversation


@dataclass(frozen=True)
class Arguments:
    """One import.

    Args:
        conversations: JSON lines, each an object with `messages` and, if there is one, an `id`
        out: folder that is made
    """

    conversations: Path
    out: Path


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    if not args.conversations.is_file():
        raise SystemExit(f"{args.conversations}: no such file; expected conversations as JSON lines")
    check_same_run(args.out, args)
    record_run(args.out, args)
    counts: dict[str, Counter[str]] = {}

    def imported(line: str) -> Conversation:
        conversation, left_out = read_conversation(line)
        counts.setdefault(conversation.id, left_out)  # of the first of an id: a second is set aside
        return conversation

    quarantine = args.out / "quarantine.jsonl"
    found, bad = parse_quarantining(args.conversations, imported, quarantine)
    write_jsonl(args.out / "conversations.jsonl", found)
    totals = {
        "conversations": len(found),
        "user turns": sum(len(conversation.exchanges) for conversation in found),
        "lines set aside": bad,
        **sum(counts.values(), Counter()),
    }
    write_text(args.out / "counts.json", canonical_json(totals) + "\n")
    for what, count in totals.items():
        print(f"{count} {what}")
    if not found:
        raise SystemExit(f"{args.conversations}: no conversation" + (f" could be read; {quarantine} says why" if bad else ""))


if __name__ == "__main__":
    main()
