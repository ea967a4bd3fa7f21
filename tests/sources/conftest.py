"""Where the real benchmarks are: INTENTFOLD_DATA, else `../shared/data` beside the checkout; absent, their tests skip."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from intentfold.sources.loading import LoadReport
from intentfold.sources.real import load

DATA = Path(os.environ.get("INTENTFOLD_DATA", Path(__file__).parents[3] / "shared" / "data"))


@pytest.fixture(scope="session")
def real() -> Callable[[str], LoadReport]:
    """Load a real benchmark by name, once a session."""
    loaded: dict[str, LoadReport] = {}

    def report(name: str) -> LoadReport:
        if not (DATA / name).is_dir():
            pytest.skip(f"no {name} under {DATA}")
        if name not in loaded:
            loaded[name] = load(name, DATA / name)
        return loaded[name]

    return report
