"""The health of simulated nodes, and what becomes of pods on nodes that are not well.

A node is ready unless its annotation says otherwise. What follows from that (taints, and that pods have to leave) is
the work of Kubernetes' node lifecycle and taint controllers; pods on nodes that are gone are that of its pod collector.
"""

from __future__ import annotations

import asyncio
import time
import zlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from stromboli.embedded.standins.moments import stamp
from stromboli.embedded.standins.simulated_nodes import is_simulated
from stromboli.kube.api_errors import ApiError
from stromboli.kube.catalogue import NODES, PODS
from stromboli.kube.client import PatchKind
from stromboli.kube.cluster import Node, Taint
from stromboli.kube.constraints import Toleration
from stromboli.kube.informer import Informer
from stromboli.kube.pod import Pod
from stromboli.kube.work_queue import WorkQueue

if TYPE_CHECKING:
    from stromboli.kube.client import Client

READY = "stromboli.dev/ready"
"""The annotation by which a simulated node is made not ready."""

NOT_READY = "node.kubernetes.io/not-ready"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_OUR_TAINTS = {NOT_READY, UNSCHEDULABLE}

HEARTBEAT, PATIENCE = 300.0, 5.0


class NodeLife:
    """`heartbeat` is how often a healthy node says so; `patience` how long pods may stay on a node that is lost."""

    def __init__(
        self,
        client: Client,
        nodes: Informer[Node],
        pods: Informer[Pod],
        *,
        heartbeat: float = HEARTBEAT,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._client = client
        self._nodes, self._pods = nodes, pods
        self._heartbeat, self._patience = heartbeat, patience
        self._clock = clock
        self._next_beat: dict[str, float] = {}
        self._lost_since: dict[str, float] = {}
        self._on_node: dict[str, set[str]] = {}
        self.nodes_work: WorkQueue[str] = WorkQueue(self._look_at_node, name="nodes")
        self.pods_work: WorkQueue[str] = WorkQueue(self._look_at_pod, name="pods of lost nodes")
        #: How many times nodes said how they are, and how many pods had to leave.
        self.heartbeats = self.evicted = 0
        nodes.listen(self._node_changed)
        pods.listen(self._pod_changed)

    async def run(self) -> None:
        """Until cancelled."""
        await self._nodes.synced.wait()
        await self._pods.synced.wait()
        for key in set().union(*(keys for node, keys in self._on_node.items() if self._is_lost(node))):
            self.pods_work.add(key)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.nodes_work.run())
            tasks.create_task(self.pods_work.run())

    def _node_changed(self, old: Node | None, new: Node | None) -> None:
        node = new or old
        if node is None:
            return
        name = node.metadata.name
        if new is not None and is_simulated(new) and (old is None or _facts(old) != _facts(new)):
            self.nodes_work.add(name)
        if new is None or old is None or _is_tainted(old) != _is_tainted(new):
            for key in self._on_node.get(name, ()):
                self.pods_work.add(key)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        if old is not None and old.spec.node_name and new is None:
            self._on_node.get(old.spec.node_name, set()).discard(old.key)
            self._lost_since.pop(old.metadata.uid, None)
        if new is not None and new.spec.node_name:
            self._on_node.setdefault(new.spec.node_name, set()).add(new.key)
            if self._nodes.synced.is_set() and self._is_lost(new.spec.node_name):
                self.pods_work.add(new.key)

    def _is_lost(self, name: str) -> bool:
        node = self._nodes.objects.get(name)
        return node is None or (is_simulated(node) and _is_tainted(node))

    async def _look_at_node(self, name: str) -> float | None:
        node = self._nodes.objects.get(name)
        if node is None or not is_simulated(node):
            return None
        if (taints := wanted_taints(node, stamp(self._clock()))) is not None:
            await self._write_taints(node, taints)
        if self._clock() >= self._next_beat.get(name, 0.0) or not _says_how_it_is(node):
            await self._write_conditions(node)
            self._next_beat[name] = self._clock() + _spread(name, self._heartbeat)
        return self._next_beat[name] - self._clock()

    async def _write_taints(self, node: Node, taints: Sequence[Taint]) -> None:
        """Others taint nodes as well, so the list is only replaced in the version that was read."""
        body = {
            "metadata": {"resourceVersion": node.metadata.resource_version},
            "spec": {"taints": msgspec.to_builtins(taints)},
        }
        await self._client.patch(NODES, node.metadata.name, body)

    async def _write_conditions(self, node: Node) -> None:
        body = {"status": {"conditions": conditions(node, stamp(self._clock()))}}
        await self._client.patch(
            NODES, node.metadata.name, body, subresource="status", kind=PatchKind.STRATEGIC, field_manager="kubelet"
        )
        self.heartbeats += 1

    async def _look_at_pod(self, key: str) -> float | None:
        """A pod has to leave a tainted node, and is removed from a node that is no more."""
        pod = self._pods.objects.get(key)
        if pod is None or not pod.spec.node_name or not self._is_lost(pod.spec.node_name):
            self._lost_since.pop(pod.metadata.uid if pod else "", None)
            return None
        is_gone = pod.spec.node_name not in self._nodes.objects
        delay = self._patience if is_gone else staying_time(pod.spec.tolerations or (), self._patience)
        if delay is None or (pod.metadata.deletion_timestamp is not None and not is_gone):
            return None
        left = self._lost_since.setdefault(pod.metadata.uid, self._clock()) + delay - self._clock()
        if left > 0:
            return left
        await self._remove(pod, at_once=is_gone)
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


