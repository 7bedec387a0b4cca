"""How many nodes a scheduler has of its own, where several share a cluster."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Gauge

STATES = ("in_use", "awaited", "leaving")


class ShardMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self._nodes = Gauge("stromboli_shard_nodes", "nodes of our shard, by state", ("state",), registry=registry)
        self.show(0, 0, 0)

    def show(self, in_use: int, awaited: int, leaving: int) -> None:
        """So many nodes may be used, should be ours and are not yet, or are about to be given up."""
        for state, number in zip(STATES, (in_use, awaited, leaving), strict=True):
            self._nodes.labels(state).set(number)
