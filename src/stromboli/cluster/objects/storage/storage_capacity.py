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


class PendingVolume(NamedTuple):
    """A volume to be provisioned: class, size, and labels of its node."""

    storage_class: str
    size: int
    labels: Mapping[str, str]


class StorageCapacities:
    """Capacities are decoded on arrival: there are many, and they change one by one."""

    def __init__(self) -> None:
        self.objects: dict[str, CSIStorageCapacity] = {}
        self._capacities: dict[str, StorageCapacity] = {}
        self._faults: dict[str, str] = {}

    def put(self, capacity: CSIStorageCapacity, *, present: bool) -> None:
        key = capacity.key
        for known in (self.objects, self._capacities, self._faults):
            known.pop(key, None)
        if not present:
            return
        self.objects[key] = capacity
        try:
            decoded = _decode(key, capacity)
        except ValueError as error:
            self._faults[key] = f"CSIStorageCapacity {key}: {error}; it counts as none"
            return
        if decoded is not None:
            self._capacities[key] = decoded

    def faults(self) -> list[str]:
        return [self._faults[key] for key in sorted(self._faults)]

    def remaining(self, pending: Iterable[PendingVolume]) -> tuple[StorageCapacity, ...]:
        """Remaining capacities, in the order in which they are tried."""
        remaining = dict(self._capacities)
        for each in pending:
            for key in self._consumed(each.storage_class, each.labels):
                remaining[key] = replace(remaining[key], left=remaining[key].left - each.size)
        return tuple(remaining[key] for key in sorted(remaining))

    def consume(self, pending: PendingVolume) -> None:
        """Subtract a provisioned volume from the first capacity that can hold it."""
        for key in sorted(self._consumed(pending.storage_class, pending.labels)):
            capacity, wire = self._capacities[key], self.objects[key]
            if capacity.left >= pending.size and capacity.largest >= pending.size:
                if wire.capacity is not None:
                    self.put(msgspec.structs.replace(wire, capacity=capacity.left - pending.size), present=True)
                return

    def _consumed(self, storage_class: str, labels: Mapping[str, str]) -> Iterator[str]:
        """Capacities that a volume of the class consumes on a node with these labels."""
        for key, capacity in self._capacities.items():
            if capacity.storage_class == storage_class and (
                capacity.terms is None
                or any(all(each.holds(labels.get(each.key)) for each in term.labels) for term in capacity.terms)
            ):
                yield key


def _decode(key: str, capacity: CSIStorageCapacity) -> StorageCapacity | None:
    """None without a topology: it is available nowhere. Without a capacity, only the volume size is limited."""
    if capacity.node_topology is None:
        return None
    selector = selector_of(capacity.node_topology, "nodeTopology")
    terms = (NodeTerm(selector.requirements),) if selector.requirements else None
    largest = _amount(capacity.maximum_volume_size, "maximumVolumeSize", NO_LIMIT)
    total = _amount(capacity.capacity, "capacity", 0 if capacity.maximum_volume_size is None else NO_LIMIT)
    return StorageCapacity(key, capacity.storage_class_name or "", terms, total, largest)


def _amount(value: str | int | float | None, field: str, default: int) -> int:
    if value is None:
        return default
    try:
        return parse_quantity(value, milli=False)
    except ValueError as error:
        raise ValueError(f"{field}: {error}") from None
