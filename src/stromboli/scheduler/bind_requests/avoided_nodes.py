"""Nodes that refused a pod: the pod is not sent there again for a while, which grows with every refusal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from stromboli.cluster.state.cluster import Cluster

SHORTEST, LONGEST = 5.0, 300.0


class AvoidedNodes:
    """`ring` is told when a pod may be sent somewhere again."""

    def __init__(self, cluster: Cluster, ring: Callable[[], None]) -> None:
        self._cluster = cluster
        self._notify_trigger = ring
        #: How often a node has refused a pod, by the uid of the pod and the name of the node.
        self._refusals: dict[tuple[str, str], int] = {}

    def refused(self, uid: str, node: str) -> None:
        """A node would not have a pod."""
        refusals = self._refusals[uid, node] = self._refusals.get((uid, node), 0) + 1
        self._cluster.assumptions.avoid(uid, node)
        pause = min(SHORTEST * 2 ** min(refusals - 1, 10), LONGEST)
        asyncio.get_running_loop().call_later(pause, self._stop_avoiding, uid, node)

    def _stop_avoiding(self, uid: str, node: str) -> None:
        self._cluster.assumptions.stop_avoiding(uid, node)
        self._notify_trigger()

    def forget_gone(self) -> None:
        """Forget the refusals of pods that are gone, or have their node."""
        pods = {uid: self._cluster.pods.find(uid) for uid, _ in self._refusals}
        waiting = {uid for uid, pod in pods.items() if pod is not None and not pod.spec.node_name}
        self._refusals = {place: times for place, times in self._refusals.items() if place[0] in waiting}
