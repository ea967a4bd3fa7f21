"""Processes that build, and that end with the process they build for."""

from __future__ import annotations

import multiprocessing
import os
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.connection import wait


def pool(workers: int) -> ProcessPoolExecutor:
    """A pool of so many processes (0: one for each CPU); each ends when its parent does, however that was killed."""
    count = workers or len(os.sched_getaffinity(0))
    return ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn"), initializer=_end_with_parent)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None  # a worker has one

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
