"""GPUs shared by memory, or allocated whole: the devices of Volcano's own device plugin.

The allocatable resources of a node give the number of its GPUs and their total memory. A pod gets the first GPU with
enough memory, and its annotation records which.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace

from stromboli.core.config.spelling import quoted
from stromboli.core.model.devices.shared_devices import (
    GPU_INDEX,
    GPU_MEMORY,
    GPU_NUMBER,
    Backend,
    DeviceUser,
    SharedDeviceRequest,
)
from stromboli.core.model.nodes.table import Node
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.plugins.deviceshare.backend import DeviceBackend, Offered, Policy, Wanted, precise_moment
from stromboli.core.plugins.deviceshare.node_devices import DeviceHolding, Share, SharedDevice, Shares, Use

UNHEALTHY = "volcano.sh/gpu-unhealthy-ids"
_PREDICATE_TIME = "volcano.sh/predicate-time"
#: More containers than could ever share a GPU.
_MANY = 1 << 20
#: More GPUs than any node has.
_MAX_DEVICES = 1024


class GpuMemory(DeviceBackend):
    """A pod gets part of the memory of one GPU."""

    name = Backend.GPU_SHARING

    def __init__(self, policy: Policy) -> None:
        super().__init__(Policy())  # the first GPU that has enough, and no node is better than another

    def registered(self, node: Node, offered: Offered) -> Hashable | None:
        number = offered(GPU_NUMBER)
        return (number, offered(GPU_MEMORY), node.annotations.get(UNHEALTHY, "")) if number else None

    def devices(self, registered: Hashable) -> list[SharedDevice]:
        assert isinstance(registered, tuple)  # noqa: S101 - what `registered` gave
        number, memory, unhealthy = registered
        if number > _MAX_DEVICES:
            raise ValueError(f"{GPU_NUMBER} of status.allocatable is {number}; correct the number")
        broken = set(_indices(unhealthy, f"annotation {UNHEALTHY}"))
        return [self._device(place, memory // number, place not in broken) for place in range(number)]

    def _device(self, place: int, memory: int, is_healthy: bool) -> SharedDevice:
        return SharedDevice(str(place), memory=memory, slots=_MANY, is_healthy=is_healthy)

    def shares_of(self, claim: DeviceUser, devices: Sequence[SharedDevice]) -> Shares | None:
        text = claim.annotations.get(GPU_INDEX)
        if text is None:
            return None
        places = _indices(text, f"annotation {GPU_INDEX}")
        if any(place >= len(devices) for place in places):
            raise ValueError(f"annotation {GPU_INDEX}: {quoted(text)} names a GPU that the node does not have")
        requests = claim.requests.containers if claim.requests else ()
        memory = sum(request.memory for container in requests for request in container if request.backend is self.name)
        return (tuple(Share(place, memory) for place in places),)

    def annotations(
        self, pick: DeviceHolding, node: str, devices: Sequence[SharedDevice], now: float
    ) -> dict[str, str]:
        places = sorted({share.place for share in pick.shares()})
        return {GPU_INDEX: ",".join(map(str, places)), _PREDICATE_TIME: precise_moment(now)}

    def wanted(self, task_class: TaskClass) -> Wanted | None:
        """All containers of a pod have the same GPUs."""
        wanted = super().wanted(task_class)
        if wanted is None:
            return None
        requests = [request for container in wanted.containers for request in container]
        together = SharedDeviceRequest(self.name, self.number_of(requests), sum(request.memory for request in requests))
        return replace(wanted, containers=((together,),))

    def number_of(self, requests: Sequence[SharedDeviceRequest]) -> int:
        return 1

    def order(self, uses: Sequence[Use]) -> Iterable[int]:
        return range(len(uses))

    def offer(
        self, place: int, device: SharedDevice, use: Use, request: SharedDeviceRequest, wanted: Wanted
    ) -> Share | None:
        if not device.is_healthy or use.memory + request.memory > device.memory:
            return None
        return Share(place, request.memory)


class GpuNumber(GpuMemory):
    """A pod gets whole GPUs exclusively."""

    name = Backend.GPU_NUMBER

    def number_of(self, requests: Sequence[SharedDeviceRequest]) -> int:
        return sum(request.number for request in requests)

    def offer(
        self, place: int, device: SharedDevice, use: Use, request: SharedDeviceRequest, wanted: Wanted
    ) -> Share | None:
        return Share(place) if device.is_healthy and not use.users else None


def _indices(text: str, where: str) -> list[int]:
    """Parse comma-separated device indices."""
    parts = [word.strip() for word in text.split(",") if word.strip()]
    if not all(word.isdecimal() and len(word) < 10 for word in parts):
        raise ValueError(f"{where}: expected numbers such as 0,1, got {quoted(text)}")
    return [int(word) for word in parts]
