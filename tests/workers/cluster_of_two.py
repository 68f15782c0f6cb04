"""A Ray cluster of two nodes with one CPU each, in a process of its own: Ray leaves threads and warnings behind.

Says its address, the port of its client server and the second node, then obeys: `kill` takes the second node away,
`end` ends it.
"""

from __future__ import annotations

import json
import socket
import sys

from ray.cluster_utils import Cluster

NODE = {"num_cpus": 1, "object_store_memory": 80 * 2**20}


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    cluster = Cluster(initialize_head=True, head_node_args={**NODE, "ray_client_server_port": port})
    second = cluster.add_node(**NODE)
    say(json.dumps({"address": cluster.address, "port": port, "second": second.node_id}))
    for line in sys.stdin:
        if line.strip() == "kill":
            cluster.remove_node(second, allow_graceful=False)
            say("killed")
        else:
            break
    cluster.shutdown()


if __name__ == "__main__":
    main()
