"""The kubelets of all simulated nodes; annotations of a pod control its life.

Every change of a pod is one patch of its status. Between changes a pod costs one timer.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import PatchKind
from stromboli.kube.objects.catalogue import PODS
from stromboli.kube.objects.cluster import KubeNode
from stromboli.kube.objects.pod import Pod
from stromboli.kube.watch.informer import Informer
from stromboli.kube.work.work_queue import WorkQueue
from stromboli.local.fakes.kubelet.admission import Admission
from stromboli.local.fakes.kubelet.pod_lifecycle import Step, next_step, rejected
from stromboli.local.fakes.kubelet.simulated_nodes import address_of, health, is_simulated
from stromboli.local.fakes.workloads.pod_states import is_finished

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client


class Kubelets:
    """`second` is the length of a second in the commands of containers."""

    def __init__(self, client: Client, nodes: Informer[KubeNode], pods: Informer[Pod], *, second: float = 1.0) -> None:
        self._client = client
        self._nodes, self._pods = nodes, pods
        self._second = second
        self._admission = Admission()
        self._on_node: dict[str, set[str]] = {}
        self._bound_at: dict[str, float] = {}
        self._started_at: dict[str, float] = {}
        self._addresses = Addresses()
        self.work: WorkQueue[str] = WorkQueue(self._reconcile, name="kubelets", workers=32)
        #: Number of pods that were started, finished, rejected and deleted.
        self.started = self.ended = self.rejected = self.deleted = 0
        nodes.listen(self._node_changed)
        pods.listen(self._pod_changed)

    async def run(self) -> None:
        """Run until cancelled."""
        await self._nodes.synced.wait()
        await self._pods.synced.wait()
        await self.work.run()

    def _node_changed(self, old: KubeNode | None, new: KubeNode | None) -> None:
        if new is not None and _is_responsive(new) and not (old is not None and _is_responsive(old)):
            for key in self._on_node.get(new.metadata.name, ()):
                self.work.add(key)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._forget(old)
        if new is None or not new.spec.node_name:
            return
        node, uid = new.spec.node_name, new.metadata.uid
        self._on_node.setdefault(node, set()).add(new.key)
        self._bound_at.setdefault(uid, time.time())
        if new.status.pod_ip:
            self._addresses.take(new.status.pod_ip)
        if is_finished(new):
            self._admission.release(node, uid)
        elif new.status.phase == "Running" and not self._admission.is_admitted(node, uid):
            self._admission.count(node, new)
        if new.metadata.deletion_timestamp is not None or not is_finished(new):
            self.work.add(new.key)

    def _forget(self, pod: Pod) -> None:
        node, uid = pod.spec.node_name or "", pod.metadata.uid
        self._admission.release(node, uid)
        self._bound_at.pop(uid, None)
        self._started_at.pop(uid, None)
        if pod.status.pod_ip:
            self._addresses.give_back(pod.status.pod_ip)
        if (keys := self._on_node.get(node)) is not None:
            keys.discard(pod.key)
            if not keys:
                del self._on_node[node]
        self.work.forget(pod.key)

    async def _reconcile(self, key: str) -> float | None:
        pod = self._pods.objects.get(key)
        node = self._nodes.objects.get((pod.spec.node_name or "") if pod else "")
        if pod is None or node is None or not _is_responsive(node):
            return None
        if not await self._admit(pod, node):
            return None
        step = self._next_step(pod)
        if step is None:
            return None
        if (wait := step.at - time.time()) > 0:
            return wait
        await self._take(pod, step)
        return None

    async def _admit(self, pod: Pod, node: KubeNode) -> bool:
        """Admit a pod that has not started yet, once."""
        is_new = pod.status.phase not in ("Running", "Succeeded", "Failed") and pod.metadata.deletion_timestamp is None
        if not is_new or self._admission.is_admitted(node.metadata.name, pod.metadata.uid):
            return True
        refusal = self._admission.admit(node, pod)
        if refusal is None:
            return True
        await self._write(pod, rejected(time.time(), *refusal))
        self.rejected += 1
        return False

    def _next_step(self, pod: Pod) -> Step | None:
        now, uid = time.time(), pod.metadata.uid
        is_waiting = pod.status.phase not in ("Running", "Succeeded", "Failed")
        return next_step(
            pod,
            bound_at=self._bound_at.get(uid, now),
            started_at=self._started_at.get(uid),
            now=now,
            address=self._addresses.next() if is_waiting else "",
            host=address_of(pod.spec.node_name or ""),
            second=self._second,
        )

    async def _take(self, pod: Pod, step: Step) -> None:
        if step.is_end:
            await self._end(pod)
        elif step.status is not None and await self._write(pod, step.status):
            if step.status["phase"] == "Running":
                self._started_at[pod.metadata.uid] = time.time()
                self.started += pod.status.phase != "Running"
            else:
                self.ended += 1

    async def _write(self, pod: Pod, status: object) -> bool:
        """Write the status of the pod, if it still exists."""
        body = {"metadata": {"uid": pod.metadata.uid}, "status": status}
        try:
            await self._client.patch(
                PODS,
                pod.metadata.name,
                body,
                namespace=pod.metadata.namespace,
                subresource="status",
                kind=PatchKind.STRATEGIC,
                field_manager="kubelet",
            )
        except ApiError as error:
            if error.is_missing:
                return False
            raise
        return True

    async def _end(self, pod: Pod) -> None:
        metadata = pod.metadata
        try:
            await self._client.delete(
                PODS, metadata.name, namespace=metadata.namespace, uid=metadata.uid, grace_period=0
            )
        except ApiError as error:
            if not (error.is_missing or error.is_conflict):
                raise
        self.deleted += 1


def _is_responsive(node: KubeNode) -> bool:
    """Report whether the node is simulated and its kubelet alive."""
    return is_simulated(node) and health(node) != "Unknown"


#: How many addresses there are; zero is none of them.
_ADDRESSES = (1 << 20) - 1


class Addresses:
    """Distinct IP addresses of pods."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._sequence = self._count()

    def next(self) -> str:
        return next(address for address in self._sequence if address not in self._taken)

    def take(self, address: str) -> None:
        self._taken.add(address)

    def give_back(self, address: str) -> None:
        self._taken.discard(address)

    @staticmethod
    def _count() -> Iterator[str]:
        """Cycle through a million addresses."""
        for count in itertools.count():  # itertools.cycle would keep all of them
            number = 1 + count % _ADDRESSES
            yield f"10.{128 + (number >> 16)}.{(number >> 8) % 256}.{number % 256}"
