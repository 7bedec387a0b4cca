"""Volumes and storage available to a cycle, as columns over the nodes.

Volumes are sorted by size, so that the first match is the smallest. Many are reached from the same nodes (all of a
zone, all of one machine), so nodes are stored per *place*, a set of nodes that several volumes share: counting the free
volumes of every node costs as many steps as there are pairs of place and node, not of volume and node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stromboli.core.model.nodes.table import Index, Mask, NodeTable
from stromboli.core.model.volumes.volumes import NO_LIMIT, FreeVolume, StorageCapacity, Terms, WaitingClaim

Count = NDArray[np.int64]


def reachable(nodes: NodeTable, terms: Terms) -> Mask:
    """Return the nodes that satisfy any of the terms, computed once per table."""
    if terms is None:
        return np.ones(len(nodes), dtype=np.bool_)
    known: Mask = nodes.remember(("volume terms", terms), lambda table: _reachable(table, terms))
    return known


def _reachable(nodes: NodeTable, terms: Sequence[object]) -> Mask:
    mask = np.zeros(len(nodes), dtype=np.bool_)
    for term in terms:
        mask |= nodes.matching(term)  # type: ignore[arg-type]
    return mask


class Locations:
    """The locations of items: pairs of place and node, and the place of each item."""

    def __init__(self, terms: Sequence[Terms], nodes: NodeTable) -> None:
        numbers: dict[Terms, int] = {}
        self.of = np.array([numbers.setdefault(each, len(numbers)) for each in terms], dtype=np.int64)
        self.count = len(numbers)
        inside = [np.flatnonzero(reachable(nodes, each)) for each in numbers]
        self._nodes: Index = np.concatenate(inside) if inside else np.zeros(0, dtype=np.int64)
        self._owners = np.repeat(np.arange(self.count), [len(each) for each in inside])
        self._size = len(nodes)

    def per_node(self, things: Index) -> Count:
        """Count these items per node."""
        at_place = np.bincount(self.of[things], minlength=self.count)
        return np.bincount(self._nodes, weights=at_place[self._owners], minlength=self._size).astype(np.int64)

    def at(self, row: int, things: Index) -> Index:
        """Return the items that are available on the node."""
        here = np.zeros(self.count, dtype=np.bool_)
        here[self._owners[self._nodes == row]] = True
        return things[here[self.of[things]]]


@dataclass(slots=True, eq=False)
class VolumeTable:
    """The volumes of a cluster. Immutable; allocations of a cycle are kept by the allocator."""

    volumes: tuple[FreeVolume, ...] = ()
    capacities: tuple[StorageCapacity, ...] = ()
    #: Attachable volumes by driver and node.
    limits: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    left: Count = field(init=False)
    _largest: Count = field(init=False)
    _suited: dict[WaitingClaim, Index] = field(default_factory=dict)
    _capacities_of: dict[str, Index] = field(default_factory=dict)
    _grounds: tuple[NodeTable, Locations, Locations] | None = None
    _limit_columns: dict[str, Count] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.volumes = tuple(sorted(self.volumes, key=lambda volume: (volume.size, volume.name)))
        self.left = np.array([capacity.left for capacity in self.capacities], dtype=np.int64)
        self._largest = np.array([capacity.largest for capacity in self.capacities], dtype=np.int64)

    def suited(self, claim: WaitingClaim) -> Index:
        """Return the volumes that match a claim, best first."""
        if claim not in self._suited:
            found = [place for place, volume in enumerate(self.volumes) if volume.suits(claim)]
            self._suited[claim] = np.array(found, dtype=np.int64)
        return self._suited[claim]

    def sufficient(self, claim: WaitingClaim, left: Count, size: int) -> Index:
        """Return the storage capacities that can hold the claim, and `size` in total."""
        capacities = self._capacities_of.get(claim.storage_class)
        if capacities is None:
            own = [
                place for place, capacity in enumerate(self.capacities) if capacity.storage_class == claim.storage_class
            ]
            capacities = self._capacities_of[claim.storage_class] = np.array(own, dtype=np.int64)
        return capacities[(left[capacities] >= size) & (self._largest[capacities] >= claim.size)]

    def places(self, nodes: NodeTable) -> tuple[Locations, Locations]:
        """Return the places of the volumes and of the storage capacities."""
        if self._grounds is None or self._grounds[0] is not nodes:
            of_volumes = Locations([volume.terms for volume in self.volumes], nodes)
            of_capacities = Locations([capacity.terms for capacity in self.capacities], nodes)
            self._grounds, self._limit_columns = (nodes, of_volumes, of_capacities), {}
        return self._grounds[1], self._grounds[2]

    def limit(self, driver: str, nodes: NodeTable) -> Count:
        """Return how many volumes of a driver every node can attach."""
        self.places(nodes)
        column = self._limit_columns.get(driver)
        if column is None:
            own = self.limits.get(driver, {})
            stated = (own.get(name, NO_LIMIT) for name in nodes.names)
            column = self._limit_columns[driver] = np.fromiter(stated, np.int64, len(nodes))
        return column
