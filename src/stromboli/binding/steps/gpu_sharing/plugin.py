"""The plugin `gpusharing`: shared GPUs are held, and their pods told, before the pods are bound."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any, ClassVar

from stromboli.binding.plugins.plugin import Bind, BinderContext, BinderPlugin
from stromboli.binding.reservations.service import ReservationService
from stromboli.binding.steps.gpu_sharing.admission import prepare, validation_errors
from stromboli.binding.steps.gpu_sharing.options import DEFAULTS, sharing_options
from stromboli.binding.steps.gpu_sharing.sharing import SharedGpuPreparation
from stromboli.core.model.devices.gpu_fractions import WHOLE, Received, received_in
from stromboli.kube.objects.bind_requests import BindRequest
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.pod import Pod


class GpuSharingPlugin(BinderPlugin):
    """The plugin of the binder."""

    name = "gpusharing"
    defaults: ClassVar[Mapping[str, str]] = DEFAULTS

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        super().__init__(options)
        self._options = sharing_options(self.options)

    # -- at admission -------------------------------------------------------------------------------------------

    def validate(self, pod: Mapping[str, Any]) -> list[str]:
        return validation_errors(pod)

    def mutate(self, pod: dict[str, Any]) -> None:
        prepare(pod, lambda: secrets.token_hex(4), self._options.holders.runtime_class)

    # -- in the binder ------------------------------------------------------------------------------------------

    def open(self, surroundings: BinderContext) -> None:
        super().open(surroundings)
        client, sight = surroundings.client, surroundings.sight
        self._reservations = ReservationService(client, sight.get, lambda: self._options.holders, surroundings.tell)
        self._sharing = SharedGpuPreparation(client, self._reservations, lambda: self._options)
        for kind in (Pod, BindRequest):
            for entry in sight.of_kind(kind):
                self._reservations.object_changed(entry, None)

    def applies_to(self, bind: Bind) -> bool:
        return _received(bind) is not None

    async def pre_bind(self, bind: Bind) -> None:
        received = _received(bind)
        if received is not None:
            bind.annotations.update(received.annotations())
            obstacle = self.surroundings.obstacle
            await self._sharing.prepare_pod(bind.pod, bind.member.selected_node, received, lambda: obstacle(bind))

    async def post_bind(self, bind: Bind) -> None:
        self._reservations.bind_finished(bind.member.pod_uid)

    async def rollback(self, bind: Bind) -> None:
        await self._sharing.take_back(bind.pod)

    def changed(self, entry: TopLevel, before: TopLevel | None) -> None:
        self._reservations.object_changed(entry, before)

    async def serve(self) -> None:
        await self._reservations.serve()


def _received(bind: Bind) -> Received | None:
    """What the request says the pod was given."""
    member = bind.member
    if member.selected_gpu_groups:
        portion = member.received_gpu.portion_milli if member.received_gpu else WHOLE
        return Received(tuple(member.selected_gpu_groups), portion)
    return received_in(member.annotations)
