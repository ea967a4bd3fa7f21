"""Benchmarks from a datasets hub, laid down as the upstream files that the loaders read.

Where a hub holds a benchmark as rows, the rows are written in upstream's format; else the repository's own files are taken as
they are. Needs the extra `train` (for `datasets`) and a network, or what an earlier call left.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from intentfold.records import canonical_json, write_text
from intentfold.sources.loading import SourceError

PREFIX = "hub:"
# Benchmarks that hubs hold as rows of upstream's own fields: the configuration, and the file of each split, in order.
ROWS: dict[str, tuple[str, dict[str, str]]] = {
    "gsm8k": ("main", {"train": "train.jsonl", "test": "test.jsonl"}),
    "humaneval": ("openai_humaneval", {"test": "HumanEval.jsonl"}),
    "mbpp": ("full", dict.fromkeys(("prompt", "test", "validation", "train"), "mbpp.jsonl")),
}


def from_hub(name: str, address: str, folder: Path | None = None) -> Path:
    """The folder of benchmark `name` from `hub:ORG/DATASET` or `hub:ORG/DATASET@REVISION`, which a revision makes exact.

    It is kept in `folder`, by default in the user's cache under the address; a folder that is there is not fetched again.
    Raises `SourceError` where the data cannot be had.
    """
    id, _, revision = address.removeprefix(PREFIX).rpartition("@") if "@" in address else (address.removeprefix(PREFIX), "", None)
    if not id or revision == "":
        raise SourceError(f"expected {PREFIX}ORG/DATASET or {PREFIX}ORG/DATASET@REVISION, got {address!r}")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "intentfold" / address.replace("/", "--")
    folder = (cache if folder is None else folder) / name
    if not (folder / "fetched").exists():
        try:
            _fetch(name, id, revision, folder)
        except (OSError, ValueError) as error:
            raise SourceError(
                f"{address}: cannot be fetched ({type(error).__name__}: {str(error)[:200]}); "
                f"without a network give the folder that holds {name}'s files"
            ) from error
        write_text(folder / "fetched", f"{address}\n")
    return folder


def _fetch(name: str, id: str, revision: str | None, folder: Path) -> None:
    """Write the files; the libraries' own errors are `OSError` or `ValueError`."""
    if name not in ROWS:
        from huggingface_hub import snapshot_download

        snapshot_download(id, repo_type="dataset", revision=revision, local_dir=folder)
        return
    from datasets import get_dataset_config_names, load_dataset

    config, files = ROWS[name]
    known = get_dataset_config_names(id, revision=revision)
    splits: Any = load_dataset(id, config if config in known else None, revision=revision)
    if missing := [split for split in files if split not in splits]:
        raise ValueError(f"expected the splits {list(files)}, without {missing}: got {list(splits)}")
    for file in dict.fromkeys(files.values()):
        rows = (row for split, target in files.items() if target == file for row in splits[split])
        write_text(folder / file, "".join(canonical_json(row) + "\n" for row in rows))
