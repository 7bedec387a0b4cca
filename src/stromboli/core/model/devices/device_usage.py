"""Devices in use: the number of users of each, and what is left of limited amounts."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from stromboli.core.model.devices.device_table import Count, DeviceTable, Grant


class DeviceUse:
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
