"""The controller of StatefulSets."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.catalogue import CLAIMS, STATEFUL_SETS
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.workloads import StatefulSet
from stromboli.kube.watch.informer import Informer
from stromboli.kube.work.work_queue import WorkQueue
from stromboli.local.fakes.workloads.owned_pods import COUNT_DELAY, OwnedPods
from stromboli.local.fakes.workloads.pod_states import is_finished, is_ready
from stromboli.local.fakes.workloads.pod_templates import controller_reference, pod_document
from stromboli.local.fakes.workloads.stateful_rules import (
    POD_INDEX,
    POD_NAME,
    REVISION_HASH,
    is_updated,
    plan,
    revision,
)
from stromboli.local.fakes.workloads.writes import PodWrites, write_status

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client


class StatefulSetController:
    def __init__(self, client: Client, pods: OwnedPods) -> None:
        self._client = client
        self._pods = pods
        self._writes = PodWrites(client)
        self._sets: Informer[StatefulSet] = Informer(client, STATEFUL_SETS)
        self.work: WorkQueue[str] = WorkQueue(self._reconcile, name="stateful sets", workers=4)
        self._sets.listen(self._set_changed)
        pods.listen(STATEFUL_SETS, lambda owner, *_: self.work.add_after(owner, COUNT_DELAY))

    async def run(self) -> None:
        """Run until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._sets.run())
            await self._pods.informer.synced.wait()
            await self._sets.synced.wait()
            tasks.create_task(self.work.run())

    def _set_changed(self, old: StatefulSet | None, new: StatefulSet | None) -> None:
        if new is not None:
            self.work.add(new.key)
        elif old is not None:
            self.work.forget(old.key)

    async def _reconcile(self, key: str) -> float | None:
        stateful_set = self._sets.objects.get(key)
        if stateful_set is None or stateful_set.metadata.deletion_timestamp is not None:
            return None
        pods = list(self._pods.of(stateful_set.metadata.uid))
        if changes := status_changes(stateful_set, pods):
            await write_status(self._client, STATEFUL_SETS, stateful_set, changes)
        step = plan(stateful_set, pods)
        await self._writes.delete(step.delete)
        for number in step.create:
            await self._make_claims(stateful_set, number)
        namespace = stateful_set.metadata.namespace
        are_new = await self._writes.create(namespace, (document(stateful_set, number) for number in step.create))
        return None if are_new else 1.0

    async def _make_claims(self, stateful_set: StatefulSet, number: int) -> None:
        """Create the claims of an ordinal; claims outlive their pods and are reused."""
        for claim in claims(stateful_set, number):
            try:
                await self._client.create(CLAIMS, claim, namespace=stateful_set.metadata.namespace)
            except ApiError as error:
                if not error.is_conflict:
                    raise


def document(stateful_set: StatefulSet, number: int) -> dict[str, Any]:
    """The pod of an ordinal, with stable name, host name and labels."""
    name = f"{stateful_set.metadata.name}-{number}"
    template, owner = stateful_set.spec.template or {}, controller_reference(STATEFUL_SETS, stateful_set)
    own: dict[str, Any] = {"hostname": name}
    if stateful_set.spec.service_name:
        own["subdomain"] = stateful_set.spec.service_name
    volumes = list(_volumes(stateful_set, name))
    if volumes:
        replaced = {volume["name"] for volume in volumes}
        existing = (template.get("spec") or {}).get("volumes") or ()
        own["volumes"] = [*(volume for volume in existing if volume.get("name") not in replaced), *volumes]
    made = pod_document(template, name, stateful_set.metadata.name, owner, own)
    labels = {POD_NAME: name, POD_INDEX: str(number), REVISION_HASH: revision(stateful_set)}
    made["metadata"]["labels"] = {**made["metadata"].get("labels", {}), **labels}
    return made


def claims(stateful_set: StatefulSet, number: int) -> Iterator[dict[str, Any]]:
    selector = stateful_set.spec.selector
    labels = (selector.match_labels if selector else None) or {}
    for template in stateful_set.spec.volume_claim_templates or ():
        existing = template.get("metadata") or {}
        name = f"{existing.get('name')}-{stateful_set.metadata.name}-{number}"
        metadata = {"name": name, "labels": {**(existing.get("labels") or {}), **labels}}
        if existing.get("annotations"):
            metadata["annotations"] = existing["annotations"]
        yield {"metadata": metadata, "spec": template.get("spec") or {}}


def _volumes(stateful_set: StatefulSet, pod: str) -> Iterator[dict[str, Any]]:
    for template in stateful_set.spec.volume_claim_templates or ():
        name = (template.get("metadata") or {}).get("name")
        yield {"name": name, "persistentVolumeClaim": {"claimName": f"{name}-{pod}"}}


def status_changes(stateful_set: StatefulSet, pods: list[Pod]) -> dict[str, Any]:
    status, present = stateful_set.status, [pod for pod in pods if not is_finished(pod)]
    ready, newest = sum(map(is_ready, present)), revision(stateful_set)
    updated = sum(1 for pod in present if is_updated(stateful_set, pod))
    current = newest if updated == len(present) else status.current_revision or newest
    wanted: dict[str, tuple[Any, Any]] = {
        "replicas": (status.replicas, len(present)),
        "readyReplicas": (status.ready_replicas or 0, ready),
        "availableReplicas": (status.available_replicas or 0, ready),
        "updatedReplicas": (status.updated_replicas or 0, updated),
        "currentReplicas": (status.current_replicas or 0, updated if current == newest else len(present) - updated),
        "currentRevision": (status.current_revision, current),
        "updateRevision": (status.update_revision, newest),
        "observedGeneration": (status.observed_generation, stateful_set.metadata.generation),
    }
    return {field: new for field, (old, new) in wanted.items() if old != new}
