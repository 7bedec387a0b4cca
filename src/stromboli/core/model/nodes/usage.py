"""Measured cpu and memory usage of nodes, with the time of the measurement.

Requests are exact and always available; usage is neither: a measurement has an age, and a node may have none.
"""

from __future__ import annotations

from dataclasses import dataclass

from stromboli.core.model.nodes.table import Mask, Vector

#: Older measurements are ignored, in seconds.
MAX_AGE = 300.0


@dataclass(frozen=True, slots=True)
class Usage:
    """One measurement of one node."""

    cpu: float
    memory: float
    #: Seconds since the epoch.
    at: float
    #: Whether the values are fractions of the node's capacity; otherwise milli-cpu and bytes.
    in_parts: bool = True


@dataclass(frozen=True, slots=True)
class UsageTable:
    """The measurements of all nodes: fractions of each node's capacity, not-a-number if unknown."""

    cpu: Vector
    memory: Vector
    at: Vector

    def known(self, now: float) -> Mask:
        """Return the nodes with recent measurements."""
        young: Mask = self.at >= now - MAX_AGE
        return young
