"""Volumes in use on nodes, and users of the claims that only one pod may use.

A volume that several pods of a node share is attached once. Amounts are integers, so adding and removing leaves no
trace; snapshots share what does not change.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stromboli.core.model.nodes.table import NodeTable
from stromboli.core.model.volumes.volumes import Attachment, VolumeNeeds

Column = NDArray[np.int64]


@dataclass(slots=True)
class VolumeUse:
    nodes: int = 0
    #: Attached volumes per node, by driver. Columns are replaced and never edited.
    attached: dict[str, Column] = field(default_factory=dict)
    #: Number of pods per node, by volume; replaced and never edited.
    holders: dict[Attachment, dict[int, int]] = field(default_factory=dict)
    #: Number of users, by claim that only one pod may use.
    users: dict[str, int] = field(default_factory=dict)

    def copy(self) -> VolumeUse:
        return VolumeUse(self.nodes, dict(self.attached), dict(self.holders), dict(self.users))

    def add(self, needs: VolumeNeeds, row: int, sign: int) -> None:
        """Add a pod to a node, or remove it."""
        for attachment in needs.attachments:
            if not attachment.handle or self._hold(attachment, row, sign):
                self._attach(attachment.driver, row, sign)
        for claim in needs.exclusive:
            _count(self.users, claim, sign)

    def _hold(self, attachment: Attachment, row: int, sign: int) -> bool:
        """Report whether the node has the volume now and did not before, or the reverse."""
        known = self.holders.get(attachment, {})
        before = known.get(row, 0)
        changed = {**known, row: before + sign}
        if not changed[row]:
            del changed[row]
        if changed:
            self.holders[attachment] = changed
        else:
            self.holders.pop(attachment, None)
        return not before or row not in changed

    def _attach(self, driver: str, row: int, sign: int) -> None:
        known = self.attached.get(driver)
        column = np.zeros(self.nodes, dtype=np.int64) if known is None else known.copy()
        column[row] += sign
        if column.any():
            self.attached[driver] = column
        else:
            self.attached.pop(driver, None)

    def count(self, driver: str) -> Column:
        """Return the volumes of a driver on each node."""
        known = self.attached.get(driver)
        return np.zeros(self.nodes, dtype=np.int64) if known is None else known

    def more(self, needs: VolumeNeeds, driver: str) -> Column:
        """Return how many volumes of a driver a pod would add to each node."""
        own = [attachment for attachment in needs.attachments if attachment.driver == driver]
        column = np.full(self.nodes, len(own), dtype=np.int64)
        for attachment in own:
            for row in self.holders.get(attachment, ()):
                column[row] -= 1
        return column

    def named(self, nodes: NodeTable) -> dict[str, object]:
        """Return the usage by names, for comparisons and proofs."""
        names = nodes.names
        return {
            "attached": {
                driver: {names[row]: int(column[row]) for row in column.nonzero()[0]}
                for driver, column in sorted(self.attached.items())
            },
            "holders": {
                (held.driver, held.handle, names[row]): pods
                for held, rows in sorted(self.holders.items(), key=lambda item: (item[0].driver, item[0].handle))
                for row, pods in sorted(rows.items())
            },
            "users": dict(sorted(self.users.items())),
        }


def _count(counts: dict[str, int], key: str, step: int) -> None:
    number = counts.get(key, 0) + step
    if number:
        counts[key] = number
    else:
        counts.pop(key, None)
