"""The controller of ephemeral volumes: creates their claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.catalogue import CLAIMS
from stromboli.kube.objects.pod import Pod, Volume
from stromboli.kube.objects.storage import PersistentVolumeClaim
from stromboli.kube.watch.informer import Informer
from stromboli.kube.work.work_queue import WorkQueue

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client


class EphemeralVolumes:
    """The claim is owned by the pod, so that the garbage collector deletes both."""

    def __init__(self, client: Client, pods: Informer[Pod], claims: Informer[PersistentVolumeClaim]) -> None:
        self._client = client
        self._pods, self._claims = pods, claims
        self.work: WorkQueue[str] = WorkQueue(self._reconcile, name="ephemeral volumes", workers=4)
        pods.listen(self._pod_changed)

    async def run(self) -> None:
        """Run until cancelled."""
        await self._pods.synced.wait()
        await self._claims.synced.wait()
        await self.work.run()

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        """Volumes of a pod are immutable."""
        if new is not None and (old is None or old.metadata.uid != new.metadata.uid) and _ephemeral(new):
            self.work.add(new.key)

    async def _reconcile(self, key: str) -> None:
        pod = self._pods.objects.get(key)
        if pod is None or pod.metadata.deletion_timestamp is not None:
            return
        for volume in _ephemeral(pod):
            if f"{pod.metadata.namespace}/{claim_name(pod, volume)}" not in self._claims.objects:
                await self._create(pod, volume)

    async def _create(self, pod: Pod, volume: Volume) -> None:
        template = (volume.ephemeral.volume_claim_template if volume.ephemeral else None) or {}
        body = {"metadata": _metadata(pod, volume, template.get("metadata") or {}), "spec": template.get("spec") or {}}
        try:
            await self._client.create(CLAIMS, body, namespace=pod.metadata.namespace)
        except ApiError as error:
            if not error.is_conflict:
                raise


def claim_name(pod: Pod, volume: Volume) -> str:
    return f"{pod.metadata.name}-{volume.name}"


def _ephemeral(pod: Pod) -> list[Volume]:
    return [volume for volume in pod.spec.volumes or () if volume.ephemeral is not None]


def _metadata(pod: Pod, volume: Volume, template: dict[str, Any]) -> dict[str, Any]:
    metadata = pod.metadata
    owner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": metadata.name,
        "uid": metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    kept: dict[str, Any] = {part: template[part] for part in ("labels", "annotations") if part in template}
    return {"name": claim_name(pod, volume), "ownerReferences": [owner], **kept}
