"""Storage capacity by topology, as CSIStorageCapacities report it, less decided volumes that do not exist yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import msgspec

from stromboli.cluster.objects.pods.constraints import selector_of
from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.core.model.tasks.selectors import NodeTerm
from stromboli.core.model.volumes.volumes import NO_LIMIT, StorageCapacity
from stromboli.kube.objects.storage import CSIStorageCapacity


class Making(NamedTuple):
    """A volume to be provisioned: class, size, and labels of its node."""

    storage_class: str
    size: int
    labels: Mapping[str, str]


class StorageCapacities:
    """Capacities are decoded on arrival: there are many, and they change one by one."""

    def __init__(self) -> None:
        self.stated: dict[str, CSIStorageCapacity] = {}
        self._rooms: dict[str, StorageCapacity] = {}
        self._faults: dict[str, str] = {}

    def put(self, capacity: CSIStorageCapacity, *, there: bool) -> None:
        key = capacity.key
        for known in (self.stated, self._rooms, self._faults):
            known.pop(key, None)
        if not there:
            return
        self.stated[key] = capacity
        try:
            room = _room(key, capacity)
        except ValueError as error:
            self._faults[key] = f"CSIStorageCapacity {key}: {error}; it counts as none"
            return
        if room is not None:
            self._rooms[key] = room

    def faults(self) -> list[str]:
        return [self._faults[key] for key in sorted(self._faults)]

    def left(self, making: Iterable[Making]) -> tuple[StorageCapacity, ...]:
        """Remaining capacities, in the order in which they are tried."""
        rooms = dict(self._rooms)
        for each in making:
            for key in self._holding(each.storage_class, each.labels):
                rooms[key] = replace(rooms[key], left=rooms[key].left - each.size)
        return tuple(rooms[key] for key in sorted(rooms))

    def spend(self, making: Making) -> None:
        """Subtract a provisioned volume from the first capacity that can hold it."""
        for key in sorted(self._holding(making.storage_class, making.labels)):
            room, stated = self._rooms[key], self.stated[key]
            if room.left >= making.size and room.largest >= making.size:
                if stated.capacity is not None:
                    self.put(msgspec.structs.replace(stated, capacity=room.left - making.size), there=True)
                return

    def _holding(self, storage_class: str, labels: Mapping[str, str]) -> Iterator[str]:
        """Capacities that a volume of the class consumes on a node with these labels."""
        for key, room in self._rooms.items():
            if room.storage_class == storage_class and _holds(room, labels):
                yield key


def _holds(room: StorageCapacity, labels: Mapping[str, str]) -> bool:
    return room.terms is None or any(
        all(requirement.holds(labels.get(requirement.key)) for requirement in term.labels) for term in room.terms
    )


def _room(key: str, capacity: CSIStorageCapacity) -> StorageCapacity | None:
    """None without a topology: it is available nowhere. Without a capacity, only the volume size is limited."""
    if capacity.node_topology is None:
        return None
    selector = selector_of(capacity.node_topology, "nodeTopology")
    terms = (NodeTerm(selector.requirements),) if selector.requirements else None
    largest = _amount(capacity.maximum_volume_size, "maximumVolumeSize", NO_LIMIT)
    in_all = _amount(capacity.capacity, "capacity", 0 if capacity.maximum_volume_size is None else NO_LIMIT)
    return StorageCapacity(key, capacity.storage_class_name or "", terms, in_all, largest)


def _amount(given: str | int | float | None, field: str, otherwise: int) -> int:
    if given is None:
        return otherwise
    try:
        return parse_quantity(given, milli=False)
    except ValueError as error:
        raise ValueError(f"{field}: {error}") from None
