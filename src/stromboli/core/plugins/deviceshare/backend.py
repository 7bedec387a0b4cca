"""The interface of a back-end: the devices of a node, the requests of pods, and the allocation.

HAMi's device plugins record the devices of a pod as `id,type,memory,cores`, each followed by a colon; containers are
separated by semicolons. An instance of a device is in brackets after its id.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from stromboli.core.config.spelling import quoted
from stromboli.core.model.devices.shared_devices import Backend, DeviceUser, SharedDeviceRequest
from stromboli.core.model.nodes.table import Node
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.plugins.deviceshare.node_devices import (
    DeviceHolding,
    DevicePick,
    NodeDevices,
    Share,
    SharedDevice,
    Shares,
    Use,
)

#: How much of a resource a node offers, in whole units.
Offered = Callable[[str], int]


class Policy(NamedTuple):
    """The order of devices and the scores of nodes."""

    #: `binpack`, `spread`, or empty for neither.
    name: str = ""

    def places(self, uses: Sequence[Use]) -> Iterable[int]:
        """The devices of a node in the order in which they are tried."""
        last_first = range(len(uses) - 1, -1, -1)
        if self.name == "binpack":
            return sorted(last_first, key=lambda place: -uses[place].memory)
        if self.name == "spread":
            return sorted(last_first, key=lambda place: uses[place].users)
        return last_first

    def score(self, users_before: int, memory_after: int, memory: int) -> float:
        """Return how good it is to put one more container on a device."""
        if self.name == "binpack":
            return 100.0 * memory_after / memory if memory else 0.0
        return 100.0 if self.name == "spread" and not users_before else 0.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """The request of pods of a class to one back-end."""

    containers: tuple[tuple[SharedDeviceRequest, ...], ...]
    #: Avoid devices of other pods of this job.
    apart_from: str = ""
    is_exclusive: bool = False
    #: Annotations of the pod that narrow the choice.
    annotations: Mapping[str, str] | None = None
    labels: Mapping[str, str] | None = None

    def annotation(self, key: str) -> str:
        return (self.annotations or {}).get(key, "")

    def is_labelled(self, key: str) -> str:
        return (self.labels or {}).get(key, "")


class DeviceBackend(ABC):
    """One kind of devices: reads and allocates; `accounting` holds the state."""

    name: Backend
    #: Annotations of pods about devices.
    reads_annotations: tuple[str, ...] = ()
    reads_labels: tuple[str, ...] = ()
    #: The annotation by which nodes are locked; empty where the device plugin needs no lock.
    lock = ""
    #: The description in refusals.
    devices_description = "GPUs"

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    @abstractmethod
    def registered(self, node: Node, offered: Offered) -> Hashable | None:
        """Return what the node reports about its devices; an equal value means equal devices. None for no devices."""

    @abstractmethod
    def devices(self, registered: Hashable) -> list[SharedDevice]:
        """Parse the devices that a node registered. Raises ValueError with the place and the problem."""

    @abstractmethod
    def shares_of(self, claim: DeviceUser, devices: Sequence[SharedDevice]) -> Shares | None:
        """Parse the allocation of a pod on the node; None for nothing. Raises ValueError if it is invalid."""

    @abstractmethod
    def annotations(
        self, pick: DeviceHolding, node: str, devices: Sequence[SharedDevice], now: float
    ) -> dict[str, str]:
        """Return the annotations that the device plugin of the node reads on the pod."""

    def wanted(self, task_class: TaskClass) -> Wanted | None:
        """Return what pods of a class request; None for nothing."""
        requests = task_class.devices
        if requests is None:
            return None
        own = tuple(
            tuple(request for request in container if request.backend is self.name) for container in requests.containers
        )
        if not any(own):
            return None
        return Wanted(own, requests.apart_from, False, task_class.annotations, task_class.labels)

    def pick(self, node: NodeDevices, wanted: Wanted, *, later: bool) -> DevicePick | None:
        """Choose devices for a pod, container by container; None when there are not enough."""
        uses, score = node.uses(later=later), 0.0
        containers: list[tuple[Share, ...]] = []
        for requests in wanted.containers:
            chosen: list[Share] = []
            for request in requests:
                found = self._choose(node.devices, uses, request, wanted)
                if found is None:
                    return None
                chosen += found
                for share in found:
                    use = uses[share.place]
                    before = use.users
                    use.add(share)
                    score += self.policy.score(before, use.memory, node.devices[share.place].memory)
            containers.append(tuple(chosen))
        return DevicePick(tuple(containers), score)

    def _choose(
        self, devices: Sequence[SharedDevice], uses: Sequence[Use], request: SharedDeviceRequest, wanted: Wanted
    ) -> list[Share] | None:
        """Choose as many different devices as one container requests; None if there are too few."""
        found: list[Share] = []
        for place in self.order(uses):
            share = self.offer(place, devices[place], uses[place], request, wanted)
            if share is not None:
                found.append(share)
                if len(found) == request.number:
                    return found
        return None

    def order(self, uses: Sequence[Use]) -> Iterable[int]:
        """The devices of a node in the order in which they are tried."""
        return self.policy.places(uses)

    @abstractmethod
    def offer(
        self, place: int, device: SharedDevice, use: Use, request: SharedDeviceRequest, wanted: Wanted
    ) -> Share | None:
        """Return what a container would get of one device at its present use; None for nothing."""


def moment(now: float) -> str:
    """Seconds since the epoch, as device plugins read them."""
    return str(int(now))


def precise_moment(now: float) -> str:
    """Nanoseconds since the epoch, as device plugins read them."""
    return str(int(now * 1e9))


_ENTRY = re.compile(r"([^,\[\]]+)(?:\[([^\[\],]*)\])?,([^,]*),(\d{1,15}),(\d{1,9})", re.ASCII)


def assigned(text: str, devices: Sequence[SharedDevice], key: str) -> Shares:
    """Parse an annotation. Devices that the node no longer has are left out.

    Raises ValueError for an unreadable text.
    """
    places = {device.id: place for place, device in enumerate(devices)}
    containers = text.split(";")
    return tuple(tuple(_shares_in(container, places, key)) for container in containers)


def _shares_in(text: str, places: dict[str, int], key: str) -> list[Share]:
    shares = []
    for entry in text.split(":"):
        if not entry.strip():
            continue
        found = _ENTRY.fullmatch(entry.strip())
        if found is None:
            raise ValueError(f"annotation {key}: expected id,type,memory,cores for each device, got {quoted(entry)}")
        identity, part, _, memory, cores = found.groups()
        if identity in places:
            shares.append(Share(places[identity], int(memory), int(cores), part or ""))
    return shares


def formatted(containers: Shares, devices: Sequence[SharedDevice], kind: Callable[[SharedDevice], str]) -> str:
    """Format shares as an annotation, the inverse of `assigned`."""
    return ";".join("".join(_written(share, devices[share.place], kind) for share in each) for each in containers)


def _written(share: Share, device: SharedDevice, kind: Callable[[SharedDevice], str]) -> str:
    instance = f"[{share.part}]" if share.part else ""
    return f"{device.id}{instance},{kind(device)},{share.memory},{share.cores}:"


def split_list(text: str) -> list[str]:
    """Split a text at commas."""
    return [word.strip() for word in text.split(",") if word.strip()]
