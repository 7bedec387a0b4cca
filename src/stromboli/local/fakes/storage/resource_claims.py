"""The controller of resource claims: creates them from templates, and releases them after use.

A pod that was bound before its claim was reserved gets the reservation here. When the last pod of a claim has finished,
the claim is deallocated; a claim that was created for that pod is deleted.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import PatchKind
from stromboli.kube.objects.catalogue import PODS, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS
from stromboli.kube.objects.claims import PROTECTION, ClaimConsumer, ResourceClaim, ResourceClaimTemplate
from stromboli.kube.objects.pod import Pod
from stromboli.kube.watch.informer import Informer
from stromboli.kube.work.work_queue import WorkQueue
from stromboli.local.fakes.storage.pod_claims import (
    claim_document,
    claim_names,
    consumer,
    is_done,
    is_in_use,
    made_for,
    templated,
)

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client


class ClaimController:
    def __init__(self, client: Client, pods: Informer[Pod]) -> None:
        self._client = client
        self._pods = pods
        self._claims: Informer[ResourceClaim] = Informer(client, RESOURCE_CLAIMS, optional=True)
        self._templates: Informer[ResourceClaimTemplate] = Informer(client, RESOURCE_CLAIM_TEMPLATES, optional=True)
        self._made: dict[str, dict[str, str]] = {}
        self._users: dict[str, Pod] = {}
        self._user_by_uid: dict[str, str] = {}
        self._users_of_claim: dict[str, set[str]] = {}
        self.pods_work: WorkQueue[str] = WorkQueue(self._reconcile_pod, name="claims of pods", workers=4)
        self.claims_work: WorkQueue[str] = WorkQueue(self._reconcile_claim, name="device claims", workers=4)
        #: Number of claims created.
        self.created = 0
        pods.listen(self._pod_changed)
        self._claims.listen(self._claim_changed)
        self._templates.listen(self._template_changed)

    async def run(self) -> None:
        """Run until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for informer in (self._claims, self._templates):
                tasks.create_task(informer.run())
            for synced in (self._pods.synced, self._claims.synced, self._templates.synced):
                await synced.wait()
            tasks.create_task(self.pods_work.run())
            tasks.create_task(self.claims_work.run())

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        pod = new or old
        if pod is None or not (pod.spec.resource_claims or pod.status.extended_resource_claim_status):
            return
        if new is None:
            self._forget(pod)
        else:
            self._users[pod.key] = new
            self._user_by_uid[pod.metadata.uid] = pod.key
            self.pods_work.add(pod.key)
        for claim in _claim_keys(pod):
            if new is None or is_done(new):
                self.claims_work.add(claim)
            else:
                self._users_of_claim.setdefault(claim, set()).add(pod.key)

    def _forget(self, pod: Pod) -> None:
        self._users.pop(pod.key, None)
        self._user_by_uid.pop(pod.metadata.uid, None)
        self._made.pop(pod.metadata.uid, None)
        for claim in _claim_keys(pod):
            users = self._users_of_claim.get(claim, set())
            users.discard(pod.key)
            if not users:
                self._users_of_claim.pop(claim, None)

    def _claim_changed(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        if new is None:
            return
        self.claims_work.add(new.key)
        if (origin := made_for(new)) is not None:
            uid, own_name = origin
            self._made.setdefault(uid, {})[own_name] = new.metadata.name
        if (old is None) or (old.status.allocation is None) != (new.status.allocation is None):
            for pod in self._users_of_claim.get(new.key, ()):
                self.pods_work.add(pod)

    def _template_changed(self, old: ResourceClaimTemplate | None, new: ResourceClaimTemplate | None) -> None:
        if old is None and new is not None:
            for pod in self._users.values():
                self.pods_work.add(pod.key)

    async def _reconcile_pod(self, key: str) -> None:
        pod = self._users.get(key)
        if pod is None or is_done(pod):
            return
        await self._make_claims(pod)
        if pod.spec.node_name:
            for claim in _claim_keys(pod):
                await self._reserve(pod, self._claims.objects.get(claim))

    async def _make_claims(self, pod: Pod) -> None:
        known, made = claim_names(pod), self._made.setdefault(pod.metadata.uid, {})
        names: dict[str, str] = {}
        for claim in templated(pod):
            own_name = claim.name or ""
            name = known.get(own_name) or made.get(own_name)
            if name is None:
                template = self._templates.objects.get(f"{pod.metadata.namespace}/{claim.resource_claim_template_name}")
                if template is None:
                    continue
                name = made[own_name] = await self._create(pod, own_name, template)
            names[own_name] = name
        if names.keys() - known.keys():
            await self._write_claim_statuses(pod, names)

    async def _create(self, pod: Pod, own_name: str, template: ResourceClaimTemplate) -> str:
        body = claim_document(pod, own_name, template)
        claim = await self._client.create(RESOURCE_CLAIMS, body, namespace=pod.metadata.namespace)
        self.created += 1
        return claim.metadata.name

    async def _write_claim_statuses(self, pod: Pod, names: dict[str, str]) -> None:
        statuses = [{"name": own_name, "resourceClaimName": name} for own_name, name in names.items()]
        body = {"metadata": {"uid": pod.metadata.uid}, "status": {"resourceClaimStatuses": statuses}}
        where = pod.metadata.namespace
        try:
            await self._client.patch(
                PODS, pod.metadata.name, body, namespace=where, subresource="status", kind=PatchKind.STRATEGIC
            )
        except ApiError as error:
            if not error.is_missing:
                raise

    async def _reserve(self, pod: Pod, claim: ResourceClaim | None) -> None:
        """Only an allocated claim can be reserved; usually the scheduler reserves it."""
        if claim is None or claim.status.allocation is None:
            return
        consumers = claim.status.reserved_for or []
        if all(each.uid != pod.metadata.uid for each in consumers):
            await self._write_status(claim, {"reservedFor": _builtins([*consumers, consumer(pod)])})

    async def _reconcile_claim(self, key: str) -> None:
        claim = self._claims.objects.get(key)
        if claim is None:
            return
        users = claim.status.reserved_for or []
        kept = [user for user in users if await self._is_in_use(user, claim)]
        if len(kept) < len(users):
            claim = await self._write_status(claim, _release(kept, claim))
        if not kept:
            await self._release_claim(claim)

    async def _is_in_use(self, user: ClaimConsumer, claim: ResourceClaim) -> bool:
        """Read from the server before a release: the watch may lag behind."""
        namespace = claim.metadata.namespace
        if is_in_use(user, self._pods.objects, namespace):
            return True
        try:
            pod = await self._client.get(PODS, user.name or "", namespace=namespace)
        except ApiError as error:
            if not error.is_missing:
                raise
            return False
        return is_in_use(user, {pod.key: pod}, namespace)

    async def _release_claim(self, claim: ResourceClaim) -> None:
        """Release an unused claim: remove its finalizer, and delete it if it was created for a finished pod."""
        metadata = claim.metadata
        finalizers = metadata.finalizers or []
        if PROTECTION in finalizers and claim.status.allocation is None:
            kept = [name for name in finalizers if name != PROTECTION] or None
            change = {"metadata": {"resourceVersion": metadata.resource_version, "finalizers": kept}}
            await self._client.patch(RESOURCE_CLAIMS, metadata.name, change, namespace=metadata.namespace)
        origin = made_for(claim)
        pod = self._users.get(self._user_by_uid.get(origin[0], "")) if origin else None
        if pod is not None and is_done(pod) and metadata.deletion_timestamp is None:
            await self._delete(claim)

    async def _delete(self, claim: ResourceClaim) -> None:
        metadata = claim.metadata
        try:
            await self._client.delete(RESOURCE_CLAIMS, metadata.name, namespace=metadata.namespace, uid=metadata.uid)
        except ApiError as error:
            if not error.is_missing:
                raise

    async def _write_status(self, claim: ResourceClaim, changes: dict[str, Any]) -> ResourceClaim:
        """Write only over the version that was read: the scheduler writes the status as well."""
        metadata = claim.metadata
        body = {"metadata": {"resourceVersion": metadata.resource_version}, "status": changes}
        return await self._client.patch(
            RESOURCE_CLAIMS, metadata.name, body, namespace=metadata.namespace, subresource="status"
        )


def _claim_keys(pod: Pod) -> list[str]:
    return [f"{pod.metadata.namespace}/{name}" for name in claim_names(pod).values()]


def _release(kept: list[ClaimConsumer], claim: ResourceClaim) -> dict[str, Any]:
    """The last release also deallocates."""
    changes: dict[str, Any] = {"reservedFor": _builtins(kept) or None}
    if not kept and claim.status.allocation is not None:
        changes["allocation"] = None
    return changes


def _builtins(users: list[ClaimConsumer]) -> list[dict[str, Any]]:
    return [msgspec.to_builtins(user) for user in users]
