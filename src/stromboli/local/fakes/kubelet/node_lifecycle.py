"""The node lifecycle, taint and pod garbage controllers for simulated nodes.

A node is ready unless its annotation changes that. Unhealthy nodes are tainted, their pods evicted, and pods of removed
nodes deleted.
"""

from __future__ import annotations

import asyncio
import time
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import PatchKind
from stromboli.kube.objects.catalogue import NODES, PODS
from stromboli.kube.objects.cluster import KubeNode, KubeTaint
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.timestamps import stamp
from stromboli.kube.watch.informer import Informer
from stromboli.kube.work.work_queue import WorkQueue
from stromboli.local.fakes.kubelet.node_health import (
    conditions,
    evicting_taint,
    facts,
    reports_conditions,
    toleration_seconds,
    wanted_taints,
)
from stromboli.local.fakes.kubelet.simulated_nodes import health, is_simulated

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

HEARTBEAT, EVICTION_DELAY = 300.0, 5.0


class NodeLifecycle:
    """`heartbeat` is the interval of status updates; `eviction_delay` applies to pods on unreachable nodes."""

    def __init__(
        self,
        client: Client,
        nodes: Informer[KubeNode],
        pods: Informer[Pod],
        *,
        heartbeat: float = HEARTBEAT,
        eviction_delay: float = EVICTION_DELAY,
    ) -> None:
        self._client = client
        self._nodes, self._pods = nodes, pods
        self._heartbeat, self._eviction_delay = heartbeat, eviction_delay
        self._next_beat: dict[str, float] = {}
        self._lost_since: dict[str, float] = {}
        self._on_node: dict[str, set[str]] = {}
        self.nodes_work: WorkQueue[str] = WorkQueue(self._reconcile_node, name="nodes")
        self.pods_work: WorkQueue[str] = WorkQueue(self._reconcile_pod, name="pods of lost nodes")
        #: Number of heartbeats, and of evicted pods.
        self.heartbeats = self.evicted = 0
        nodes.listen(self._node_changed)
        pods.listen(self._pod_changed)

    async def run(self) -> None:
        """Run until cancelled."""
        await self._nodes.synced.wait()
        await self._pods.synced.wait()
        for key in set().union(*(keys for node, keys in self._on_node.items() if self._is_lost(node))):
            self.pods_work.add(key)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.nodes_work.run())
            tasks.create_task(self.pods_work.run())

    def _node_changed(self, old: KubeNode | None, new: KubeNode | None) -> None:
        node = new or old
        if node is None:
            return
        name = node.metadata.name
        if new is not None and is_simulated(new) and (old is None or facts(old) != facts(new)):
            self.nodes_work.add(name)
        if new is None:
            self._next_beat.pop(name, None)
        if new is None or old is None or evicting_taint(old) != evicting_taint(new):
            for key in self._on_node.get(name, ()):
                self.pods_work.add(key)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        if old is not None and old.spec.node_name and new is None:
            self._forget(old, old.spec.node_name)
        if new is not None and new.spec.node_name:
            self._on_node.setdefault(new.spec.node_name, set()).add(new.key)
            if self._nodes.synced.is_set() and self._is_lost(new.spec.node_name):
                self.pods_work.add(new.key)

    def _forget(self, pod: Pod, node: str) -> None:
        self._lost_since.pop(pod.metadata.uid, None)
        pods = self._on_node.get(node, set())
        pods.discard(pod.key)
        if not pods:
            self._on_node.pop(node, None)

    def _is_lost(self, name: str) -> bool:
        node = self._nodes.objects.get(name)
        return node is None or (is_simulated(node) and evicting_taint(node) is not None)

    async def _reconcile_node(self, name: str) -> float | None:
        node = self._nodes.objects.get(name)
        if node is None or not is_simulated(node):
            return None
        if (taints := wanted_taints(node, stamp(time.time()))) is not None:
            await self._write_taints(node, taints)
        if reports_conditions(node) and health(node) == "Unknown":
            return None
        if time.time() >= self._next_beat.get(name, 0.0) or not reports_conditions(node):
            await self._write_conditions(node)
            self._next_beat[name] = time.time() + _spread(name, self._heartbeat)
        return self._next_beat[name] - time.time()

    async def _write_taints(self, node: KubeNode, taints: Sequence[KubeTaint]) -> None:
        """Other clients taint nodes as well, so the list is replaced only over the version that was read."""
        body = {
            "metadata": {"resourceVersion": node.metadata.resource_version},
            "spec": {"taints": msgspec.to_builtins(taints)},
        }
        await self._client.patch(NODES, node.metadata.name, body)

    async def _write_conditions(self, node: KubeNode) -> None:
        body = {"status": {"conditions": conditions(node, stamp(time.time()))}}
        await self._client.patch(
            NODES, node.metadata.name, body, subresource="status", kind=PatchKind.STRATEGIC, field_manager="kubelet"
        )
        self.heartbeats += 1

    async def _reconcile_pod(self, key: str) -> float | None:
        """Evict a pod from a tainted node, or delete it with its node."""
        pod = self._pods.objects.get(key)
        if pod is None or not pod.spec.node_name or not self._is_lost(pod.spec.node_name):
            self._lost_since.pop(pod.metadata.uid if pod else "", None)
            return None
        node = self._nodes.objects.get(pod.spec.node_name)
        delay = self._eviction_delay
        if node is not None:
            stays = toleration_seconds(pod.spec.tolerations or (), evicting_taint(node) or "", self._eviction_delay)
            if stays is None or pod.metadata.deletion_timestamp is not None:
                return None
            delay = stays
        left = self._lost_since.setdefault(pod.metadata.uid, time.time()) + delay - time.time()
        if left > 0:
            return left
        await self._remove(pod, at_once=node is None)
        return None

    async def _remove(self, pod: Pod, *, at_once: bool) -> None:
        metadata, grace = pod.metadata, 0 if at_once else None
        try:
            await self._client.delete(
                PODS, metadata.name, namespace=metadata.namespace, uid=metadata.uid, grace_period=grace
            )
        except ApiError as error:
            if not (error.is_missing or error.is_conflict):
                raise
        self.evicted += 1


def _spread(name: str, heartbeat: float) -> float:
    """Offset of the heartbeat, so that nodes created together do not report together."""
    return heartbeat * (0.75 + 0.25 * (zlib.crc32(name.encode()) % 1024) / 1024)
