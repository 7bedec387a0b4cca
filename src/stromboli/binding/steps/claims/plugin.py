"""The plugin `dynamic-resources`: allocates ResourceClaims with the devices that the scheduler chose, before the bind.

The claims follow from the pod; the placement adds the allocations of claims that have none. For a deleted pod, the
claims that are reserved for it show what to undo.
"""

from __future__ import annotations

from typing import Any, ClassVar

from stromboli.binding.plugins.plugin import BinderContext, BinderPlugin
from stromboli.binding.steps.claims.step import ClaimStep, ClaimWrite
from stromboli.cluster.objects.claims.claim_needs import uses_of
from stromboli.core.model.tasks.placement import Placement
from stromboli.kube.objects.catalogue import RESOURCE_CLAIMS
from stromboli.kube.objects.claims import ResourceClaim
from stromboli.kube.objects.resources import Resource


class DynamicResourcesPlugin(BinderPlugin):
    """Allocations and reservations of resource claims; both are rolled back when the pod is not bound."""

    name = "dynamic-resources"
    watches: ClassVar[tuple[Resource[Any], ...]] = (RESOURCE_CLAIMS,)

    def open(self, context: BinderContext) -> None:
        super().open(context)
        self._step = ClaimStep(context.client, context.view)

    def applies_to(self, placement: Placement) -> bool:
        if placement.allocations:
            return True
        pod = self.context.pod(placement)
        return pod is not None and bool(pod.spec.resource_claims)

    async def pre_bind(self, placement: Placement) -> None:
        await self._step.prepare(placement, self._writes(placement))

    async def rollback(self, placement: Placement) -> None:
        await self._step.undo(placement, self._writes(placement))

    def _writes(self, placement: Placement) -> tuple[ClaimWrite, ...]:
        pod = self.context.pod(placement)
        uses = uses_of(pod) if pod is not None else ()
        writes = tuple(ClaimWrite(use.key, placement.allocations.get(use.name)) for use in uses if use.key)
        return writes or self._reserved(placement)

    def _reserved(self, placement: Placement) -> tuple[ClaimWrite, ...]:
        claims = self.context.view.of_kind(ResourceClaim)
        mine = (each for each in claims if any(user.uid == placement.uid for user in each.status.reserved_for or ()))
        return tuple(ClaimWrite(claim.key) for claim in sorted(mine, key=lambda claim: claim.key))
