"""GPUs that pods share are held before the pod is bound, and the pod is told which they are.

As a step of the scheduler that binds directly, and as the plugin `gpusharing` of the binder.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from stromboli.binder.gpu_admission import complaints_about, prepare
from stromboli.binder.gpu_config_maps import Told, delete_maps, write_maps
from stromboli.binder.orders import BindOrder
from stromboli.binder.plugin import Bind, BinderPlugin, Surroundings
from stromboli.binder.reservations.holders import HolderOptions
from stromboli.binder.reservations.service import Get, ReservationService, Tell
from stromboli.binder.reservations.wanted import Member
from stromboli.binder.steps import StepFailed
from stromboli.kube.access.client import Client
from stromboli.kube.objects.bind_requests import BindRequest
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.pod import Pod
from stromboli.model.gpu_shares import DEFAULT_NAMESPACE, GROUPS, Received, received_in

_TRUE = ("true", "yes", "1")
_FALSE = ("false", "no", "0", "")


class GpuSharing:
    """Holds the GPUs of one pod and tells it, or takes that back. What there is to do follows from the cluster."""

    def __init__(
        self, client: Client, get: Get, options: Callable[[], HolderOptions], tell: Tell | None = None, *, cdi: bool
    ) -> None:
        self._client = client
        self._cdi = cdi
        nobody: Tell = lambda regarding, kind, reason, note: None  # noqa: E731
        self.reservations = ReservationService(client, get, options, tell or nobody)

    async def ready(self, pod: Pod, node: str, received: Received, obstacle: Callable[[], str]) -> None:
        """Raises StepFailed; what was done by then is for `take_back`."""
        metadata = pod.metadata
        member = Member(metadata.uid, node, received.groups, metadata.namespace, metadata.name)
        devices = await self.reservations.reserve(member, obstacle)
        await write_maps(self._client, pod, Told(tuple(devices), received.portion, self._cdi))

    async def take_back(self, pod: Pod) -> None:
        self.reservations.release(pod.metadata.uid)
        await delete_maps(self._client, pod)


class GpuSharingStep:
    """The step of a scheduler that binds directly."""

    name = "shared GPUs"

    def __init__(
        self,
        client: Client,
        get: Get,
        options: Callable[[], Mapping[str, str]],
        obstacle: Callable[[BindOrder], str] = lambda order: "",
        tell: Tell | None = None,
    ) -> None:
        self._get = get
        self._obstacle = obstacle
        self._sharing = GpuSharing(client, get, lambda: holder_options(options()), tell, cdi=is_true(options(), "cdi"))
        #: Whether anybody shares GPUs here, as far as was heard.
        self.reservations = self._sharing.reservations

    def concerns(self, order: BindOrder) -> bool:
        return GROUPS in order.annotations

    async def prepare(self, order: BindOrder) -> None:
        received, pod = received_in(order.annotations), self._get(Pod, order.key)
        if received is None:
            return
        if not isinstance(pod, Pod) or pod.metadata.uid != order.uid:
            raise StepFailed(f"pod {order.key} is gone")
        await self._sharing.ready(pod, order.node, received, lambda: self._obstacle(order))

    async def undo(self, order: BindOrder) -> None:
        pod = self._get(Pod, order.key)
        if isinstance(pod, Pod) and pod.metadata.uid == order.uid:
            await self._sharing.take_back(pod)
        else:
            self.reservations.release(order.uid)

    def done(self, order: BindOrder) -> None:
        self.reservations.settle(order.uid)


class GpuSharingPlugin(BinderPlugin):
    """The plugin of the binder."""

    name = "gpusharing"
    defaults: ClassVar[Mapping[str, str]] = {
        "namespace": DEFAULT_NAMESPACE,
        "image": HolderOptions().image,
        "seconds": "40",
        "runtimeClass": "",
        "fake": "false",
        "cdi": "false",
    }

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        super().__init__(options)
        self._holders = holder_options(self.options)
        self._cdi = is_true(self.options, "cdi")

    # -- at admission -------------------------------------------------------------------------------------------

    def validate(self, pod: Mapping[str, Any]) -> list[str]:
        return complaints_about(pod)

    def mutate(self, pod: dict[str, Any]) -> None:
        prepare(pod, lambda: secrets.token_hex(4), self._holders.runtime_class)

    # -- in the binder ------------------------------------------------------------------------------------------

    def open(self, surroundings: Surroundings) -> None:
        super().open(surroundings)
        self._sharing = GpuSharing(
            surroundings.client, surroundings.sight.get, lambda: self._holders, surroundings.tell, cdi=self._cdi
        )
        for kind in (Pod, BindRequest):
            for entry in surroundings.sight.of_kind(kind):
                self._sharing.reservations.heard(entry, None)

    def concerns(self, bind: Bind) -> bool:
        return _received(bind) is not None

    async def pre_bind(self, bind: Bind) -> None:
        received = _received(bind)
        if received is not None:
            bind.annotations.update(received.annotations())
            obstacle = self.surroundings.obstacle
            await self._sharing.ready(bind.pod, bind.member.selected_node, received, lambda: obstacle(bind))

    async def post_bind(self, bind: Bind) -> None:
        self._sharing.reservations.settle(bind.member.pod_uid)

    async def rollback(self, bind: Bind) -> None:
        await self._sharing.take_back(bind.pod)

    def changed(self, entry: TopLevel, before: TopLevel | None) -> None:
        self._sharing.reservations.heard(entry, before)

    async def serve(self) -> None:
        await self._sharing.reservations.serve()


def _received(bind: Bind) -> Received | None:
    """What the request says the pod was given."""
    member = bind.member
    if member.selected_gpu_groups:
        portion = member.received_gpu.portion_milli if member.received_gpu else 1000
        return Received(tuple(member.selected_gpu_groups), portion)
    return received_in(member.annotations)


def holder_options(options: Mapping[str, str]) -> HolderOptions:
    """Options as they are written. Raises ValueError with a sentence for one that cannot be used."""
    known = GpuSharingPlugin.defaults
    for name in options:
        if name not in known:
            raise ValueError(f"there is no option {name!r}; there are {', '.join(sorted(known))}")
    text = options.get("seconds", known["seconds"])
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 3600:
        raise ValueError(f"seconds: expected a number of seconds above 0, such as 40, got {text!r}")
    given = {**known, **options}
    return HolderOptions(given["namespace"], given["image"], seconds, given["runtimeClass"], is_true(given, "fake"))


def is_true(options: Mapping[str, str], name: str) -> bool:
    text = options.get(name, "").lower()
    if text not in _TRUE + _FALSE:
        raise ValueError(f"{name}: expected true or false, got {text!r}")
    return text in _TRUE
