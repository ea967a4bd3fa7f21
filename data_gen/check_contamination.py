"""Check training data against evaluation sets: the same text, a shared run of words, near-duplicates. Fails where there are any.

    python data_gen/check_contamination.py --config configs/data_gen/check_contamination/demo.yaml

Leaves hits.jsonl, report.html and report.md in `out`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tqdm import tqdm

from intentfold.config import check_same_run, parse, record_run
from intentfold.metrics.document import Block, Heading, Table, Text
from intentfold.metrics.page import write_document
from intentfold.mining.contamination import Bounds, EvaluationIndex, Hit
from intentfold.mining.texts import read_texts
from intentfold.records import write_jsonl

SHOWN = 200


@dataclass(frozen=True)
class Arguments:
    """What to check.

    Args:
        train: files of training data: traces, examples, conversations or any records (.jsonl, .json, .csv)
        evaluation: evaluation sets by name: such files, or the folder of a benchmark under its own name (gsm8k, spider, …)
        out: folder for the report
        bounds: what counts (run, near, part_words; see Bounds)
    """

    train: list[Path]
    evaluation: dict[str, Path]
    out: Path
    bounds: Bounds = field(default_factory=Bounds)

    def __post_init__(self) -> None:
        if not self.train or not self.evaluation:
            raise ValueError(f"train and evaluation must name something, got {self.train} and {self.evaluation}")


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    check_same_run(args.out, args)
    record_run(args.out, args)
    index = EvaluationIndex((text for name, path in args.evaluation.items() for text in read_texts(name, path)), args.bounds)
    if silent := [name for name in args.evaluation if not any(text.source == name for text in index.texts)]:
        raise SystemExit(f"{', '.join(silent)}: no text to compare with")
    seen: set[str] = set()
    write_jsonl(args.out / "hits.jsonl", (found := list(hits(args, index, seen))))
    write_document(args.out, "Contamination", blocks(args, index, found, len(seen)))
    print((args.out / "report.md").read_text(encoding="utf-8"))
    if found:
        raise SystemExit(f"{len({hit.train for hit in found})} of {len(seen)} training records stand in an evaluation set")


def hits(args: Arguments, index: EvaluationIndex, seen: set[str]) -> Iterator[Hit]:
    """The first hit of each kind of every training record; `seen` gathers the records' ids."""
    done: set[tuple[str, str]] = set()
    for path in args.train:
        for text in tqdm(read_texts(str(path), path), desc=path.name, unit=" texts"):
            seen.add(text.id)
            for hit in index.hits(text):
                if (hit.train, hit.way) not in done:
                    done.add((hit.train, hit.way))
                    yield hit


def blocks(args: Arguments, index: EvaluationIndex, found: list[Hit], records: int) -> list[Block]:
    times = Counter((hit.evaluation, hit.way) for hit in found)
    texts = Counter(text.source for text in index.texts)
    rows = [(name, str(texts[name]), *(str(times[name, way]) for way in ("exact", "n-gram", "near-duplicate"))) for name in texts]
    bounds = index.bounds
    shown = tuple((hit.way, hit.train, f"{hit.evaluation} {hit.evaluation_id}", hit.detail) for hit in found[:SHOWN])
    return [
        Heading("Contamination", 1),
        Text(
            f"{records} training records, of {', '.join(map(str, args.train))}. Exact: the same words. N-gram: a run of "
            f"{bounds.run} words. Near-duplicate: Jaccard similarity of word 3-grams of at least {bounds.near}. Parts of fewer "
            f"than {bounds.part_words} words, and words that many texts of the sets share, do not count."
        ),
        Table(("evaluation set", "texts", "exact", "n-gram", "near-duplicate"), tuple(rows)),
        Text("No training record stands in an evaluation set." if not found else f"{len(found)} hits; the first {len(shown)}:"),
        *([Table(("kind", "training record", "evaluation", "words"), shown)] if found else []),
    ]


if __name__ == "__main__":
    main()
