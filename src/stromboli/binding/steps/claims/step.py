"""Claims get their devices, and their pods are entered as users, before the pods are bound.

Everything is written over the version that was looked at, so that two who give out devices never overwrite each other,
and it can be repeated: what stands there already is left as it is. What was written is taken back when the bind is
given up; a claim that others use by then keeps its devices.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from stromboli.binding.orders import BindOrder, ClaimWrite
from stromboli.binding.steps.step import Sight, StepFailed
from stromboli.cluster.objects.claims.claim_needs import MAX_USERS
from stromboli.cluster.objects.nodes import node_facts
from stromboli.cluster.objects.storage.volume_needs import volume_terms
from stromboli.core.model.nodes.table import NodeTable
from stromboli.core.model.volumes.volume_table import reachable
from stromboli.kube.client.api_errors import ApiError, RequestFailed
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import RESOURCE_CLAIMS
from stromboli.kube.objects.claims import PROTECTION, ClaimConsumer, ResourceClaim
from stromboli.kube.objects.cluster import KubeNode
from stromboli.kube.work.retry import RetryPolicy, is_retryable


class ClaimStep:
    """Writes devices and users on the claims of a pod."""

    name = "dynamic resources"

    def __init__(self, client: Client, sight: Sight, retry: RetryPolicy | None = None) -> None:
        self._client = client
        self._view = sight
        self._retry = retry or RetryPolicy()

    def applies_to(self, order: BindOrder) -> bool:
        return bool(order.claims)

    async def prepare(self, order: BindOrder) -> None:
        """Raises StepFailed; what was written by then is for `undo` to take back."""
        for write in order.claims:
            await _ClaimWriter(self._client, self._view, self._retry, order, write).give()

    async def undo(self, order: BindOrder) -> None:
        for write in reversed(order.claims):
            await _ClaimWriter(self._client, self._view, self._retry, order, write).take_back()

    def done(self, order: BindOrder) -> None:
        """Nothing is remembered: all that matters stands on the claims."""


class _ClaimWriter:
    """One claim of one pod: looked at and written, again when somebody else was faster or the server was busy."""

    def __init__(self, client: Client, sight: Sight, retry: RetryPolicy, order: BindOrder, write: ClaimWrite) -> None:
        self._client = client
        self._view = sight
        self._retry = retry
        self._order = order
        self._write = write
        self._namespace, _, self._name = write.key.partition("/")

    async def give(self) -> None:
        await self._repeat(self._allocate_once, is_needed=True)

    async def take_back(self) -> None:
        await self._repeat(self._deallocate_once, is_needed=False)

    async def _repeat(self, once: Callable[[ResourceClaim], Awaitable[None]], *, is_needed: bool) -> None:
        """What was reported may be old: no claim is given up, and nothing taken back, without having been read."""
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
                can_wait = has_conflict or is_retryable(error)
                if not can_wait or not await self._retry.wait(attempt, error, began):
                    raise
                attempt, known = attempt + 1, None

    async def _read(self) -> ResourceClaim:
        claim = await self._client.get(RESOURCE_CLAIMS, self._name, namespace=self._namespace)
        self._view.apply(claim)
        return claim

    # -- giving -------------------------------------------------------------------------------------------------

    async def _allocate_once(self, claim: ResourceClaim) -> None:
        key, status, allocation = self._write.key, claim.status, self._write.allocation
        if claim.metadata.deletion_timestamp is not None:
            raise StepFailed(f"resourceclaim {key} is being deleted")
        users = status.reserved_for or []
        is_reserved = any(user.uid == self._order.uid for user in users)
        if status.allocation is not None:
            self._check_node_selector(claim)
            if is_reserved:
                return
        if not is_reserved and len(users) >= MAX_USERS:
            raise StepFailed(f"resourceclaim {key} is used by {len(users)} pods, and more may not")
        change: dict[str, Any] = {"reservedFor": _wire(users if is_reserved else [*users, self._user()])}
        if status.allocation is None:
            if allocation is None:
                raise StepFailed(f"resourceclaim {key} has lost its devices")
            claim = await self._protect(claim)
            change["allocation"] = allocation
        await self._patch(claim, {"status": change}, subresource="status")

    def _user(self) -> ClaimConsumer:
        return ClaimConsumer(resource="pods", name=self._order.name, uid=self._order.uid)

    def _check_node_selector(self, claim: ResourceClaim) -> None:
        """Somebody else may have given the claim its devices."""
        node, allocation = self._view.get(KubeNode, self._order.node), claim.status.allocation
        if not isinstance(node, KubeNode) or allocation is None:
            return
        try:
            terms = volume_terms(allocation.node_selector, "status.allocation.nodeSelector.nodeSelectorTerms")
            reaches = bool(reachable(NodeTable([node_facts(node)]), terms)[0])
        except ValueError as error:
            raise StepFailed(f"resourceclaim {claim.key}: {error}") from None
        if not reaches:
            words = f"has devices that cannot be used from node {self._order.node}"
            raise StepFailed(f"resourceclaim {claim.key} {words}")

    async def _protect(self, claim: ResourceClaim) -> ResourceClaim:
        """A claim that has devices must not go before they are given back."""
        finalizers = claim.metadata.finalizers or []
        if PROTECTION in finalizers:
            return claim
        return await self._patch(claim, {"metadata": {"finalizers": [*finalizers, PROTECTION]}})

    # -- taking back --------------------------------------------------------------------------------------------

    async def _deallocate_once(self, claim: ResourceClaim) -> None:
        """Whoever gave the claim its devices for this pod takes them back, unless others use them."""
        users = claim.status.reserved_for or []
        others = [user for user in users if user.uid != self._order.uid]
        is_ours = self._write.allocation is not None and not others and claim.status.allocation is not None
        change: dict[str, Any] = {}
        if len(others) < len(users):
            change["reservedFor"] = _wire(others) or None
        if is_ours and len(users) <= 1 and self._matches_allocation(claim):
            change["allocation"] = None
        if change:
            claim = await self._patch(claim, {"status": change}, subresource="status")
        if claim.status.allocation is None and PROTECTION in (claim.metadata.finalizers or ()) and is_ours:
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
