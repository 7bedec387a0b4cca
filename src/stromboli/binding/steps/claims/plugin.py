"""The plugin `dynamic-resources`: claims get the devices that the scheduler chose before their pod is bound.

It is the step that the scheduler itself takes when it binds directly. What a pod uses follows from the pod; the request
adds what claims without devices are given. Of a pod that is gone, the claims that name it as a user tell what to undo.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from stromboli.binding.orders import BindOrder, ClaimWrite
from stromboli.binding.plugins.plugin import Bind, BinderContext, BinderPlugin
from stromboli.binding.requests.member_orders import order_of
from stromboli.binding.steps.claims.orders import writes_for
from stromboli.binding.steps.claims.step import ClaimStep
from stromboli.kube.objects.catalogue import RESOURCE_CLAIMS
from stromboli.kube.objects.claims import ResourceClaim
from stromboli.kube.objects.resources import Resource


class DynamicResourcesPlugin(BinderPlugin):
    """Devices and users of resource claims; both are taken back when the pod is not bound."""

    name = "dynamic-resources"
    watches: ClassVar[tuple[Resource[Any], ...]] = (RESOURCE_CLAIMS,)

    def open(self, surroundings: BinderContext) -> None:
        super().open(surroundings)
        self._step = ClaimStep(surroundings.client, surroundings.sight)

    def applies_to(self, bind: Bind) -> bool:
        return bool(bind.member.resource_claim_allocations or bind.pod.spec.resource_claims)

    async def pre_bind(self, bind: Bind) -> None:
        await self._step.prepare(self._order(bind))

    async def rollback(self, bind: Bind) -> None:
        await self._step.undo(self._order(bind))

    def _order(self, bind: Bind) -> BindOrder:
        given = {each.name: each.allocation for each in bind.member.resource_claim_allocations}
        return replace(order_of(bind), claims=writes_for(bind.pod, given) or self._entered(bind))

    def _entered(self, bind: Bind) -> tuple[ClaimWrite, ...]:
        uid = bind.member.pod_uid
        claims = self.surroundings.sight.of_kind(ResourceClaim)
        mine = (claim for claim in claims if any(user.uid == uid for user in claim.status.reserved_for or ()))
        return tuple(ClaimWrite("", claim.key) for claim in sorted(mine, key=lambda claim: claim.key))
