"""Building shards on Ray Data, over as many machines as a cluster has; the bytes are those of a build without it.

A shard comes back as text and is written where the build was started: the machines share no folder. A shard whose worker or
machine dies is built again elsewhere, by Ray. Needs the extra `ray`, and this code at one revision on every machine.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from intentfold.config import revision
from intentfold.construct.build import Plan, Shard, ShardFiles, build


def build_on_ray(plan: Plan, pieces: Sequence[Shard], address: str, workers: int = 0) -> Iterator[ShardFiles]:
    """Every shard of `pieces`, one CPU each, as they are done and in their order.

    `address` is a cluster's (`host:port`, or `auto` for the one that this machine is part of), or `local` to start Ray here
    alone. At most `workers` shards at a time, 0 for as many as there are CPUs. Raises `ValueError` where a machine holds
    another revision of this code, and whatever building raises.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray
    import ray.data
    import ray.exceptions

    if not pieces:
        return
    here = {"num_cpus": workers or len(os.sched_getaffinity(0)), "include_dashboard": False} if address == "local" else {}
    ray.init(address=address, log_to_driver=False, **here)
    try:
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        mine = revision()
        # A block a shard: so each is a task of its own.
        rows = ray.data.from_items([{"place": place} for place in range(len(pieces))], override_num_blocks=len(pieces))
        done = rows.map(lambda row: _row(plan, pieces[int(row["place"])], mine), num_cpus=1, concurrency=workers or None)
        for row in done.iter_rows():
            yield ShardFiles(int(row["shard"]), int(row["count"]), json.loads(row["files"]))
    except ray.exceptions.RayTaskError as error:
        raise error.cause or error from None
    finally:
        ray.shutdown()


def _row(plan: Plan, shard: Shard, wanted: str) -> dict[str, Any]:
    if (found := _revision()) != wanted:
        raise ValueError(f"a machine of the cluster holds revision {found} of this code, expected {wanted}")
    built = build(plan, shard)
    return {"shard": built.shard, "count": built.count, "files": json.dumps(built.files)}


_revision = cache(revision)