def is_ready(node: Node) -> bool:
    """What the node ought to say of itself."""
    return (node.metadata.annotations or {}).get(READY) != "false"


def wanted_taints(node: Node, moment: str) -> list[Taint] | None:
    """The taints that follow from the node's health and from being cordoned; None when they are there already."""
    wanted: list[tuple[str, str]] = []
    if not is_ready(node):
        wanted += [(NOT_READY, "NoSchedule"), (NOT_READY, "NoExecute")]
    if node.spec.unschedulable:
        wanted.append((UNSCHEDULABLE, "NoSchedule"))
    present = node.spec.taints or []
    if {(taint.key, taint.effect) for taint in present if taint.key in _OUR_TAINTS} == set(wanted):
        return None
    others = [taint for taint in present if taint.key not in _OUR_TAINTS]
    return others + [Taint(key=key, effect=effect, time_added=moment) for key, effect in wanted]


def conditions(node: Node, moment: str) -> list[dict[str, Any]]:
    """What a kubelet says every now and then: ready or not, and short of nothing."""
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"}
    if not is_ready(node):
        ready |= {"status": "False", "reason": "KubeletNotReady", "message": "the node was made not ready"}
    pressures = [
        {"type": kind, "status": "False", "reason": f"KubeletHas{reason}", "message": f"kubelet has {words}"}
        for kind, reason, words in _PRESSURES
    ]
    before = {condition.type: condition for condition in node.status.conditions or ()}
    said: list[dict[str, Any]] = []
    for condition in (ready, *pressures):
        old = before.get(condition["type"])
        same = old is not None and old.status == condition["status"] and old.last_transition_time
        since = old.last_transition_time if old is not None and same else moment
        said.append(condition | {"lastHeartbeatTime": moment, "lastTransitionTime": since})
    return said


def staying_time(tolerations: Sequence[Toleration], patience: float) -> float | None:
    """How long a pod may stay on a node that is not ready; None for as long as it likes."""
    tolerated = [toleration for toleration in tolerations if _tolerates_not_ready(toleration)]
    if not tolerated:
        return patience
    times = [toleration.toleration_seconds for toleration in tolerated if toleration.toleration_seconds is not None]
    return float(max(0, min(times))) if times else None


_PRESSURES = (
    ("MemoryPressure", "SufficientMemory", "sufficient memory available"),
    ("DiskPressure", "NoDiskPressure", "no disk pressure"),
    ("PIDPressure", "SufficientPID", "sufficient PID available"),
)


def _tolerates_not_ready(toleration: Toleration) -> bool:
    if toleration.effect not in (None, "", "NoExecute"):
        return False
    if not toleration.key:
        return toleration.operator == "Exists"
    return toleration.key == NOT_READY and (toleration.operator == "Exists" or not toleration.value)


def _facts(node: Node) -> tuple[object, ...]:
    """All that the node's own health depends on; a heartbeat is none of it."""
    ready = next((entry.status for entry in node.status.conditions or () if entry.type == "Ready"), None)
    return is_ready(node), node.spec.unschedulable, node.spec.taints, ready, is_simulated(node)


def _is_tainted(node: Node) -> bool:
    return any(taint.key == NOT_READY and taint.effect == "NoExecute" for taint in node.spec.taints or ())


def _says_how_it_is(node: Node) -> bool:
    wanted = "True" if is_ready(node) else "False"
    return any(entry.type == "Ready" and entry.status == wanted for entry in node.status.conditions or ())


def _spread(name: str, heartbeat: float) -> float:
    """Nodes that came into being together do not have to speak together."""
    return heartbeat * (0.75 + 0.25 * (zlib.crc32(name.encode()) % 1024) / 1024)
