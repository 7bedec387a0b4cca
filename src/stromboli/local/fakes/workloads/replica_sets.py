"""The controller of ReplicaSets, with adoption of orphaned pods."""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING, Any

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.catalogue import PODS, REPLICA_SETS
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.workloads import ReplicaSet
from stromboli.kube.watch.informer import Informer
from stromboli.kube.work.work_queue import WorkQueue
from stromboli.local.fakes.workloads.owned_pods import COUNT_DELAY, OwnedPods
from stromboli.local.fakes.workloads.pod_states import is_active
from stromboli.local.fakes.workloads.pod_templates import controller_reference, free_names, pod_document
from stromboli.local.fakes.workloads.replica_rules import ReplicaCounts, belongs, is_adoptable, replica_counts, shortage
from stromboli.local.fakes.workloads.writes import OwnerReferences, PodWrites

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client


class ReplicaSetController:
    def __init__(
        self,
        client: Client,
        replica_sets: Informer[ReplicaSet],
        pods: OwnedPods,
    ) -> None:
        self._client = client
        self._sets, self._pods = replica_sets, pods
        self._writes, self._adoption = PodWrites(client), OwnerReferences(client, PODS)
        self._by_namespace: dict[str, set[str]] = {}
        self._orphans: dict[str, set[str]] = {}
        self.work: WorkQueue[str] = WorkQueue(self._reconcile, name="replica sets", workers=4)
        replica_sets.listen(self._set_changed)
        pods.listen(REPLICA_SETS, lambda owner, *_: self.work.add_after(owner, COUNT_DELAY))
        pods.orphans = self._orphan_changed

    async def run(self) -> None:
        """Run until cancelled."""
        await self._pods.informer.synced.wait()
        await self._sets.synced.wait()
        for replica_set in self._sets.objects.values():
            self._note_orphans(replica_set)
        await self.work.run()

    def _set_changed(self, old: ReplicaSet | None, new: ReplicaSet | None) -> None:
        if new is None:
            if old is not None:
                self._forget(old)
            return
        self._by_namespace.setdefault(new.metadata.namespace, set()).add(new.key)
        if old is None or old.spec.selector != new.spec.selector:
            self._note_orphans(new)
        self.work.add(new.key)

    def _forget(self, replica_set: ReplicaSet) -> None:
        keys = self._by_namespace.get(replica_set.metadata.namespace, set())
        keys.discard(replica_set.key)
        if not keys:
            self._by_namespace.pop(replica_set.metadata.namespace, None)
        self._orphans.pop(replica_set.key, None)
        self.work.forget(replica_set.key)

    def _note_orphans(self, replica_set: ReplicaSet) -> None:
        candidates = self._pods.candidates(replica_set.metadata.namespace)
        if orphans := {pod.key for pod in candidates if is_adoptable(replica_set, pod)}:
            self._orphans[replica_set.key] = orphans

    def _orphan_changed(self, pod: Pod) -> None:
        """Called for every orphaned pod: returns at once if there is no ReplicaSet."""
        for key in self._by_namespace.get(pod.metadata.namespace, ()):
            if is_adoptable(self._sets.objects[key], pod):
                self._orphans.setdefault(key, set()).add(pod.key)
                self.work.add_after(key, COUNT_DELAY)

    async def _reconcile(self, key: str) -> float | None:
        replica_set = self._sets.objects.get(key)
        if replica_set is None or replica_set.metadata.deletion_timestamp is not None:
            return None
        if await self._settle_ownership(replica_set):
            return COUNT_DELAY
        now, pods = time.time(), self._pods.of(replica_set.metadata.uid)
        count = replica_counts(replica_set, pods, now)
        missing, surplus = shortage(replica_set, pods)
        if changes := status_changes(replica_set, count):
            await self._write(replica_set, changes)
        await self._writes.delete(surplus)
        if missing and not await self._create(replica_set, missing):
            return 1.0
        return None if count.next_available_at is None else count.next_available_at - now

    async def _settle_ownership(self, replica_set: ReplicaSet) -> bool:
        """Adopt and release pods; return whether any was: the count then waits for the watch."""
        uid = replica_set.metadata.uid
        strangers = [pod for pod in self._pods.of(uid) if is_active(pod) and not belongs(replica_set, pod)]
        for pod in strangers:
            await self._adoption.release(pod, uid)
        adopted = [await self._adopt(replica_set, key) for key in sorted(self._orphans.get(replica_set.key, ()))]
        return any(adopted) or bool(strangers)

    async def _adopt(self, replica_set: ReplicaSet, key: str) -> bool:
        """A pod stays noted until it is adopted or no longer adoptable."""
        pod = self._pods.informer.objects.get(key)
        is_ours = pod is not None and self._pods.is_orphan(pod) and is_adoptable(replica_set, pod)
        if pod is not None and is_ours:
            await self._adoption.adopt(pod, controller_reference(REPLICA_SETS, replica_set))
        orphans = self._orphans.get(replica_set.key, set())
        orphans.discard(key)
        if not orphans:
            self._orphans.pop(replica_set.key, None)
        return is_ours

    async def _create(self, replica_set: ReplicaSet, number: int) -> bool:
        metadata = replica_set.metadata
        names = free_names(metadata.name, metadata.uid, self._pods.is_taken(metadata.namespace))
        owner, template = controller_reference(REPLICA_SETS, replica_set), replica_set.spec.template or {}
        documents = (pod_document(template, name, metadata.name, owner) for name in islice(names, number))
        return await self._writes.create(metadata.namespace, documents)

    async def _write(self, replica_set: ReplicaSet, changes: dict[str, Any]) -> None:
        metadata = replica_set.metadata
        body = {"metadata": {"uid": metadata.uid, "resourceVersion": metadata.resource_version}, "status": changes}
        where = metadata.namespace
        try:
            await self._client.patch(REPLICA_SETS, metadata.name, body, namespace=where, subresource="status")
        except ApiError as error:
            if not error.is_missing:
                raise


def status_changes(replica_set: ReplicaSet, count: ReplicaCounts) -> dict[str, Any]:
    status = replica_set.status
    wanted: dict[str, tuple[Any, Any]] = {
        "replicas": (status.replicas, count.replicas),
        "fullyLabeledReplicas": (status.fully_labeled_replicas or 0, count.labelled),
        "readyReplicas": (status.ready_replicas or 0, count.ready),
        "availableReplicas": (status.available_replicas or 0, count.available),
        "observedGeneration": (status.observed_generation, replica_set.metadata.generation),
    }
    return {field: new for field, (old, new) in wanted.items() if old != new}
