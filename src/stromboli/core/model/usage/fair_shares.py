"""Fair shares as they are shown: what queues and users have used over time, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FairShare:
    """A queue with its descendants, or a user of a queue."""

    queue: str
    #: None for the queue; empty for unknown users.
    user: str | None
    #: The depth of the queue in the tree; 0 at the top.
    depth: int
    weight: float
    #: The weight divided by the sum of those of its siblings.
    normal_weight: float
    #: Decayed usage by resource: processors, bytes and devices, times seconds.
    used: Mapping[str, float]
    #: The decayed fraction of the cluster, one number for all resources.
    usage: float
    #: The part of what it shares with its siblings that it gets if all want it, by resource; empty for users.
    effective: Mapping[str, float]
    #: By what the order compares it with its siblings: usage, with what it holds now, divided by weight.
    factor: float


@dataclass(frozen=True, slots=True)
class FairShares:
    """Queues in the order of their tree, each followed by its users."""

    #: The resource of which most is used; empty without any.
    resource: str
    entries: Sequence[FairShare]
