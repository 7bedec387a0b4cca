"""What nodes really use of their cpu and memory, as somebody measured it, with the time of the measurement.

What pods ask for is exact and known; what they use is neither. So a figure has an age, and a node may have none.
"""

from __future__ import annotations

from dataclasses import dataclass

from stromboli.core.model.nodes.table import Mask, Vector

#: A figure that is older than this, in seconds, says nothing about now.
MAX_AGE = 300.0


@dataclass(frozen=True, slots=True)
class Usage:
    """One measurement of one node."""

    cpu: float
    memory: float
    #: Seconds since the epoch.
    at: float
    #: Whether they are parts of what the node has; otherwise they are milli-cpu and bytes.
    in_parts: bool = True


@dataclass(frozen=True, slots=True)
class UsageTable:
    """The measurements of all nodes: parts of what each has, not-a-number where nothing is known."""

    cpu: Vector
    memory: Vector
    at: Vector

    def known(self, now: float) -> Mask:
        """The nodes whose figures are young enough to be believed."""
        young: Mask = self.at >= now - MAX_AGE
        return young
