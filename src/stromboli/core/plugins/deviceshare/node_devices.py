"""The devices of one node, and the shares that pods hold.

The state is immutable: taking or leaving a device makes a new one, and undo restores the old one. Results computed for
a node are cached with its state and valid as long as it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from stromboli.core.model.tasks.task_class import TaskClass


@dataclass(frozen=True, slots=True)
class SharedDevice:
    """One device as its node registered it."""

    id: str
    #: Its model, or the family of chips that it belongs to.
    kind: str = ""
    memory: int = 0
    #: The maximum number of containers that share the device.
    slots: int = 1
    #: Percent of a GPU, cores of a chip.
    cores: int = 100
    is_healthy: bool = True
    #: The sharing mode: by software, or by hardware instances.
    mode: str = ""


@dataclass(frozen=True, slots=True)
class Share:
    """The share of one container in one device."""

    #: The device's place among those of its node.
    place: int
    memory: int = 0
    cores: int = 0
    #: The instance of the device, or the template of the part; empty where there are none.
    part: str = ""
    #: Auxiliary CPUs, where a template has some.
    helpers: int = 0


Shares = tuple[tuple[Share, ...], ...]


@dataclass(frozen=True, slots=True)
class DeviceHolding:
    """The allocation of a pod on its node, container by container."""

    containers: Shares
    job: str = ""
    #: Whether the pod shares no device with another exclusive pod.
    is_exclusive: bool = False
    is_leaving: bool = False

    def shares(self) -> list[Share]:
        return [share for container in self.containers for share in container]


@dataclass(slots=True)
class Use:
    """The use of one device. Mutable while devices are allocated."""

    users: int = 0
    memory: int = 0
    cores: int = 0
    helpers: int = 0
    jobs: set[str] = field(default_factory=set)
    parts: list[str] = field(default_factory=list)
    has_exclusive: bool = False

    def add(self, share: Share) -> None:
        self.users += 1
        self.memory += share.memory
        self.cores += share.cores
        self.helpers += share.helpers
        if share.part:
            self.parts.append(share.part)


@dataclass(frozen=True, slots=True)
class DevicePick:
    """Devices for a pod, and how good they are."""

    containers: Shares
    score: float = 0.0


class NodeDevices:
    """The devices of a node and the pods that hold them."""

    __slots__ = ("_picks", "devices", "holdings")

    def __init__(self, devices: Sequence[SharedDevice], holdings: Mapping[str, DeviceHolding] | None = None) -> None:
        self.devices = tuple(devices)
        self.holdings: Mapping[str, DeviceHolding] = holdings or {}
        #: By class and time, what a pod of the class would get.
        self._picks: dict[tuple[TaskClass, bool], DevicePick | None] = {}

    def uses(self, *, later: bool) -> list[Use]:
        """Return the use of each device; later means after all terminating pods are gone."""
        uses = [Use() for _ in self.devices]
        for holding in self.holdings.values():
            if later and holding.is_leaving:
                continue
            for share in holding.shares():
                use = uses[share.place]
                use.add(share)
                use.has_exclusive = use.has_exclusive or holding.is_exclusive
                if holding.job:
                    use.jobs.add(holding.job)
        return uses

    def with_holding(self, uid: str, holding: DeviceHolding) -> NodeDevices:
        return NodeDevices(self.devices, {**self.holdings, uid: holding})

    def without(self, uid: str) -> NodeDevices:
        return NodeDevices(self.devices, {other: held for other, held in self.holdings.items() if other != uid})

    def with_leaving(self, uid: str, *, is_leaving: bool) -> NodeDevices:
        return self.with_holding(uid, replace(self.holdings[uid], is_leaving=is_leaving))

    def known_pick(self, task_class: TaskClass, *, later: bool) -> tuple[bool, DevicePick | None]:
        """Return whether the result for a class is cached, and the result."""
        key = task_class, later
        return key in self._picks, self._picks.get(key)

    def keep_pick(self, task_class: TaskClass, pick: DevicePick | None, *, later: bool) -> None:
        if len(self._picks) >= _MAX_CACHED_PICKS:
            self._picks.clear()
        self._picks[task_class, later] = pick


#: Bounds the cache of a node: the state of an unused node outlives many classes.
_MAX_CACHED_PICKS = 64
