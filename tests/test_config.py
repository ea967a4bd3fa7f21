"""Runs that go on: what they were made with."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from intentfold.config import check_same_run, record_run


@dataclass(frozen=True)
class Earlier:
    out: Path
    steps: int = 3


@dataclass(frozen=True)
class Later(Earlier):
    weights: dict[str, float] = field(default_factory=dict)
    start: float | None = None


def test_a_run_recorded_before_a_field_was_there_goes_on_with_its_default(tmp_path: Path) -> None:
    record_run(tmp_path, Earlier(tmp_path, steps=5))
    check_same_run(tmp_path, Later(tmp_path, steps=5))
    with pytest.raises(ValueError, match=r"weights was \{\}, is \{'ADD': 2.0\}"):
        check_same_run(tmp_path, Later(tmp_path, steps=5, weights={"ADD": 2.0}))
    with pytest.raises(ValueError, match="steps was 5, is 3"):
        check_same_run(tmp_path, Later(tmp_path))


def test_a_field_that_is_gone_is_another_run(tmp_path: Path) -> None:
    record_run(tmp_path, Later(tmp_path))
    with pytest.raises(ValueError, match=r"start was None|weights was \{\}, is None"):
        check_same_run(tmp_path, Earlier(tmp_path))
