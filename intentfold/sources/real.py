"""The real benchmarks by name, each loaded from a folder that the user gives, or from a datasets hub."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from intentfold.sources.bfcl import load_bfcl
from intentfold.sources.e2e import load_e2e
from intentfold.sources.gsm8k import load_gsm8k
from intentfold.sources.hub import PREFIX, from_hub
from intentfold.sources.humaneval import load_humaneval
from intentfold.sources.loading import LoadReport
from intentfold.sources.lost_in_conversation import load_lost_in_conversation
from intentfold.sources.mbpp import load_mbpp
from intentfold.sources.spider import load_spider
from intentfold.sources.totto import load_totto
from intentfold.sources.vitabench import load_interactive

LOADERS: dict[str, Callable[[Path], LoadReport]] = {
    "bfcl": load_bfcl,
    "spider": load_spider,
    "gsm8k": load_gsm8k,
    "humaneval": load_humaneval,
    "mbpp": load_mbpp,
    "e2e": load_e2e,
    "totto": load_totto,
    "lost_in_conversation": load_lost_in_conversation,
    "vitabench": load_interactive,
}


def load(name: str, folder: Path | str) -> LoadReport:
    """The tasks of benchmark `name` from its upstream files in `folder`, or of `hub:ORG/DATASET[@REVISION]` (`sources/hub.py`).

    Raises `ValueError` on an unknown name and `SourceError` (naming file, line and field) on files that are missing
    or malformed.
    """
    if name not in LOADERS:
        raise ValueError(f"benchmark must be one of {sorted(LOADERS)}, got {name!r}")
    return LOADERS[name](from_hub(name, str(folder)) if str(folder).startswith(PREFIX) else Path(folder))
