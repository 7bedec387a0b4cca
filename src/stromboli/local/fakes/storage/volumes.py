"""The controller of volumes: binds claims to volumes, and provisions volumes of storage classes.

A claim and a volume are bound when each references the other. The volume is reserved first, over the version that was
read, so that two claims cannot get it; all later steps can be repeated.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.catalogue import CLAIMS, STORAGE_CLASSES, VOLUMES
from stromboli.kube.objects.storage import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from stromboli.kube.watch.informer import Informer
from stromboli.kube.work.work_queue import WorkQueue
from stromboli.local.fakes.kubelet.simulated_nodes import SIMULATED
from stromboli.local.fakes.storage.volume_matching import (
    choose,
    default_class,
    is_delayed,
    is_reserved_for_claim,
    may_provision,
    provisioned,
)

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client


class VolumeController:
    def __init__(self, client: Client, claims: Informer[PersistentVolumeClaim]) -> None:
        self._client = client
        self._claims = claims
        self.volumes: Informer[PersistentVolume] = Informer(client, VOLUMES)
        self._classes: Informer[StorageClass] = Informer(client, STORAGE_CLASSES)
        self.claims_work: WorkQueue[str] = WorkQueue(self._reconcile_claim, name="volume claims", workers=4)
        self.volumes_work: WorkQueue[str] = WorkQueue(self._reconcile_volume, name="volumes", workers=4)
        #: Number of volumes provisioned, and of claims bound.
        self.provisioned = self.bound = 0
        claims.listen(self._claim_changed)
        self.volumes.listen(self._volume_changed)
        self._classes.listen(lambda _old, _new: self._requeue_waiting_claims())

    async def run(self) -> None:
        """Run until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for informer in (self.volumes, self._classes):
                tasks.create_task(informer.run())
            for synced in (self._claims.synced, self.volumes.synced, self._classes.synced):
                await synced.wait()
            tasks.create_task(self.claims_work.run())
            tasks.create_task(self.volumes_work.run())

    def _claim_changed(self, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim | None) -> None:
        if new is not None:
            self.claims_work.add(new.key)
        elif old is not None and old.spec.volume_name:
            self.volumes_work.add(old.spec.volume_name)

    def _volume_changed(self, old: PersistentVolume | None, new: PersistentVolume | None) -> None:
        volume = new or old
        if volume is None:
            return
        self.volumes_work.add(volume.metadata.name)
        if (to := volume.spec.claim_ref) is not None:
            self.claims_work.add(f"{to.namespace}/{to.name}")
        elif old is None:
            self._requeue_waiting_claims()

    def _requeue_waiting_claims(self) -> None:
        for claim in self._claims.objects.values():
            if claim.status.phase != "Bound":
                self.claims_work.add(claim.key)

    async def _reconcile_claim(self, key: str) -> None:
        claim = self._claims.objects.get(key)
        if claim is None or claim.metadata.deletion_timestamp is not None:
            return
        if claim.status.phase == "Bound":
            if claim.spec.volume_name not in self.volumes.objects:
                await self._write_claim_status(claim, {"phase": "Lost"})
            return
        if claim.spec.storage_class_name is None and (default := default_class(self._classes.objects.values())):
            await self._write_claim(claim, {"spec": {"storageClassName": default.metadata.name}})
            return
        await self._bind_or_provision(claim)

    async def _bind_or_provision(self, claim: PersistentVolumeClaim) -> None:
        storage_class = self._classes.objects.get(claim.spec.storage_class_name or "")
        delayed = is_delayed(storage_class) and not claim.spec.volume_name
        volume = choose(claim, self.volumes.objects.values(), delayed=delayed)
        if volume is not None:
            await self._bind(claim, volume)
        elif storage_class is not None and may_provision(claim, storage_class):
            await self._provision(claim, storage_class)

    async def _provision(self, claim: PersistentVolumeClaim, storage_class: StorageClass) -> None:
        try:
            await self._client.create(VOLUMES, provisioned(claim, storage_class))
        except ApiError as error:
            if not error.is_conflict:
                raise
        else:
            self.provisioned += 1

    async def _bind(self, claim: PersistentVolumeClaim, volume: PersistentVolume) -> None:
        promised = volume.spec.claim_ref
        if promised is None or promised.uid != claim.metadata.uid:
            volume = await self._reserve_volume(volume, claim)
        if claim.spec.volume_name != volume.metadata.name or BIND_COMPLETED not in (claim.metadata.annotations or {}):
            annotations = {BIND_COMPLETED: "yes", BOUND_BY_CONTROLLER: "yes"}
            changes = {"metadata": {"annotations": annotations}, "spec": {"volumeName": volume.metadata.name}}
            await self._write_claim(claim, changes)
        status = {"phase": "Bound", "accessModes": volume.spec.access_modes, "capacity": volume.spec.capacity}
        await self._write_claim_status(claim, status)
        self.bound += 1

    async def _reserve_volume(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
        metadata: dict[str, Any] = {"resourceVersion": volume.metadata.resource_version}
        if volume.spec.claim_ref is None:
            metadata["annotations"] = {BOUND_BY_CONTROLLER: "yes"}
        body = {"metadata": metadata, "spec": {"claimRef": claim.reference}}
        return await self._client.patch(VOLUMES, volume.metadata.name, body)

    async def _write_claim(self, claim: PersistentVolumeClaim, changes: dict[str, Any]) -> None:
        metadata = {"uid": claim.metadata.uid, **changes.pop("metadata", {})}
        body = {"metadata": metadata, **changes}
        await self._client.patch(CLAIMS, claim.metadata.name, body, namespace=claim.metadata.namespace)

    async def _write_claim_status(self, claim: PersistentVolumeClaim, status: dict[str, Any]) -> None:
        body = {"metadata": {"uid": claim.metadata.uid}, "status": status}
        where = claim.metadata.namespace
        await self._client.patch(CLAIMS, claim.metadata.name, body, namespace=where, subresource="status")

    async def _reconcile_volume(self, name: str) -> None:
        """The phase is written for deleted volumes too: a volume is protected while it is Bound."""
        volume = self.volumes.objects.get(name)
        if volume is None:
            return
        phase = await self._phase(volume)
        if volume.status.phase != phase:
            await self._client.patch(VOLUMES, name, {"status": {"phase": phase}}, subresource="status")
        if phase == "Released" and volume.metadata.deletion_timestamp is None and _is_deletable(volume):
            await self._delete(volume)

    async def _phase(self, volume: PersistentVolume) -> str:
        to = volume.spec.claim_ref
        if to is None or not to.uid:
            return "Available"
        claim = self._claims.objects.get(f"{to.namespace}/{to.name}")
        if claim is None:
            claim = await self._claim_on_server(to.namespace or "", to.name or "")
        return "Bound" if claim is not None and is_reserved_for_claim(volume, claim) else "Released"

    async def _claim_on_server(self, namespace: str, name: str) -> PersistentVolumeClaim | None:
        """Read from the server before a volume is deleted: the watch may lag behind."""
        try:
            return await self._client.get(CLAIMS, name, namespace=namespace)
        except ApiError as error:
            if not error.is_missing:
                raise
            return None

    async def _delete(self, volume: PersistentVolume) -> None:
        try:
            await self._client.delete(VOLUMES, volume.metadata.name, uid=volume.metadata.uid)
        except ApiError as error:
            if not error.is_missing:
                raise


def _is_deletable(volume: PersistentVolume) -> bool:
    """Report whether the volume may be deleted: provisioned by this fake, with reclaim policy Delete."""
    is_simulated_volume = (volume.metadata.labels or {}).get(SIMULATED) == "true"
    return is_simulated_volume and volume.spec.persistent_volume_reclaim_policy == "Delete"
