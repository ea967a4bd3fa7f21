"""Processes that build end with the process that they build for."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from tests.tiny import ROOT

PARENT = """
import os, sys, time
from intentfold.construct.workers import pool
with pool(2) as processes:
    found = {job.result() for job in [processes.submit(os.getpid) for _ in range(2)]}
    running = [processes.submit(time.sleep, 60) for _ in range(2)]
    print(*found, flush=True)
    running[0].result()
"""


def test_workers_of_a_killed_build_are_gone() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert parent.stdout is not None
    workers = [Path(f"/proc/{pid}") for pid in parent.stdout.readline().split()]
    assert workers
    assert all(worker.exists() for worker in workers)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 20
    while any(_running(worker) for worker in workers):
        assert time.monotonic() < deadline, "a worker outlived its build"
        time.sleep(0.05)


def _running(process: Path) -> bool:
    """Whether it is there and no zombie."""
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
