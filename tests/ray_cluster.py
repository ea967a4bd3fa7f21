"""A Ray cluster of two workers on this machine, each a node of its own.

Prints its address, kills a worker's node upon the line `kill`, and ends when its input does.
"""

from __future__ import annotations

import sys

from ray.cluster_utils import Cluster

MEMORY = 80 * 2**20

if __name__ == "__main__":
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, "object_store_memory": MEMORY}
    )
    workers = [cluster.add_node(num_cpus=1, object_store_memory=MEMORY) for _ in range(2)]
    cluster.wait_for_nodes()
    print(f"address {cluster.address}", flush=True)
    for line in sys.stdin:
        if line.strip() == "kill":
            cluster.remove_node(workers.pop(), allow_graceful=False)
            print("killed", flush=True)
    cluster.shutdown()
