from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from intentfold.graders import code, sql
from intentfold.graders.sandbox import Limits, Sandbox
from intentfold.task import SourceTask


@pytest.fixture(scope="session")
def make_task() -> Callable[..., SourceTask]:
    def make(form: Any, reference: dict[str, Any], **payload: Any) -> SourceTask:
        return SourceTask(
            id="task-7",
            family="test",
            origin="test",
            license="MIT",
            request="",
            goals=(),
            answer_form=form,
            payload={"reference": reference, **payload},
        )

    return make


@pytest.fixture(scope="session")
def impatient() -> Iterator[Sandbox]:
    with Sandbox(Limits(cpu_seconds=1, wall_seconds=2.5, memory_bytes=256 * 2**20)) as sandbox:
        yield sandbox


@pytest.fixture
def box(impatient: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Sandbox:
    """The graders' sandbox, with limits that a hostile program reaches soon."""
    monkeypatch.setattr(code, "shared_sandbox", lambda: impatient)
    monkeypatch.setattr(sql, "shared_sandbox", lambda: impatient)
    return impatient


@pytest.fixture(scope="session")
def data() -> Path:
    path = Path(os.environ.get("INTENTFOLD_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
    if not path.is_dir():
        pytest.skip(f"no real data at {path}")
    return path
