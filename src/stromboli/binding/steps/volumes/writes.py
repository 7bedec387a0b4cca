"""What is written on claims and volumes so that they come together: small patches over the version that was read.

A volume is promised to a claim by its `claimRef`; whoever brings claims and volumes together does the rest. A claim for
which a volume has to be made is told the node; its provisioner does the rest. Both can be repeated, and both can be
taken back as long as the rest is not done.
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
from stromboli.kube.objects.storage import (
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    PersistentVolume,
    PersistentVolumeClaim,
)
from stromboli.kube.work.retry import RetryPolicy, is_retryable

T = TypeVar("T", bound=TopLevel)
#: What to change about an object as it is now; None for nothing. Raises StepFailed when it cannot be done.
Change = Callable[[T], dict[str, Any] | None]


def is_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether the volume is promised to this very claim."""
    to = volume.spec.claim_ref
    return to is not None and to.uid == claim.metadata.uid


class ClaimWrites:
    """The patches, each tried again over the newest version when somebody else was faster."""

    def __init__(self, client: Client, saw: Callable[[TopLevel], None], retry: RetryPolicy | None = None) -> None:
        self._client = client
        self._saw = saw
        self._retry = retry or RetryPolicy()

    async def promise(self, volume: str, claim: PersistentVolumeClaim) -> None:
        """Keep the volume for the claim. Raises StepFailed when somebody else has it."""

        def change(found: PersistentVolume) -> dict[str, Any] | None:
            to, metadata = found.spec.claim_ref, claim.metadata
            if is_for(found, claim):
                return None
            by_name = to is not None and (to.namespace, to.name) == (metadata.namespace, metadata.name) and not to.uid
            if to is not None and not by_name:
                raise StepFailed(f"volume {volume} is promised to claim {to.namespace}/{to.name}")
            if found.metadata.deletion_timestamp is not None:
                raise StepFailed(f"volume {volume} is being deleted")
            notes = {} if by_name else {"metadata": {"annotations": {BOUND_BY_CONTROLLER: "yes"}}}
            return {**notes, "spec": {"claimRef": claim.reference}}

        await self._write(VOLUMES, volume, "", change)

    async def release(self, volume: str, claim: PersistentVolumeClaim) -> None:
        """Take the promise back, unless the claim has the volume by now. A volume that somebody else promised to the
        claim by name stays promised by name.
        """

        def change(found: PersistentVolume) -> dict[str, Any] | None:
            if not is_for(found, claim) or found.status.phase == "Bound":
                return None
            if BOUND_BY_CONTROLLER not in (found.metadata.annotations or {}):
                return {"spec": {"claimRef": {"uid": None}}}
            return {"metadata": {"annotations": {BOUND_BY_CONTROLLER: None}}, "spec": {"claimRef": None}}

        await self._write(VOLUMES, volume, "", change, is_needed=False)

    async def select(self, claim: PersistentVolumeClaim, node: str, gone: Callable[[str], bool]) -> None:
        """Have the claim's volume made for the node. Raises StepFailed when it is being made elsewhere."""

        def change(found: PersistentVolumeClaim) -> dict[str, Any] | None:
            self._check_identity(found, claim)
            chosen = found.selected_node
            if found.is_bound or chosen == node:
                return None
            if chosen and not gone(chosen):
                raise StepFailed(f"claim {found.key} is being served on node {chosen}")
            return {"metadata": {"annotations": {SELECTED_NODE: node}}}

        await self._write(CLAIMS, claim.metadata.name, claim.metadata.namespace, change)

    async def deselect(self, claim: PersistentVolumeClaim, node: str) -> None:
        """Let another node be chosen, unless the claim has its volume by now."""

        def change(found: PersistentVolumeClaim) -> dict[str, Any] | None:
            if found.metadata.uid != claim.metadata.uid or found.is_bound or found.selected_node != node:
                return None
            return {"metadata": {"annotations": {SELECTED_NODE: None}}}

        await self._write(CLAIMS, claim.metadata.name, claim.metadata.namespace, change, is_needed=False)

    @staticmethod
    def _check_identity(found: PersistentVolumeClaim, claim: PersistentVolumeClaim) -> None:
        if found.metadata.uid != claim.metadata.uid:
            raise StepFailed(f"claim {claim.key} is gone, and another one has taken its name")

    async def _write(
        self, resource: Resource[T], name: str, namespace: str, change: Change[T], *, is_needed: bool = True
    ) -> None:
        """Read, change, and again when somebody else was faster or the server was busy. On what is gone and is not
        needed, nothing is left to change.
        """
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
                self._saw(found)
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
