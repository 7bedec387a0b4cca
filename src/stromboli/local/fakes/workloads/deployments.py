"""The controller of Deployments: one ReplicaSet per template, and rollouts between them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.catalogue import DEPLOYMENTS, REPLICA_SETS
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.selectors import matches
from stromboli.kube.objects.workloads import Deployment, ReplicaSet
from stromboli.kube.watch.informer import Informer
from stromboli.kube.work.work_queue import WorkQueue
from stromboli.local.fakes.workloads.owned_pods import COUNT_DELAY, OwnedPods
from stromboli.local.fakes.workloads.pod_states import is_finished
from stromboli.local.fakes.workloads.pod_templates import controller_of, controller_reference
from stromboli.local.fakes.workloads.replica_rules import desired
from stromboli.local.fakes.workloads.rollout_rules import (
    REVISION,
    bounds,
    grown,
    is_recreated,
    of_template,
    outdated,
    replica_set_document,
    revision_of,
    set_annotations,
    shrunk,
    size_annotations,
    size_of,
)
from stromboli.local.fakes.workloads.rollout_statuses import is_complete, progress, progress_deadline, status_changes
from stromboli.local.fakes.workloads.writes import OwnerReferences, write_status

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client


class DeploymentController:
    def __init__(
        self,
        client: Client,
        replica_sets: Informer[ReplicaSet],
        pods: OwnedPods,
    ) -> None:
        self._client = client
        self._sets, self._pods = replica_sets, pods
        self._adoption = OwnerReferences(client, REPLICA_SETS)
        self._deployments: Informer[Deployment] = Informer(client, DEPLOYMENTS)
        self.work: WorkQueue[str] = WorkQueue(self._reconcile, name="deployments", workers=4)
        self._deployments.listen(self._deployment_changed)
        replica_sets.listen(self._set_changed)
        pods.listen(REPLICA_SETS, self._pod_changed)

    async def run(self) -> None:
        """Run until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._deployments.run())
            for synced in (self._pods.informer.synced, self._sets.synced, self._deployments.synced):
                await synced.wait()
            tasks.create_task(self.work.run())

    def _deployment_changed(self, old: Deployment | None, new: Deployment | None) -> None:
        if new is not None:
            self.work.add(new.key)
        elif old is not None:
            self.work.forget(old.key)

    def _set_changed(self, old: ReplicaSet | None, new: ReplicaSet | None) -> None:
        replica_set = new or old
        if replica_set is None:
            return
        owner = controller_of(replica_set.metadata.owner_references)
        if owner is None:
            for deployment in self._deployments.objects.values():
                if _could_own(deployment, replica_set):
                    self.work.add(deployment.key)
        elif owner.kind == DEPLOYMENTS.kind:
            self.work.add_after(f"{replica_set.metadata.namespace}/{owner.name}", COUNT_DELAY)

    def _pod_changed(self, owner: str, uid: str, pod: Pod, is_gone: bool) -> None:
        """A Deployment with strategy Recreate waits until the last old pod is gone."""
        replica_set = self._sets.objects.get(owner)
        if is_gone and replica_set is not None:
            self._set_changed(None, replica_set)

    async def _reconcile(self, key: str) -> float | None:
        deployment = self._deployments.objects.get(key)
        if deployment is None or deployment.metadata.deletion_timestamp is not None:
            return None
        await self._adopt(deployment)
        sets = sorted(self._own_sets(deployment), key=lambda each: each.metadata.creation_timestamp or "")
        new = of_template(deployment, sets)
        old = [each for each in sets if each is not new]
        if deployment.spec.paused:
            await self._scale_paused(deployment, sets)
        elif is_recreated(deployment):
            await self._recreate(deployment, new, old)
        else:
            await self._roll(deployment, new, old)
        return await self._write_status(deployment, new, old)

    def _own_sets(self, deployment: Deployment) -> Iterator[ReplicaSet]:
        for replica_set in self._sets.objects.values():
            owner = controller_of(replica_set.metadata.owner_references)
            if owner is not None and owner.uid == deployment.metadata.uid:
                yield replica_set

    async def _adopt(self, deployment: Deployment) -> None:
        owner = controller_reference(DEPLOYMENTS, deployment)
        for replica_set in list(self._sets.objects.values()):
            is_orphan = controller_of(replica_set.metadata.owner_references) is None
            if is_orphan and _could_own(deployment, replica_set):
                await self._adoption.adopt(replica_set, owner)

    async def _roll(self, deployment: Deployment, new: ReplicaSet | None, old: Sequence[ReplicaSet]) -> None:
        limits, sizes = bounds(deployment), [size_of(each) for each in old]
        replicas = grown(limits, size_of(new), sizes)
        await self._settle_new(deployment, new, old, replicas)
        if new is None:
            return
        for replica_set, count in zip(old, shrunk(limits, size_of(new), sizes), strict=True):
            await self._scale(deployment, replica_set, count)

    async def _recreate(self, deployment: Deployment, new: ReplicaSet | None, old: Sequence[ReplicaSet]) -> None:
        """Recreate: all old pods are gone before the first new one is created."""
        for replica_set in old:
            await self._scale(deployment, replica_set, 0)
        if not any(not is_finished(pod) for each in old for pod in self._pods.of(each.metadata.uid)):
            await self._settle_new(deployment, new, old, desired(deployment))

    async def _scale_paused(self, deployment: Deployment, sets: Sequence[ReplicaSet]) -> None:
        """A paused Deployment does not roll out; a single ReplicaSet follows the replica count."""
        at_work = [each for each in sets if desired(each)] or list(sets)[-1:]
        if len(at_work) == 1:
            await self._scale(deployment, at_work[0], desired(deployment))

    async def _settle_new(
        self, deployment: Deployment, new: ReplicaSet | None, old: Sequence[ReplicaSet], replicas: int
    ) -> None:
        newest_old = max((revision_of(each.metadata.annotations) for each in old), default=0)
        if new is None:
            await self._create(deployment, replicas, newest_old + 1)
            return
        revision = revision_of(new.metadata.annotations)
        await self._scale(deployment, new, replicas, revision if revision > newest_old else newest_old + 1)

    async def _create(self, deployment: Deployment, replicas: int, revision: int) -> None:
        owner = controller_reference(DEPLOYMENTS, deployment)
        body = replica_set_document(deployment, owner, replicas, revision)
        try:
            await self._client.create(REPLICA_SETS, body, namespace=deployment.metadata.namespace)
        except ApiError as error:
            if not error.is_conflict:
                raise

    async def _scale(self, deployment: Deployment, replica_set: ReplicaSet, replicas: int, revision: int = 0) -> None:
        """Write only over the version that was read, which the number was computed from."""
        metadata = replica_set.metadata
        notes = set_annotations(deployment, revision) if revision else size_annotations(deployment)
        if desired(replica_set) == replicas and notes.items() <= (metadata.annotations or {}).items():
            return
        identity = {"uid": metadata.uid, "resourceVersion": metadata.resource_version, "annotations": notes}
        await self._client.patch(
            REPLICA_SETS, metadata.name, {"metadata": identity, "spec": {"replicas": replicas}},
            namespace=metadata.namespace,
        )  # fmt: skip

    async def _write_status(
        self, deployment: Deployment, new: ReplicaSet | None, old: Sequence[ReplicaSet]
    ) -> float | None:
        now, now_at = time.time(), progress(new, old)
        if new is not None:
            deployment = await self._write_revision(deployment, str(revision_of(new.metadata.annotations)))
            if changes := status_changes(deployment, now_at, new.metadata.name, now):
                await write_status(self._client, DEPLOYMENTS, deployment, changes)
        if is_complete(deployment, now_at):
            for replica_set in outdated(deployment, old):
                await self._discard(replica_set)
        end = progress_deadline(deployment, now_at)
        return None if end is None else max(0.0, end - now)

    async def _write_revision(self, deployment: Deployment, revision: str) -> Deployment:
        """Write the revision annotation; return the deployment after the write."""
        metadata = deployment.metadata
        if (metadata.annotations or {}).get(REVISION) == revision:
            return deployment
        body = {"metadata": {"uid": metadata.uid, "annotations": {REVISION: revision}}}
        return await self._client.patch(DEPLOYMENTS, metadata.name, body, namespace=metadata.namespace)

    async def _discard(self, replica_set: ReplicaSet) -> None:
        metadata = replica_set.metadata
        try:
            await self._client.delete(
                REPLICA_SETS, metadata.name, namespace=metadata.namespace, uid=metadata.uid,
                resource_version=metadata.resource_version or "",
            )  # fmt: skip
        except ApiError as error:
            if not error.is_missing:
                raise


def _could_own(deployment: Deployment, replica_set: ReplicaSet) -> bool:
    """Report whether an orphaned ReplicaSet matches the Deployment."""
    same_place = deployment.metadata.namespace == replica_set.metadata.namespace
    is_here = replica_set.metadata.deletion_timestamp is None
    return same_place and is_here and matches(deployment.spec.selector, replica_set.metadata.labels)
