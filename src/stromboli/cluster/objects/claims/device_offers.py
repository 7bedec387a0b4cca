"""Devices as extended resources of nodes: how many of a class each node can use.

The amount is an upper bound, which makes the resource visible to everything that counts resources. Which devices are
free, and which of them fit together, is decided when devices are selected for a pod.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stromboli.cluster.objects.claims.claim_needs import ClaimObjects
from stromboli.cluster.objects.claims.device_selectors import expressions_of
from stromboli.cluster.objects.claims.resource_slices import DevicePools
from stromboli.core.model.devices.claims import Device, DeviceAlternative, DeviceCriteria
from stromboli.core.model.devices.device_table import Count, DeviceTable
from stromboli.core.model.nodes.table import NodeTable
from stromboli.core.model.resources.resources import ResourceAxis

#: Amounts of nodes, by node and dimension.
NodeAmounts = dict[str, dict[int, int]]


class DeviceOffers:
    def __init__(self, pools: DevicePools, known: ClaimObjects) -> None:
        self._pools = pools
        self._known = known
        #: Increased when a slice or a class changes.
        self.revision = 0
        #: By resource, the nodes where devices provide it.
        self.provided: Mapping[str, frozenset[str]] = {}

    def requested(self, axis: ResourceAxis) -> list[str]:
        """The resources of classes that some pod, queue or node names."""
        return [name for name in self._known.resources if axis.find(name) is not None or name in axis.folded]

    def amounts(self, axis: ResourceAxis, nodes: NodeTable) -> NodeAmounts:
        """The amounts that devices provide on each node."""
        resources = self.requested(axis)
        criteria = {name: self._criteria(self._known.resources[name]) for name in resources}
        table = self._pools.table(dict.fromkeys(each for each in criteria.values() if each is not None))
        found: NodeAmounts = {}
        for name, suit in criteria.items():
            counts = _per_node(table, suit, nodes) if suit is not None else np.zeros(len(nodes), dtype=np.int64)
            for row in np.flatnonzero(counts).tolist():
                found.setdefault(nodes.names[row], {})[axis.dimension(name)] = 1000 * int(counts[row])
        return found

    def _criteria(self, class_name: str) -> DeviceCriteria | None:
        """The criteria of a class; None for an invalid one, which is reported with the pods that use it."""
        try:
            return DeviceCriteria(expressions_of(self._known.classes[class_name].spec.selectors, class_name))
        except ValueError:
            return None


def _per_node(table: DeviceTable, suit: DeviceCriteria, nodes: NodeTable) -> Count:
    """How many allocations the matching devices of each node allow."""
    suited, ground = table.suited[suit], table.ground(nodes)
    mask = suited.mask.copy()
    mask[list(suited.faults)] = True
    times = np.array([_allocations(device, suit) for device in table.devices], dtype=np.int64)
    counts = np.zeros(len(nodes), dtype=np.int64)
    for number in np.unique(times[mask]).tolist():
        counts += number * ground.per_node(mask & (times == number))
    return counts


def _allocations(device: Device, suit: DeviceCriteria) -> int:
    """How often a device can be allocated: once, or as often as its capacity allows."""
    portions = device.portions(DeviceAlternative("", "", suit))
    if portions is None:
        return 0
    return min((device.capacity[name].value // part for name, part in portions if part), default=1)
