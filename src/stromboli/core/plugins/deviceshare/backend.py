"""What a back-end has to know: the devices of a node, what pods of a class want of them, and who gets which."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from stromboli.core.model.devices.shared_devices import Backend, DeviceClaim, SharedDeviceRequest
from stromboli.core.model.nodes.table import Node
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.plugins.deviceshare.node_devices import Device, Holding, NodeDevices, Pick, Share, Shares, Use

#: How much of a resource a node offers, in whole units.
Offered = Callable[[str], int]


class Policy(NamedTuple):
    """Which devices come first, and which nodes are better."""

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
        """How good it is to put one more container on a device."""
        if self.name == "binpack":
            return 100.0 * memory_after / memory if memory else 0.0
        return 100.0 if self.name == "spread" and not users_before else 0.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """What pods of a class want of one back-end."""

    containers: tuple[tuple[SharedDeviceRequest, ...], ...]
    #: Keep off devices of others of this job.
    apart_from: str = ""
    is_exclusive: bool = False
    #: Annotations of the pod that narrow the choice.
    annotations: Mapping[str, str] | None = None
    labels: Mapping[str, str] | None = None

    def says(self, key: str) -> str:
        return (self.annotations or {}).get(key, "")

    def is_labelled(self, key: str) -> str:
        return (self.labels or {}).get(key, "")


class DeviceBackend(ABC):
    """One kind of devices. It reads and chooses; the books are kept elsewhere."""

    name: Backend
    #: What pods may say about devices.
    reads_annotations: tuple[str, ...] = ()
    reads_labels: tuple[str, ...] = ()
    #: The annotation by which nodes are locked; empty where the device plugin needs no lock.
    lock = ""
    #: In words, for refusals.
    devices_description = "GPUs"

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    @abstractmethod
    def registered(self, node: Node, offered: Offered) -> Hashable | None:
        """What the node says about its devices: the same answer means the same devices. None for no devices."""

    @abstractmethod
    def devices(self, registered: Hashable) -> list[Device]:
        """The devices that a node registered. Raises ValueError that says where and what is wrong."""

    @abstractmethod
    def shares_of(self, claim: DeviceClaim, devices: Sequence[Device]) -> Shares | None:
        """What a pod on the node says it has of them; None for nothing. Raises ValueError when that makes no sense."""

    @abstractmethod
    def annotations(self, pick: Holding, node: str, devices: Sequence[Device], now: float) -> dict[str, str]:
        """What the device plugin of the node wants to read on the pod."""

    def wanted(self, task_class: TaskClass) -> Wanted | None:
        """What pods of a class want; None for nothing."""
        wishes = task_class.devices
        if wishes is None:
            return None
        own = tuple(tuple(wish for wish in container if wish.backend is self.name) for container in wishes.containers)
        if not any(own):
            return None
        return Wanted(own, wishes.apart_from, False, task_class.annotations, task_class.labels)

    def pick(self, node: NodeDevices, wanted: Wanted, *, later: bool) -> Pick | None:
        """Devices for a pod, chosen container by container; None when there are not enough."""
        uses, score = node.uses(later=later), 0.0
        containers: list[tuple[Share, ...]] = []
        for wishes in wanted.containers:
            chosen: list[Share] = []
            for wish in wishes:
                found = self._choose(node.devices, uses, wish, wanted)
                if found is None:
                    return None
                chosen += found
                for share in found:
                    use = uses[share.place]
                    before = use.users
                    use.add(share)
                    score += self.policy.score(before, use.memory, node.devices[share.place].memory)
            containers.append(tuple(chosen))
        return Pick(tuple(containers), score)

    def _choose(
        self, devices: Sequence[Device], uses: Sequence[Use], wish: SharedDeviceRequest, wanted: Wanted
    ) -> list[Share] | None:
        """As many different devices as one container asks for."""
        found: list[Share] = []
        for place in self.order(uses):
            share = self.offer(place, devices[place], uses[place], wish, wanted)
            if share is not None:
                found.append(share)
                if len(found) == wish.number:
                    return found
        return None

    def order(self, uses: Sequence[Use]) -> Iterable[int]:
        """The devices of a node in the order in which they are tried."""
        return self.policy.places(uses)

    @abstractmethod
    def offer(self, place: int, device: Device, use: Use, wish: SharedDeviceRequest, wanted: Wanted) -> Share | None:
        """What a container would get of one device, as far as that is used; None if nothing."""


def moment(now: float) -> str:
    """Seconds since the epoch, as device plugins read them."""
    return str(int(now))


def precise_moment(now: float) -> str:
    """The same in nanoseconds."""
    return str(int(now * 1e9))
