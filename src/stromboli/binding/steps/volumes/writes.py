"""Patches of claims and volumes, each with the resource version that was read.

A volume is reserved for a claim by its `claimRef`; the volume controller then binds both. A claim whose volume has to
be provisioned gets the selected node as an annotation; its provisioner does the rest. Both writes are idempotent, and
can be rolled back until the volume is bound.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

from stromboli.binding.steps.step import StepFailed
from stromboli.kube.client.api_errors import ApiError, RequestFailed
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import CLAIMS, VOLUMES
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.resources import Resource
from stromboli.kube.objects.storage import BOUND_BY_CONTROLLER, SELECTED_NODE, PersistentVolume, PersistentVolumeClaim
from stromboli.kube.work.retry import RetryPolicy, is_retryable

T = TypeVar("T", bound=TopLevel)
#: Return the patch for an object; None for no change. Raises StepFailed when the change is impossible.
Change = Callable[[T], dict[str, Any] | None]


def is_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Report whether the volume is reserved for exactly this claim."""
    to = volume.spec.claim_ref
    return to is not None and to.uid == claim.metadata.uid


class ClaimWrites:
    """The patches, each retried with the newest version after a conflict."""

    def __init__(self, client: Client, written: Callable[[TopLevel], object], retry: RetryPolicy | None = None) -> None:
        self._client = client
        self._written = written
        self._retry = retry or RetryPolicy()

    async def reserve(self, volume: str, claim: PersistentVolumeClaim) -> None:
        """Reserve the volume for the claim. Raises StepFailed when it is reserved for another one."""

        def change(found: PersistentVolume) -> dict[str, Any] | None:
            to, metadata = found.spec.claim_ref, claim.metadata
            if is_for(found, claim):
                return None
            by_name = to is not None and (to.namespace, to.name) == (metadata.namespace, metadata.name) and not to.uid
            if to is not None and not by_name:
                raise StepFailed(f"volume {volume} is reserved for claim {to.namespace}/{to.name}")
            if found.metadata.deletion_timestamp is not None:
                raise StepFailed(f"volume {volume} is being deleted")
            notes = {} if by_name else {"metadata": {"annotations": {BOUND_BY_CONTROLLER: "yes"}}}
            return {**notes, "spec": {"claimRef": claim.reference}}

        await self._write(VOLUMES, volume, "", change)

    async def release(self, volume: str, claim: PersistentVolumeClaim) -> None:
        """Remove the reservation, unless the claim is bound by now. A volume that was pre-bound to the claim by name
        stays pre-bound by name.
        """

        def change(found: PersistentVolume) -> dict[str, Any] | None:
            if not is_for(found, claim) or found.status.phase == "Bound":
                return None
            if BOUND_BY_CONTROLLER not in (found.metadata.annotations or {}):
                return {"spec": {"claimRef": {"uid": None}}}
            return {"metadata": {"annotations": {BOUND_BY_CONTROLLER: None}}, "spec": {"claimRef": None}}

        await self._write(VOLUMES, volume, "", change, is_needed=False)

    async def select(self, claim: PersistentVolumeClaim, node: str, gone: Callable[[str], bool]) -> None:
        """Have the claim's volume provisioned for the node. Raises StepFailed when another node is selected."""

        def change(found: PersistentVolumeClaim) -> dict[str, Any] | None:
            if found.metadata.uid != claim.metadata.uid:
                raise StepFailed(f"claim {claim.key} is gone, and another claim has its name")
            chosen = found.selected_node
            if found.is_bound or chosen == node:
                return None
            if chosen and not gone(chosen):
                raise StepFailed(f"claim {found.key} is being provisioned for node {chosen}")
            return {"metadata": {"annotations": {SELECTED_NODE: node}}}

        await self._write(CLAIMS, claim.metadata.name, claim.metadata.namespace, change)

    async def deselect(self, claim: PersistentVolumeClaim, node: str) -> None:
        """Remove the selected node, unless the claim is bound by now."""

        def change(found: PersistentVolumeClaim) -> dict[str, Any] | None:
            if found.metadata.uid != claim.metadata.uid or found.is_bound or found.selected_node != node:
                return None
            return {"metadata": {"annotations": {SELECTED_NODE: None}}}

        await self._write(CLAIMS, claim.metadata.name, claim.metadata.namespace, change, is_needed=False)

    async def _write(
        self, resource: Resource[T], name: str, namespace: str, change: Change[T], *, is_needed: bool = True
    ) -> None:
        """Read and patch, with retries. A missing object that is not needed is a success."""
        attempt, began = 0, time.monotonic()
        while True:
            try:
                found = await self._client.get(resource, name, namespace=namespace)
                body = change(found)
                if body is not None:
                    metadata = {**body.get("metadata", {}), "resourceVersion": found.metadata.resource_version}
                    found = await self._client.patch(
                        resource, name, {**body, "metadata": metadata}, namespace=namespace
                    )
                self._written(found)
                return
            except RequestFailed as error:
                missing = isinstance(error, ApiError) and error.is_missing
                if missing and not is_needed:
                    return
                if missing:
                    raise StepFailed(f"{resource.kind} {name} is gone") from None
                has_conflict = isinstance(error, ApiError) and error.is_conflict
                if not (has_conflict or is_retryable(error)) or not await self._retry.wait(attempt, error, began):
                    raise
                attempt += 1
