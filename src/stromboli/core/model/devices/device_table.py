"""Devices available to a cycle, as columns.

Most devices are local to one node; the others are reached from many nodes. Limited amounts (shared counters of a pool,
and capacities of shareable devices) are numbered, so that what is left of them is one column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stromboli.core.model.devices.claims import (
    AssignedDevice,
    Device,
    DeviceAlternative,
    DeviceCriteria,
    DeviceName,
    HeldClaim,
)
from stromboli.core.model.nodes.table import Index, Mask, NodeTable
from stromboli.core.model.volumes.volume_table import reachable
from stromboli.core.model.volumes.volumes import Terms

Count = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class MatchingDevices:
    """The matching devices, and those for which an expression failed, with the error."""

    mask: Mask
    faults: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Grant:
    """A device, by number, that is granted to a request, and what it takes of limited amounts, by their numbers."""

    device: int
    request: str
    is_admin: bool = False
    portions: tuple[tuple[str, int], ...] = ()


@dataclass(slots=True, eq=False)
class DeviceTable:
    """The devices of a cluster. Immutable; allocations of a cycle are kept by the allocator."""

    devices: tuple[Device, ...] = ()
    #: Size of each counter, by name.
    counters: Mapping[str, int] = field(default_factory=dict)
    suited: Mapping[DeviceCriteria, MatchingDevices] = field(default_factory=dict)
    #: Incomplete pools, with the nodes that reach them.
    unknown: tuple[tuple[str, Terms], ...] = ()
    number: dict[DeviceName, int] = field(init=False)
    #: Size of each limited amount, and the numbers of counters and capacities.
    limits: Count = field(init=False)
    counter_number: dict[str, int] = field(init=False)
    capacity_number: dict[tuple[int, str], int] = field(init=False)
    is_shared: Mask = field(init=False)
    #: Devices for which being free is not sufficient: they also take from a limited amount.
    is_limited: Mask = field(init=False)
    #: What searches know about nodes, by demands.
    kinds: dict[object, object] = field(default_factory=dict)
    _ground: _NodeDevices | None = None
    _portions: dict[tuple[DeviceAlternative, int], tuple[tuple[str, int], ...] | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.number = {device.name: place for place, device in enumerate(self.devices)}
        self.counter_number = {name: place for place, name in enumerate(self.counters)}
        limits = list(self.counters.values())
        self.capacity_number = {}
        for place, device in enumerate(self.devices):
            for name, capacity in device.capacity.items() if device.is_shared else ():
                self.capacity_number[place, name] = len(limits)
                limits.append(capacity.value)
        self.limits = np.array(limits, dtype=np.int64)
        self.is_shared = np.array([device.is_shared for device in self.devices], dtype=np.bool_)
        limited = [device.is_shared or bool(device.counters) for device in self.devices]
        self.is_limited = np.array(limited, dtype=np.bool_)

    def portions(self, alternative: DeviceAlternative, device: int) -> tuple[tuple[str, int], ...] | None:
        """Return what a request takes of the capacities of a device; None if the device is too small."""
        if not alternative.capacity and not self.is_shared[device]:
            return ()
        key = alternative, device
        if key not in self._portions:
            self._portions[key] = self.devices[device].portions(alternative)
        return self._portions[key]

    def counters_of(self, device: int) -> Iterable[tuple[int, int]]:
        """Return the existing counters that a device consumes, and how much of each."""
        return ((self.counter_number[name], amount) for name, amount in self.devices[device].counters)

    def capacities_of(self, grant: Grant) -> Iterable[tuple[int, int]]:
        return ((self.capacity_number[grant.device, name], amount) for name, amount in grant.portions)

    def grants_of(self, held: HeldClaim) -> tuple[Grant, ...]:
        """Return the devices of a claim, as far as they still exist."""
        return tuple(grant for assigned in held.devices if (grant := self._grant_of(assigned)) is not None)

    def _grant_of(self, assigned: AssignedDevice) -> Grant | None:
        number = self.number.get(assigned.name)
        if number is None:
            return None
        device = self.devices[number]
        portions: tuple[tuple[str, int], ...] = ()
        if device.is_shared and not assigned.is_admin:
            assigned_portions = assigned.portions
            whole = tuple((name, capacity.value) for name, capacity in sorted(device.capacity.items()))
            named = [(device.qualified(name), amount) for name, amount in assigned_portions or ()]
            portions = (
                whole if assigned_portions is None else tuple(each for each in named if each[0] in device.capacity)
            )
        return Grant(number, assigned.request, assigned.is_admin, portions)

    # -- where --------------------------------------------------------------------------------------------------

    def ground(self, nodes: NodeTable) -> _NodeDevices:
        if self._ground is None or self._ground.nodes is not nodes:
            self._ground = _NodeDevices(self, nodes)
        return self._ground


class DeviceUse:
    """Devices in use: the number of users of each, and what is left of limited amounts."""

    def __init__(self, table: DeviceTable) -> None:
        self._table = table
        #: Number of users of each device; above one only for shareable devices.
        self.users: Count = np.zeros(len(table.devices), dtype=np.int64)
        self.left: Count = table.limits.copy()

    def copy(self) -> DeviceUse:
        twin = DeviceUse(self._table)
        twin.users, twin.left = self.users.copy(), self.left.copy()
        return twin

    def add(self, grants: Iterable[Grant], sign: int) -> None:
        """Allocate devices, or, with -1, release them. Counters are consumed once per device, not per user."""
        for grant in grants:
            if grant.is_admin:
                continue
            device = grant.device
            if self.users[device] == (0 if sign > 0 else 1):
                for number, amount in self._table.counters_of(device):
                    self.left[number] -= sign * amount
            self.users[device] += sign
            for number, amount in self._table.capacities_of(grant):
                self.left[number] -= sign * amount

    def fingerprint(self) -> bytes:
        return self.users.tobytes() + self.left.tobytes()


class _NodeDevices:
    """The nodes that reach each device."""

    def __init__(self, table: DeviceTable, nodes: NodeTable) -> None:
        self.nodes = nodes
        devices, index = table.devices, nodes.index
        #: Node of each device; -1 if it has none or several.
        rows = [index.get(device.node, -1) if device.node else -1 for device in devices]
        self.row_of: Index = np.array(rows, dtype=np.int64)
        wide: dict[Terms, list[int]] = {}
        for place, device in enumerate(devices):
            if not device.node:
                wide.setdefault(device.terms, []).append(place)
        self._wide = [(np.array(members, dtype=np.int64), reachable(nodes, terms)) for terms, members in wide.items()]
        self._at: dict[int, Index] = {}
        order = np.argsort(self.row_of, kind="stable")
        self._local, self._starts = order, np.searchsorted(self.row_of[order], np.arange(len(nodes) + 1))
        self._unknown = [(name, reachable(nodes, terms)) for name, terms in table.unknown]
        self.is_wide = self._find_wide(table)

    def _find_wide(self, table: DeviceTable) -> Mask:
        """Return devices that matter to more than one node: reached from many, or consuming shared counters."""
        drawn: dict[str, set[int]] = {}
        for device, row in zip(table.devices, self.row_of.tolist(), strict=True):
            for name, _ in device.counters:
                drawn.setdefault(name, set()).add(row)
        common = {name for name, rows in drawn.items() if len(rows) > 1}
        wide = [any(name in common for name, _ in device.counters) for device in table.devices]
        return (self.row_of < 0) | np.array(wide, dtype=np.bool_)

    def at(self, row: int) -> Index:
        """Return the devices that a node reaches, in order."""
        known = self._at.get(row)
        if known is None:
            local = self._local[self._starts[row] : self._starts[row + 1]]
            parts = [local, *(members for members, mask in self._wide if mask[row])]
            known = self._at[row] = np.sort(np.concatenate(parts)) if len(parts) > 1 else np.sort(local)
        return known

    def per_node(self, devices: Mask) -> Count:
        """Count how many of these devices each node reaches."""
        rows = self.row_of[devices]
        count = np.bincount(rows[rows >= 0], minlength=len(self.nodes)).astype(np.int64)
        for members, mask in self._wide:
            number = int(devices[members].sum())
            if number:
                count += number * mask
        return count

    def reach(self, devices: Sequence[int]) -> Mask:
        """Return the nodes that reach all of these devices."""
        mask = np.ones(len(self.nodes), dtype=np.bool_)
        for device in devices:
            row = int(self.row_of[device])
            if row >= 0:
                only = np.zeros(len(self.nodes), dtype=np.bool_)
                only[row] = True
                mask &= only
                continue
            inside = (reached for members, reached in self._wide if device in members)
            mask &= next(inside, np.zeros(len(self.nodes), dtype=np.bool_))
        return mask

    def unknown_at(self, row: int) -> str:
        """Return an incomplete pool that the node reaches."""
        return next((name for name, mask in self._unknown if mask[row]), "")

    @property
    def has_unknown(self) -> bool:
        return bool(self._unknown)
