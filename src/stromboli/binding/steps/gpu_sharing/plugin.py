"""The plugin `gpusharing`: reserves the GPUs that a pod shares, and passes their ids to it, before the pod is bound."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from stromboli.binding.plugins.plugin import BinderContext, BinderPlugin
from stromboli.binding.reservations.demand import SharingPod
from stromboli.binding.reservations.reservation_pods import ReservationPodOptions
from stromboli.binding.reservations.service import ReservationService
from stromboli.binding.steps.gpu_sharing.admission import prepare, validation_errors
from stromboli.binding.steps.gpu_sharing.config_maps import GpuEnvironment, delete_maps, write_maps
from stromboli.binding.steps.step import StepFailed
from stromboli.core.model.devices.gpu_fractions import GROUPS, received_in
from stromboli.core.model.tasks.placement import Placement
from stromboli.kube.objects.bind_requests import BindRequest
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.pod import Pod

_STANDARD = ReservationPodOptions()
DEFAULTS: Mapping[str, str] = {
    "namespace": _STANDARD.namespace,
    "image": _STANDARD.image,
    "seconds": f"{_STANDARD.seconds:g}",
    "runtimeClass": "",
    "fake": "false",
    "cdi": "false",
}
_MAX_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class SharingOptions:
    reservation_pods: ReservationPodOptions = field(default_factory=ReservationPodOptions)
    #: Whether pods get the ids of GPUs as the container device interface names them.
    cdi: bool = False


class GpuSharingPlugin(BinderPlugin):
    """`current` returns the options of a policy that may change; without it, the options are fixed."""

    name = "gpusharing"
    defaults: ClassVar[Mapping[str, str]] = DEFAULTS

    def __init__(
        self, options: Mapping[str, str] | None = None, *, current: Callable[[], Mapping[str, str]] | None = None
    ) -> None:
        super().__init__(options)
        self._fixed = sharing_options(self.options)
        self._current = current

    def _sharing(self) -> SharingOptions:
        return self._fixed if self._current is None else sharing_options(self._current())

    # -- at admission -------------------------------------------------------------------------------------------

    def validate(self, pod: Mapping[str, Any]) -> list[str]:
        return validation_errors(pod)

    def mutate(self, pod: dict[str, Any]) -> None:
        prepare(pod, lambda: secrets.token_hex(4), self._sharing().reservation_pods.runtime_class)

    # -- when pods are bound ------------------------------------------------------------------------------------

    def open(self, context: BinderContext) -> None:
        super().open(context)
        self._reservations = ReservationService(
            context.client, context.view.get, lambda: self._sharing().reservation_pods, context.record_event,
            is_leader=context.is_leader,
        )  # fmt: skip
        for kind in (Pod, BindRequest):
            for entry in context.view.of_kind(kind):
                self._reservations.object_changed(entry, None)

    def applies_to(self, placement: Placement) -> bool:
        return GROUPS in placement.annotations

    async def pre_bind(self, placement: Placement) -> None:
        received, pod = received_in(placement.annotations), self.context.pod(placement)
        if received is None:
            return
        if pod is None:
            raise StepFailed(f"pod {placement.key} is gone")
        member = SharingPod(placement.uid, placement.node, received.groups, placement.namespace, placement.name)
        devices = await self._reservations.reserve(member, lambda: self.context.precondition_error(placement))
        await write_maps(
            self.context.client, pod, GpuEnvironment(tuple(devices), received.portion, self._sharing().cdi)
        )

    async def post_bind(self, placement: Placement) -> None:
        self._reservations.bind_finished(placement.uid)

    def forget(self, placement: Placement) -> None:
        self._reservations.bind_finished(placement.uid)

    async def rollback(self, placement: Placement) -> None:
        self._reservations.release(placement.uid)
        pod = self.context.pod(placement)
        if pod is not None:
            await delete_maps(self.context.client, pod)

    def changed(self, entry: TopLevel, before: TopLevel | None) -> None:
        self._reservations.object_changed(entry, before)

    async def serve(self) -> None:
        await self._reservations.serve()


def sharing_options(values: Mapping[str, str]) -> SharingOptions:
    """Read the options. Raises ValueError with a message for an invalid one."""
    for name in values:
        if name not in DEFAULTS:
            raise ValueError(f"unknown option {name!r}; known options are {', '.join(sorted(DEFAULTS))}")
    options = {**DEFAULTS, **values}
    reservation_pods = ReservationPodOptions(
        options["namespace"],
        options["image"],
        _seconds(options["seconds"]),
        options["runtimeClass"],
        _is_true(options, "fake"),
    )
    return SharingOptions(reservation_pods, _is_true(options, "cdi"))


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= _MAX_SECONDS:
        raise ValueError(f"seconds: expected a number of seconds up to {_MAX_SECONDS:g}, such as 40, got {text!r}")
    return seconds


def _is_true(options: Mapping[str, str], name: str) -> bool:
    text = options[name].lower()
    if text not in ("true", "false"):
        raise ValueError(f"{name}: expected true or false, got {text!r}")
    return text == "true"
