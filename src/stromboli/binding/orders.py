"""Requests to bind or evict pods, and the results: plain values."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from stromboli.core.model.tasks.placement import Placement


@dataclass(frozen=True, slots=True)
class Commit:
    """The placements of one committed statement, to be bound together.

    `bound` members of the job were placed before; the job runs with `minimum` members.
    """

    job: str
    members: tuple[Placement, ...]
    minimum: int
    bound: int = 0
    #: Unique among all commits of all processes.
    name: str = ""

    @property
    def needed(self) -> int:
        """Return how many of the members must be bound, so that the gang is not left below its minimum."""
        return max(min(self.minimum - self.bound, len(self.members)), 0)


@dataclass(frozen=True, slots=True)
class EvictOrder:
    """Evict exactly this pod, for this reason, in favour of the job `preemptor`, if any."""

    uid: str
    namespace: str
    name: str
    job: str
    reason: str
    preemptor: str = ""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


class Outcome(enum.Enum):
    """The outcome of a bind or an eviction."""

    DONE = "done"
    #: Failed; a retry does not help.
    IMPOSSIBLE = "impossible"
    #: The answer of the API server is missing: the pod has to be read again.
    UNKNOWN = "unknown"
    #: Not attempted: this process does not lead any more, or is stopping.
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Result:
    outcome: Outcome
    #: The reason, unless it is done.
    problem: str = ""
    #: Whether the pod had this node before the attempt: by a write whose answer was lost, or by another writer.
    is_found: bool = False


DONE = Result(Outcome.DONE)
FOUND = Result(Outcome.DONE, is_found=True)
