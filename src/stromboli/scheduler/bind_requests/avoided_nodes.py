"""Nodes on which the binder failed to bind a pod: the pod avoids them for a time that grows with every failure."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from stromboli.cluster.state.cluster import Cluster
from stromboli.kube.work.retry import RetryPolicy

BACKOFF = RetryPolicy(min_delay=5.0, max_delay=300.0, factor=2.0, jitter=False)


class AvoidedNodes:
    """`notify` is called when a pod may use a node again."""

    def __init__(self, cluster: Cluster, notify: Callable[[], None]) -> None:
        self._cluster = cluster
        self._notify_trigger = notify
        #: The number of failures by the uid of the pod and the name of the node.
        self._failures: dict[tuple[str, str], int] = {}

    def bind_failed(self, uid: str, node: str) -> None:
        failures = self._failures[uid, node] = self._failures.get((uid, node), 0) + 1
        self._cluster.assumptions.avoid(uid, node)
        asyncio.get_running_loop().call_later(BACKOFF.delay(failures - 1), self._stop_avoiding, uid, node)

    def _stop_avoiding(self, uid: str, node: str) -> None:
        self._cluster.assumptions.stop_avoiding(uid, node)
        self._notify_trigger()

    def forget_gone(self) -> None:
        """Drop the failures of pods that are deleted or bound."""
        pods = {uid: self._cluster.pods.find(uid) for uid, _ in self._failures}
        waiting = {uid for uid, pod in pods.items() if pod is not None and not pod.spec.node_name}
        self._failures = {pair: count for pair, count in self._failures.items() if pair[0] in waiting}
