"""The plugin `dynamic-resources`: allocates ResourceClaims and reserves them for their pods before the pods are bound.

The claims follow from the pod; the placement has the allocations that the scheduler chose. Every write carries the
resource version that was read, so that two writers never overwrite each other, and is idempotent. What was written is
rolled back when the pod is not bound; a claim that other pods use by then keeps its devices. For a deleted pod, the
claims that are reserved for it show what to undo.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec

from stromboli.binding.plugins.plugin import BinderContext, BinderPlugin
from stromboli.binding.steps.extended_claims import ExtendedClaims
from stromboli.binding.steps.step import StepFailed
from stromboli.cluster.objects.claims.claim_allocations import allocation_of
from stromboli.cluster.objects.claims.claim_needs import MAX_USERS, uses_of
from stromboli.cluster.objects.claims.extended_resources import EXTENDED, claim_name
from stromboli.cluster.objects.claims.resource_claims import ResourceClaims
from stromboli.cluster.objects.nodes import node_facts
from stromboli.cluster.objects.storage.volume_needs import volume_terms
from stromboli.core.model.nodes.table import NodeTable
from stromboli.core.model.tasks.placement import Placement
from stromboli.core.model.volumes.volume_table import reachable
from stromboli.kube.client.api_errors import ApiError, RequestFailed
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import DEVICE_CLASSES, RESOURCE_CLAIMS
from stromboli.kube.objects.claims import PROTECTION, ClaimConsumer, DeviceClass, ResourceClaim
from stromboli.kube.objects.cluster import KubeNode
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.resources import Resource
from stromboli.kube.work.retry import RetryPolicy, is_retryable
from stromboli.kube.work.status_writer import ObjectStore


class DynamicResourcesPlugin(BinderPlugin):
    """Allocations and reservations of resource claims; both are rolled back when the pod is not bound."""

    name = "dynamic-resources"
    watches: ClassVar[tuple[Resource[Any], ...]] = (RESOURCE_CLAIMS, DEVICE_CLASSES)

    def open(self, context: BinderContext) -> None:
        super().open(context)
        self._step = ClaimStep(context.client, context.view)
        self._extended = ExtendedClaims(context.client, context.view)

    def applies_to(self, placement: Placement) -> bool:
        if placement.allocations:
            return True
        pod = self.context.pod(placement)
        return pod is not None and bool(pod.spec.resource_claims or self._made_before(pod))

    def prepared_for(self, pod: Pod) -> bool:
        keys = [use.key for use in uses_of(pod) if use.key] if pod.spec.resource_claims else []
        claims = [self.context.view.get(ResourceClaim, key) for key in (*keys, _extended_key(pod))]
        found = (claim for claim in claims if isinstance(claim, ResourceClaim))
        return any(user.uid == pod.metadata.uid for claim in found for user in claim.status.reserved_for or ())

    async def pre_bind(self, placement: Placement) -> None:
        pod, allocation = self.context.pod(placement), placement.allocations.get(EXTENDED)
        if pod is None or allocation is None:
            await self._step.prepare(placement, self._writes(placement))
            return
        classes = list(self.context.view.of_kind(DeviceClass))
        await self._extended.create(pod, classes, allocation)
        await self._step.prepare(placement, self._writes(placement))
        await self._extended.write_status(pod, classes, allocation)

    async def rollback(self, placement: Placement) -> None:
        await self._step.undo(placement, self._writes(placement))

    def _writes(self, placement: Placement) -> tuple[ClaimWrite, ...]:
        pod = self.context.pod(placement)
        uses = uses_of(pod) if pod is not None else ()
        writes = [ClaimWrite(use.key, self._allocation(placement, use.name, use.key)) for use in uses if use.key]
        if pod is not None and (EXTENDED in placement.allocations or self._made_before(pod)):
            writes.append(ClaimWrite(_extended_key(pod), placement.allocations.get(EXTENDED)))
        if writes:
            return tuple(writes)
        claims = self.context.view.of_kind(ResourceClaim)
        mine = (each for each in claims if any(user.uid == placement.uid for user in each.status.reserved_for or ()))
        return tuple(ClaimWrite(claim.key) for claim in sorted(mine, key=lambda claim: claim.key))

    def _allocation(self, placement: Placement, name: str, key: str) -> Mapping[str, Any] | None:
        """Return what was chosen for a claim; without a node the request is lost, and the claim shows it."""
        claim = self.context.view.get(ResourceClaim, key)
        if placement.node or not isinstance(claim, ResourceClaim) or claim.status.allocation is None:
            return placement.allocations.get(name)
        users = [user.uid for user in claim.status.reserved_for or ()]
        return msgspec.to_builtins(claim.status.allocation) if users == [placement.uid] else None

    def _made_before(self, pod: Pod) -> bool:
        """Report whether an earlier attempt has allocated a claim for the extended resources of the pod."""
        claim = self.context.view.get(ResourceClaim, _extended_key(pod))
        return isinstance(claim, ResourceClaim) and claim.status.allocation is not None


def _extended_key(pod: Pod) -> str:
    status = pod.status.extended_resource_claim_status
    name = (status.resource_claim_name if status else None) or claim_name(pod)
    return f"{pod.metadata.namespace}/{name}"


@dataclass(frozen=True, slots=True)
class ClaimWrite:
    """A resource claim of a pod, and the allocation that it gets if it has none."""

    key: str
    #: As written to the status of the claim; None where the claim must be allocated already.
    allocation: Mapping[str, Any] | None = None


class ClaimStep:
    """Writes allocations and reservations of the claims of a pod."""

    def __init__(self, client: Client, view: ObjectStore, retry: RetryPolicy | None = None) -> None:
        self._client = client
        self._view = view
        self._retry = retry or RetryPolicy()

    async def prepare(self, placement: Placement, writes: Sequence[ClaimWrite]) -> None:
        """Allocate and reserve all claims. Raises StepFailed; `undo` then rolls back what was written."""
        for write in writes:
            await _ClaimWriter(self._client, self._view, self._retry, placement, write).allocate()

    async def undo(self, placement: Placement, writes: Sequence[ClaimWrite]) -> None:
        for write in reversed(writes):
            await _ClaimWriter(self._client, self._view, self._retry, placement, write).deallocate()


class _ClaimWriter:
    """One claim of one pod: read and written, with retries after conflicts and retryable errors."""

    def __init__(
        self, client: Client, view: ObjectStore, retry: RetryPolicy, placement: Placement, write: ClaimWrite
    ) -> None:
        self._client = client
        self._view = view
        self._retry = retry
        self._placement = placement
        self._write = write
        self._namespace, _, self._name = write.key.partition("/")

    async def allocate(self) -> None:
        await self._retry_write(self._allocate_once, is_needed=True)

    async def deallocate(self) -> None:
        await self._retry_write(self._deallocate_once, is_needed=False)

    async def _retry_write(self, once: Callable[[ResourceClaim], Awaitable[None]], *, is_needed: bool) -> None:
        """Run the write, first on the claim as watched, which may be old: failures count only after a fresh read."""
        attempt, began = 0, time.monotonic()
        known = self._view.get(ResourceClaim, self._write.key) if is_needed else None
        while True:
            try:
                claim = known if isinstance(known, ResourceClaim) else await self._read()
                await once(claim)
                return
            except StepFailed:
                if known is None:
                    raise
                known = None
            except RequestFailed as error:
                if isinstance(error, ApiError) and error.is_missing:
                    if is_needed:
                        raise StepFailed(f"resourceclaim {self._write.key} is gone") from None
                    return
                has_conflict = isinstance(error, ApiError) and error.is_conflict
                can_retry = has_conflict or is_retryable(error)
                if not can_retry or not await self._retry.wait(attempt, error, began):
                    raise
                attempt, known = attempt + 1, None

    async def _read(self) -> ResourceClaim:
        claim = await self._client.get(RESOURCE_CLAIMS, self._name, namespace=self._namespace)
        self._view.apply(claim)
        return claim

    # -- allocation ---------------------------------------------------------------------------------------------

    async def _allocate_once(self, claim: ResourceClaim) -> None:
        key, status, allocation = self._write.key, claim.status, self._write.allocation
        if claim.metadata.deletion_timestamp is not None:
            raise StepFailed(f"resourceclaim {key} is being deleted")
        users = status.reserved_for or []
        is_reserved = any(user.uid == self._placement.uid for user in users)
        if status.allocation is not None:
            self._check_node_selector(claim)
            if is_reserved:
                return
        if not is_reserved and len(users) >= MAX_USERS:
            raise StepFailed(f"resourceclaim {key} is reserved for {len(users)} pods, the maximum")
        own = ClaimConsumer(resource="pods", name=self._placement.name, uid=self._placement.uid)
        change: dict[str, Any] = {"reservedFor": _wire(users if is_reserved else [*users, own])}
        if status.allocation is None:
            if allocation is None:
                raise StepFailed(f"resourceclaim {key} has lost its allocation")
            finalizers = claim.metadata.finalizers or []
            if PROTECTION not in finalizers:  # an allocated claim must not be deleted before it is deallocated
                claim = await self._patch(claim, {"metadata": {"finalizers": [*finalizers, PROTECTION]}})
            change["allocation"] = allocation
        await self._patch(claim, {"status": change}, subresource="status")

    def _check_node_selector(self, claim: ResourceClaim) -> None:
        """Check that an allocation, which another writer may have made, can be used from the node."""
        node, allocation = self._view.get(KubeNode, self._placement.node), claim.status.allocation
        if not isinstance(node, KubeNode) or allocation is None:
            return
        try:
            terms = volume_terms(allocation.node_selector, "status.allocation.nodeSelector.nodeSelectorTerms")
            reaches = bool(reachable(NodeTable([node_facts(node)]), terms)[0])
        except ValueError as error:
            raise StepFailed(f"resourceclaim {claim.key}: {error}") from None
        if not reaches:
            node_name = self._placement.node
            raise StepFailed(f"resourceclaim {claim.key} has devices that cannot be used from node {node_name}")

    # -- rollback -----------------------------------------------------------------------------------------------

    async def _deallocate_once(self, claim: ResourceClaim) -> None:
        """Remove the reservation, and the allocation if it was made for this pod and no other pod uses it."""
        users = claim.status.reserved_for or []
        others = [user for user in users if user.uid != self._placement.uid]
        may_deallocate = self._write.allocation is not None and not others and claim.status.allocation is not None
        change: dict[str, Any] = {}
        if len(others) < len(users):
            change["reservedFor"] = _wire(others) or None
        if may_deallocate and len(users) <= 1 and self._matches_allocation(claim):
            change["allocation"] = None
        if change:
            claim = await self._patch(claim, {"status": change}, subresource="status")
        if claim.status.allocation is None and PROTECTION in (claim.metadata.finalizers or ()) and may_deallocate:
            left = [each for each in claim.metadata.finalizers or () if each != PROTECTION]
            await self._patch(claim, {"metadata": {"finalizers": left or None}})

    def _matches_allocation(self, claim: ResourceClaim) -> bool:
        written = ((self._write.allocation or {}).get("devices") or {}).get("results") or []
        devices = claim.status.allocation.devices if claim.status.allocation else None
        names = [(each.driver, each.pool, each.device) for each in (devices.results if devices else None) or ()]
        return names == [(each.get("driver"), each.get("pool"), each.get("device")) for each in written]

    async def _patch(self, claim: ResourceClaim, body: dict[str, Any], subresource: str = "") -> ResourceClaim:
        version = {"resourceVersion": claim.metadata.resource_version, "uid": claim.metadata.uid}
        document = {**body, "metadata": {**body.get("metadata", {}), **version}}
        written = await self._client.patch(
            RESOURCE_CLAIMS, self._name, document, namespace=self._namespace, subresource=subresource
        )
        self._view.apply(written)
        return written


def _wire(users: list[ClaimConsumer]) -> list[dict[str, Any]]:
    return [{key: value for key, value in msgspec.to_builtins(user).items() if value} for user in users]


def allocations_of(placement: Placement, claims: ResourceClaims) -> dict[str, dict[str, Any]]:
    """Return the allocations of the devices that were chosen, as written to the claims' status, by the pod's names."""
    if placement.devices is None:
        return {}
    keys = dict(placement.devices.claims)
    chosen = ((choice, claims.claim(keys[choice.name])) for choice in placement.devices.choices if choice.name in keys)
    return {
        choice.name: msgspec.to_builtins(allocation_of(claim, choice, placement.node, claims.device_class))
        for choice, claim in chosen
        if claim is not None
    }
