"""Volumes are made ready before their pods are bound.

What was chosen is written on the claims and volumes, and then others do their part: one who brings claims and volumes
together, and one who makes volumes. That is waited for, for as long as the policy says, by looking at what the watches
report; it costs the server nothing. A provisioner that cannot serve the chosen node takes the node off the claim: then
the pod needs another one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from stromboli.binding.orders import BindOrder
from stromboli.binding.steps.step import Sight, StepFailed
from stromboli.binding.steps.volumes.writes import ClaimWrites, is_for
from stromboli.cluster.objects.nodes import node_facts
from stromboli.cluster.objects.storage.volume_needs import terms_of
from stromboli.core.model.nodes.table import NodeTable
from stromboli.core.model.volumes.volume_table import reachable
from stromboli.core.model.volumes.volumes import VolumeChoice
from stromboli.kube.client.client import Client
from stromboli.kube.objects.cluster import KubeNode
from stromboli.kube.objects.storage import PersistentVolume, PersistentVolumeClaim
from stromboli.kube.work.retry import RetryPolicy

#: How often what the watches reported is looked at, in seconds.
PAUSE = 0.05
#: How often it is asked whether the bind still makes sense, in seconds.
LOOK_AROUND = 1.0


class VolumeStep:
    """Brings the claims of a pod and what was chosen for them together."""

    name = "volumes"

    def __init__(
        self,
        client: Client,
        sight: Sight,
        obstacle: Callable[[BindOrder], str] = lambda order: "",
        retry: RetryPolicy | None = None,
    ) -> None:
        self._view = sight
        #: What has come in the way of a bind since it was decided.
        self._obstacle = obstacle
        self._writes = ClaimWrites(client, sight.apply, retry)
        #: By claim, the pods for which it is being made ready.
        self._users_of_claim: dict[str, set[str]] = {}

    def applies_to(self, order: BindOrder) -> bool:
        return order.volumes is not None

    async def prepare(self, order: BindOrder) -> None:
        """Raises StepFailed; what was written by then is for `undo` to take back."""
        if order.volumes is None:
            return
        began = looked = time.monotonic()
        for choice in order.volumes.choices:
            self._users_of_claim.setdefault(_key(order, choice), set()).add(order.uid)
            await self._begin(order, choice)
        while waiting := [problem for each in order.volumes.choices if (problem := self._missing(order, each))]:
            now = time.monotonic()
            if now - began >= order.volumes.patience:
                raise StepFailed(f"not ready after {order.volumes.patience:g} seconds: {waiting[0]}")
            if now - looked >= LOOK_AROUND:
                looked = now
                if obstacle := self._obstacle(order):
                    raise StepFailed(obstacle)
            await asyncio.sleep(PAUSE)

    async def undo(self, order: BindOrder) -> None:
        """Take back what is not done yet; a claim that has its volume keeps it, and others who want it go on."""
        for choice in order.volumes.choices if order.volumes else ():
            key = _key(order, choice)
            others = self._let_go(key, order.uid)
            claim = self._claim(key)
            if others or claim is None or claim.is_bound:
                continue
            if choice.volume:
                await self._writes.release(choice.volume, claim)
            else:
                await self._writes.deselect(claim, order.node)

    def done(self, order: BindOrder) -> None:
        """The pod is bound, or is somebody else's care."""
        for choice in order.volumes.choices if order.volumes else ():
            self._let_go(_key(order, choice), order.uid)

    def _let_go(self, key: str, uid: str) -> bool:
        """Whether others still want the claim to be made ready."""
        wanted = self._users_of_claim.get(key, set())
        wanted.discard(uid)
        if not wanted:
            self._users_of_claim.pop(key, None)
        return bool(wanted)

    # -- beginning ----------------------------------------------------------------------------------------------

    async def _begin(self, order: BindOrder, choice: VolumeChoice) -> None:
        claim = self._claim(_key(order, choice))
        if claim is None:
            raise StepFailed(f"claim {_key(order, choice)} is gone")
        if claim.is_bound:
            return
        if choice.volume:
            await self._writes.promise(choice.volume, claim)
        else:
            await self._writes.select(claim, order.node, self._is_gone)

    def _is_gone(self, node: str) -> bool:
        return self._view.get(KubeNode, node) is None

    def _claim(self, key: str) -> PersistentVolumeClaim | None:
        found = self._view.get(PersistentVolumeClaim, key)
        return found if isinstance(found, PersistentVolumeClaim) else None

    def _volume(self, name: str) -> PersistentVolume | None:
        found = self._view.get(PersistentVolume, name)
        return found if isinstance(found, PersistentVolume) else None

    # -- waiting ------------------------------------------------------------------------------------------------

    def _missing(self, order: BindOrder, choice: VolumeChoice) -> str:
        """What a claim still lacks, in words; raises StepFailed when waiting is in vain."""
        key = _key(order, choice)
        claim = self._claim(key)
        if claim is None:
            raise StepFailed(f"claim {key} is gone")
        if claim.metadata.deletion_timestamp is not None:
            raise StepFailed(f"claim {key} is being deleted")
        if claim.is_bound:
            return self._unreachable_reason(order, claim)
        if choice.volume:
            return self._unbound_reason(choice.volume, claim)
        if claim.selected_node != order.node:
            raise StepFailed(f"no volume can be made for claim {key} on node {order.node}: it wants another node")
        return f"the volume of claim {key} is being made"

    def _unbound_reason(self, name: str, claim: PersistentVolumeClaim) -> str:
        volume = self._volume(name)
        if volume is None or not is_for(volume, claim):
            raise StepFailed(f"volume {name} is not for claim {claim.key} any more")
        return f"claim {claim.key} does not have volume {name} yet"

    def _unreachable_reason(self, order: BindOrder, claim: PersistentVolumeClaim) -> str:
        """A claim may have got another volume than the one that was chosen."""
        volume, node = self._volume(claim.spec.volume_name or ""), self._view.get(KubeNode, order.node)
        if volume is None:
            return f"volume {claim.spec.volume_name} of claim {claim.key} is not known yet"
        if isinstance(node, KubeNode) and not reaches(volume, node):
            raise StepFailed(f"volume {volume.metadata.name} of claim {claim.key} is out of reach of node {order.node}")
        return ""


def _key(order: BindOrder, choice: VolumeChoice) -> str:
    return f"{order.namespace}/{choice.claim}"


def reaches(volume: PersistentVolume, node: KubeNode) -> bool:
    """Whether a volume can be used on a node; one that cannot be read cannot be used either."""
    try:
        return bool(reachable(NodeTable([node_facts(node)]), terms_of(volume))[0])
    except ValueError:
        return False
