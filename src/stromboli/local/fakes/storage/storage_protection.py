"""Storage protection: a claim is kept while pods use it, a volume while a claim uses it.

The server sets a finalizer at creation; it is removed here when a deleted object is no longer used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.catalogue import CLAIMS, VOLUMES
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.storage import PersistentVolume, PersistentVolumeClaim
from stromboli.kube.watch.informer import Informer
from stromboli.kube.work.work_queue import WorkQueue
from stromboli.local.fakes.storage.ephemeral_volumes import claim_name

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client
    from stromboli.kube.objects.resources import Resource

CLAIM_PROTECTION = "kubernetes.io/pvc-protection"
VOLUME_PROTECTION = "kubernetes.io/pv-protection"
_Protected = PersistentVolumeClaim | PersistentVolume


class StorageProtection:
    def __init__(
        self,
        client: Client,
        pods: Informer[Pod],
        claims: Informer[PersistentVolumeClaim],
        volumes: Informer[PersistentVolume],
    ) -> None:
        self._client = client
        self._pods, self._claims, self._volumes = pods, claims, volumes
        #: Keys of the bound pods that use a claim, by the claim's key.
        self._users: dict[str, set[str]] = {}
        self.work: WorkQueue[tuple[str, str]] = WorkQueue(self._reconcile, name="storage protection", workers=4)
        pods.listen(self._pod_changed)
        claims.listen(lambda _old, new: self._enqueue(CLAIMS, new))
        volumes.listen(lambda _old, new: self._enqueue(VOLUMES, new))

    async def run(self) -> None:
        """Run until cancelled."""
        for synced in (self._pods.synced, self._claims.synced, self._volumes.synced):
            await synced.wait()
        await self.work.run()

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        for key in _claims_of(old):
            if users := self._users.get(key):
                users.discard(old.key if old else "")
                if not users:
                    del self._users[key]
                    self.work.add((CLAIMS.plural, key))
        for key in _claims_of(new):
            self._users.setdefault(key, set()).add(new.key if new else "")

    def _enqueue(self, resource: Resource[Any], entry: _Protected | None) -> None:
        if entry is not None and entry.metadata.deletion_timestamp is not None:
            self.work.add((resource.plural, entry.key))

    async def _reconcile(self, what: tuple[str, str]) -> None:
        plural, key = what
        if plural == CLAIMS.plural:
            claim = self._claims.objects.get(key)
            if claim is not None and key not in self._users:
                await self._remove_finalizer(CLAIMS, claim, CLAIM_PROTECTION)
        else:
            volume = self._volumes.objects.get(key)
            if volume is not None and volume.status.phase != "Bound":
                await self._remove_finalizer(VOLUMES, volume, VOLUME_PROTECTION)

    async def _remove_finalizer(self, resource: Resource[Any], entry: _Protected, finalizer: str) -> None:
        metadata, held = entry.metadata, entry.metadata.finalizers or []
        if metadata.deletion_timestamp is None or finalizer not in held:
            return
        rest = [each for each in held if each != finalizer]
        body = {"metadata": {"resourceVersion": metadata.resource_version, "finalizers": rest}}
        try:
            await self._client.patch(resource, metadata.name, body, namespace=metadata.namespace or "")
        except ApiError as error:
            if not error.is_missing:
                raise


def _claims_of(pod: Pod | None) -> Iterator[str]:
    """The keys of the claims that a pod uses. A pod without a node mounts nothing."""
    if pod is None or not pod.spec.node_name:
        return
    for volume in pod.spec.volumes or ():
        if volume.persistent_volume_claim is not None:
            yield f"{pod.metadata.namespace}/{volume.persistent_volume_claim.claim_name}"
        elif volume.ephemeral is not None:
            yield f"{pod.metadata.namespace}/{claim_name(pod, volume)}"
