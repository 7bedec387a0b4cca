"""GPUs that pods share are held before the pod is bound, and the pod is told which they are.

As a step of the scheduler that binds directly, and as the plugin `gpusharing` of the binder.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from stromboli.binder.gpu_admission import complaints_about, prepare
from stromboli.binder.gpu_config_maps import Told, delete_maps, write_maps
from stromboli.binder.gpu_options import DEFAULTS, SharingOptions, sharing_options
from stromboli.binder.orders import BindOrder
from stromboli.binder.plugin import Bind, BinderPlugin, Surroundings
from stromboli.binder.reservations.service import Get, ReservationService, Tell
from stromboli.binder.reservations.wanted import Member
from stromboli.binder.steps import StepFailed
from stromboli.kube.access.client import Client
from stromboli.kube.objects.bind_requests import BindRequest
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.pod import Pod
from stromboli.model.gpu_shares import GROUPS, WHOLE, Received, received_in


class GpuSharing:
    """Holds the GPUs of one pod and tells it, or takes that back. What there is to do follows from the cluster."""

    def __init__(self, client: Client, reservations: ReservationService, options: Callable[[], SharingOptions]) -> None:
        self._client = client
        self._reservations = reservations
        self._options = options

    async def make_ready(self, pod: Pod, node: str, received: Received, obstacle: Callable[[], str]) -> None:
        """Raises StepFailed; what was done by then is for `take_back`."""
        metadata = pod.metadata
        member = Member(metadata.uid, node, received.groups, metadata.namespace, metadata.name)
        devices = await self._reservations.reserve(member, obstacle)
        await write_maps(self._client, pod, Told(tuple(devices), received.portion, self._options().cdi))

    async def take_back(self, pod: Pod) -> None:
        self._reservations.release(pod.metadata.uid)
        await delete_maps(self._client, pod)


class GpuSharingStep:
    """The step of a scheduler that binds directly. `options` are those of its policy, which may change."""

    name = "shared GPUs"

    def __init__(
        self,
        client: Client,
        get: Get,
        options: Callable[[], Mapping[str, str]],
        obstacle: Callable[[BindOrder], str],
        tell: Tell,
        is_in_charge: Callable[[], bool],
    ) -> None:
        def read() -> SharingOptions:
            return sharing_options(options())

        self._get = get
        self._obstacle = obstacle
        self.reservations = ReservationService(client, get, lambda: read().holders, tell, is_in_charge=is_in_charge)
        self._sharing = GpuSharing(client, self.reservations, read)

    def concerns(self, order: BindOrder) -> bool:
        return GROUPS in order.annotations

    async def prepare(self, order: BindOrder) -> None:
        received, pod = received_in(order.annotations), self._pod(order)
        if received is None:
            return
        if pod is None:
            raise StepFailed(f"pod {order.key} is gone")
        await self._sharing.make_ready(pod, order.node, received, lambda: self._obstacle(order))

    async def undo(self, order: BindOrder) -> None:
        self.reservations.release(order.uid)
        pod = self._pod(order)
        if pod is not None:
            await self._sharing.take_back(pod)

    def done(self, order: BindOrder) -> None:
        self.reservations.settle(order.uid)

    def _pod(self, order: BindOrder) -> Pod | None:
        found = self._get(Pod, order.key)
        return found if isinstance(found, Pod) and found.metadata.uid == order.uid else None


class GpuSharingPlugin(BinderPlugin):
    """The plugin of the binder."""

    name = "gpusharing"
    defaults: ClassVar[Mapping[str, str]] = DEFAULTS

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        super().__init__(options)
        self._options = sharing_options(self.options)

    # -- at admission -------------------------------------------------------------------------------------------

    def validate(self, pod: Mapping[str, Any]) -> list[str]:
        return complaints_about(pod)

    def mutate(self, pod: dict[str, Any]) -> None:
        prepare(pod, lambda: secrets.token_hex(4), self._options.holders.runtime_class)

    # -- in the binder ------------------------------------------------------------------------------------------

    def open(self, surroundings: Surroundings) -> None:
        super().open(surroundings)
        client, sight = surroundings.client, surroundings.sight
        self._reservations = ReservationService(client, sight.get, lambda: self._options.holders, surroundings.tell)
        self._sharing = GpuSharing(client, self._reservations, lambda: self._options)
        for kind in (Pod, BindRequest):
            for entry in sight.of_kind(kind):
                self._reservations.heard(entry, None)

    def concerns(self, bind: Bind) -> bool:
        return _received(bind) is not None

    async def pre_bind(self, bind: Bind) -> None:
        received = _received(bind)
        if received is not None:
            bind.annotations.update(received.annotations())
            obstacle = self.surroundings.obstacle
            await self._sharing.make_ready(bind.pod, bind.member.selected_node, received, lambda: obstacle(bind))

    async def post_bind(self, bind: Bind) -> None:
        self._reservations.settle(bind.member.pod_uid)

    async def rollback(self, bind: Bind) -> None:
        await self._sharing.take_back(bind.pod)

    def changed(self, entry: TopLevel, before: TopLevel | None) -> None:
        self._reservations.heard(entry, before)

    async def serve(self) -> None:
        await self._reservations.serve()


def _received(bind: Bind) -> Received | None:
    """What the request says the pod was given."""
    member = bind.member
    if member.selected_gpu_groups:
        portion = member.received_gpu.portion_milli if member.received_gpu else WHOLE
        return Received(tuple(member.selected_gpu_groups), portion)
    return received_in(member.annotations)
