"""The plugin `volumes`: prepares the PersistentVolumeClaims of a pod as the scheduler chose, before the pod is bound.

The step writes the choice to claims and volumes. The volume controller and the provisioner then complete it, and the
step waits for them, up to the timeout of the policy, by reading what the watches report: no requests to the API server.
A provisioner that cannot serve the chosen node removes the node from the claim; the pod then needs another node.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, ClassVar

from stromboli.binding.plugins.plugin import BinderContext, BinderPlugin
from stromboli.binding.steps.step import StepFailed
from stromboli.binding.steps.volumes.writes import ClaimWrites, is_for
from stromboli.cluster.objects.nodes import node_facts
from stromboli.cluster.objects.storage.volume_needs import terms_of
from stromboli.core.model.nodes.table import NodeTable
from stromboli.core.model.tasks.placement import Placement
from stromboli.core.model.volumes.volume_table import reachable
from stromboli.core.model.volumes.volumes import VolumeChoice
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import CLAIMS, VOLUMES
from stromboli.kube.objects.cluster import KubeNode
from stromboli.kube.objects.resources import Resource
from stromboli.kube.objects.storage import PersistentVolume, PersistentVolumeClaim
from stromboli.kube.work.retry import RetryPolicy
from stromboli.kube.work.status_writer import ObjectStore

#: Seconds between two reads of what the watches reported.
POLL_INTERVAL = 0.05
#: Seconds between two checks whether the bind is still possible.
CHECK_INTERVAL = 1.0


class VolumeStep:
    """Binds the claims of a pod to the chosen volumes, or has volumes provisioned for the chosen node."""

    def __init__(
        self,
        client: Client,
        view: ObjectStore,
        precondition_error: Callable[[Placement], str] = lambda placement: "",
        retry: RetryPolicy | None = None,
    ) -> None:
        self._view = view
        self._precondition_error = precondition_error
        self._writes = ClaimWrites(client, view.apply, retry)
        #: The uids of pods for which a claim is being prepared, by the claim's key.
        self._users_of_claim: dict[str, set[str]] = {}

    async def prepare(self, placement: Placement) -> None:
        """Prepare all claims. Raises StepFailed; `undo` then rolls back what was written."""
        if placement.volumes is None:
            return
        began = checked = time.monotonic()
        for choice in placement.volumes.choices:
            self._users_of_claim.setdefault(_key(placement, choice), set()).add(placement.uid)
            await self._select(placement, choice)
        while waiting := [problem for each in placement.volumes.choices if (problem := self._missing(placement, each))]:
            now = time.monotonic()
            if now - began >= placement.volumes.timeout:
                raise StepFailed(f"not ready after {placement.volumes.timeout:g} seconds: {waiting[0]}")
            if now - checked >= CHECK_INTERVAL:
                checked = now
                if error := self._precondition_error(placement):
                    raise StepFailed(error)
            await asyncio.sleep(POLL_INTERVAL)

    async def undo(self, placement: Placement) -> None:
        """Roll back what is incomplete. A bound claim keeps its volume; a claim that other pods prepare stays."""
        for choice in placement.volumes.choices if placement.volumes else ():
            key = _key(placement, choice)
            has_others = self._release(key, placement.uid)
            claim = self._claim(key)
            if has_others or claim is None or claim.is_bound:
                continue
            if choice.volume:
                await self._writes.release(choice.volume, claim)
            else:
                await self._writes.deselect(claim, placement.node)

    def forget(self, placement: Placement) -> None:
        """Drop what is kept in memory for a pod that is bound, or that another process continues."""
        for choice in placement.volumes.choices if placement.volumes else ():
            self._release(_key(placement, choice), placement.uid)

    def _release(self, key: str, uid: str) -> bool:
        """Report whether the claim is still being prepared for other pods."""
        users = self._users_of_claim.get(key, set())
        users.discard(uid)
        if not users:
            self._users_of_claim.pop(key, None)
        return bool(users)

    # -- writes -------------------------------------------------------------------------------------------------

    async def _select(self, placement: Placement, choice: VolumeChoice) -> None:
        claim = self._claim(_key(placement, choice))
        if claim is None:
            raise StepFailed(f"claim {_key(placement, choice)} is gone")
        if claim.is_bound:
            return
        if choice.volume:
            await self._writes.reserve(choice.volume, claim)
        else:
            await self._writes.select(claim, placement.node, lambda node: self._view.get(KubeNode, node) is None)

    def _claim(self, key: str) -> PersistentVolumeClaim | None:
        found = self._view.get(PersistentVolumeClaim, key)
        return found if isinstance(found, PersistentVolumeClaim) else None

    def _volume(self, name: str) -> PersistentVolume | None:
        found = self._view.get(PersistentVolume, name)
        return found if isinstance(found, PersistentVolume) else None

    # -- waiting ------------------------------------------------------------------------------------------------

    def _missing(self, placement: Placement, choice: VolumeChoice) -> str:
        """Return what a claim still lacks. Raises StepFailed when waiting is pointless."""
        key = _key(placement, choice)
        claim = self._claim(key)
        if claim is None:
            raise StepFailed(f"claim {key} is gone")
        if claim.metadata.deletion_timestamp is not None:
            raise StepFailed(f"claim {key} is being deleted")
        if claim.is_bound:
            return self._unreachable_reason(placement, claim)
        if choice.volume:
            volume = self._volume(choice.volume)
            if volume is None or not is_for(volume, claim):
                raise StepFailed(f"volume {choice.volume} is not reserved for claim {key} any more")
            return f"claim {key} is not bound to volume {choice.volume} yet"
        if claim.selected_node != placement.node:
            raise StepFailed(f"no volume can be provisioned for claim {key} on node {placement.node}")
        return f"the volume of claim {key} is being provisioned"

    def _unreachable_reason(self, placement: Placement, claim: PersistentVolumeClaim) -> str:
        """Check the volume of a bound claim: it may be another one than the one that was chosen."""
        volume, node = self._volume(claim.spec.volume_name or ""), self._view.get(KubeNode, placement.node)
        if volume is None:
            return f"volume {claim.spec.volume_name} of claim {claim.key} is not visible yet"
        if isinstance(node, KubeNode) and not reaches(volume, node):
            raise StepFailed(
                f"volume {volume.metadata.name} of claim {claim.key} is not accessible from node {placement.node}"
            )
        return ""


def _key(placement: Placement, choice: VolumeChoice) -> str:
    return f"{placement.namespace}/{choice.claim}"


def reaches(volume: PersistentVolume, node: KubeNode) -> bool:
    """Report whether a volume is accessible from a node; an unreadable volume is not."""
    try:
        return bool(reachable(NodeTable([node_facts(node)]), terms_of(volume))[0])
    except ValueError:
        return False


class VolumesPlugin(BinderPlugin):
    """Static binding and provisioning. Waits have a timeout; what is incomplete is rolled back."""

    name = "volumes"
    watches: ClassVar[tuple[Resource[Any], ...]] = (CLAIMS, VOLUMES)

    def open(self, context: BinderContext) -> None:
        super().open(context)
        self._step = VolumeStep(context.client, context.view, context.precondition_error)

    def applies_to(self, placement: Placement) -> bool:
        return placement.volumes is not None

    async def pre_bind(self, placement: Placement) -> None:
        await self._step.prepare(placement)

    async def post_bind(self, placement: Placement) -> None:
        self._step.forget(placement)

    async def rollback(self, placement: Placement) -> None:
        await self._step.undo(placement)

    def forget(self, placement: Placement) -> None:
        self._step.forget(placement)
