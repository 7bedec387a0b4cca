"""Shared GPUs as a step of the scheduler that binds directly."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from stromboli.binding.orders import BindOrder
from stromboli.binding.reservations.service import EventFunction, ObjectGetter, ReservationService
from stromboli.binding.steps.gpu_sharing.options import SharingOptions, sharing_options
from stromboli.binding.steps.gpu_sharing.sharing import SharedGpuPreparation
from stromboli.binding.steps.step import StepFailed
from stromboli.core.model.devices.gpu_fractions import GROUPS, received_in
from stromboli.kube.client.client import Client
from stromboli.kube.objects.pod import Pod


class GpuSharingStep:
    """The step of a scheduler that binds directly. `options` are those of its policy, which may change."""

    name = "shared GPUs"

    def __init__(
        self,
        client: Client,
        get: ObjectGetter,
        options: Callable[[], Mapping[str, str]],
        obstacle: Callable[[BindOrder], str],
        tell: EventFunction,
        is_leader: Callable[[], bool],
    ) -> None:
        def read() -> SharingOptions:
            return sharing_options(options())

        self._get = get
        self._obstacle = obstacle
        self.reservations = ReservationService(client, get, lambda: read().holders, tell, is_leader=is_leader)
        self._sharing = SharedGpuPreparation(client, self.reservations, read)

    def applies_to(self, order: BindOrder) -> bool:
        return GROUPS in order.annotations

    async def prepare(self, order: BindOrder) -> None:
        received, pod = received_in(order.annotations), self._pod(order)
        if received is None:
            return
        if pod is None:
            raise StepFailed(f"pod {order.key} is gone")
        await self._sharing.prepare_pod(pod, order.node, received, lambda: self._obstacle(order))

    async def undo(self, order: BindOrder) -> None:
        self.reservations.release(order.uid)
        pod = self._pod(order)
        if pod is not None:
            await self._sharing.take_back(pod)

    def done(self, order: BindOrder) -> None:
        self.reservations.bind_finished(order.uid)

    def _pod(self, order: BindOrder) -> Pod | None:
        found = self._get(Pod, order.key)
        return found if isinstance(found, Pod) and found.metadata.uid == order.uid else None
