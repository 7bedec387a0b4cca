"""The plugin `volumes`: what the scheduler chose for the claims of a pod is made ready before the pod is bound.

It is the step that the scheduler itself takes when it binds directly.
"""

from __future__ import annotations

from typing import Any, ClassVar

from stromboli.binding.orders import BindOrder
from stromboli.binding.plugins.plugin import Bind, BinderContext, BinderPlugin
from stromboli.binding.requests.member_orders import order_of
from stromboli.binding.steps.volumes.step import VolumeStep
from stromboli.kube.objects.catalogue import CLAIMS, VOLUMES
from stromboli.kube.objects.resources import Resource


class VolumesPlugin(BinderPlugin):
    """Static and delayed binding of claims. Waits are bounded by the request; what is not done yet is taken back."""

    name = "volumes"
    watches: ClassVar[tuple[Resource[Any], ...]] = (CLAIMS, VOLUMES)

    def open(self, surroundings: BinderContext) -> None:
        super().open(surroundings)
        #: The binds that are being prepared, by uid.
        self._binds: dict[str, Bind] = {}
        self._step = VolumeStep(surroundings.client, surroundings.sight, self._obstacle)

    def applies_to(self, bind: Bind) -> bool:
        return bool(bind.member.volumes)

    async def pre_bind(self, bind: Bind) -> None:
        self._binds[bind.member.pod_uid] = bind
        try:
            await self._step.prepare(order_of(bind))
        finally:
            self._binds.pop(bind.member.pod_uid, None)

    async def post_bind(self, bind: Bind) -> None:
        self._step.done(order_of(bind))

    async def rollback(self, bind: Bind) -> None:
        await self._step.undo(order_of(bind))

    def _obstacle(self, order: BindOrder) -> str:
        bind = self._binds.get(order.uid)
        return self.surroundings.obstacle(bind) if bind else ""
