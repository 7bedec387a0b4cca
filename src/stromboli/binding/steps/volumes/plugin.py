"""The plugin `volumes`: prepares the PersistentVolumeClaims of a pod as the scheduler chose, before the pod is bound."""

from __future__ import annotations

from typing import Any, ClassVar

from stromboli.binding.plugins.plugin import BinderContext, BinderPlugin
from stromboli.binding.steps.volumes.step import VolumeStep
from stromboli.core.model.tasks.placement import Placement
from stromboli.kube.objects.catalogue import CLAIMS, VOLUMES
from stromboli.kube.objects.resources import Resource


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
