"""A look at a build's traces: one static page, opened without a server, with every dialogue turn by turn beside its state.

python data_gen/view_traces.py --config configs/data_gen/view_traces/demo.yaml
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from intentfold.config import parse
from intentfold.metrics.trace_page import trace_page
from intentfold.records import content_hash, read_jsonl, write_text
from intentfold.trace import Episode, Split


@dataclass(frozen=True)
class Arguments:
    """What to show.

    Args:
        build: folder of a build
        page: the page's file, a name that ends in .html; traces.html in the build's folder where it is not given
        splits: which of the build's files
        most: at most so many episodes, drawn by their ids' hashes where there are more
    """

    build: Path
    page: Path | None = None
    splits: list[Split] = field(default_factory=lambda: list(get_args(Split)))
    most: int = 5000

    def __post_init__(self) -> None:
        if self.most < 1:
            raise ValueError(f"most must be at least 1, got {self.most}")
        if self.page is not None and (self.page.suffix != ".html" or self.page.is_dir()):
            raise ValueError(f"page: expected a file that ends in .html, got {self.page}")


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    files = [path for split in args.splits if (path := args.build / f"{split}.jsonl").is_file()]
    episodes = [episode for path in files for episode in read_jsonl(path, Episode)]
    if not episodes:
        raise SystemExit(f"{args.build}: no episodes in {', '.join(args.splits)}")
    kept = {episode.id for episode in sorted(episodes, key=lambda one: content_hash(one.id))[: args.most]}
    shown = [episode for episode in episodes if episode.id in kept]
    page = args.page or args.build / "traces.html"
    some = f"{len(shown)} of {len(episodes)} episodes" if len(shown) < len(episodes) else f"{len(shown)} episodes"
    write_text(page, trace_page(f"Traces of {args.build.name}: {some}", shown))
    print(f"{page}: {some}, {page.stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
