"""What the binder is asked to do, and what became of it: plain values, so that anybody may ask and anybody may read."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stromboli.core.model.volumes.volumes import VolumeOrder


@dataclass(frozen=True, slots=True)
class ClaimWrite:
    """A resource claim that a pod uses under a name of its own, and what the claim is given if it has no devices."""

    name: str
    key: str
    #: As it will stand in the status of the claim; None where the claim must have its devices already.
    allocation: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class BindOrder:
    """Bind this very pod to this node."""

    uid: str
    namespace: str
    name: str
    node: str
    #: What travels with the binding and then stands on the pod.
    annotations: Mapping[str, str] = field(default_factory=dict)
    #: The volumes that must be ready before.
    volumes: VolumeOrder | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    #: The resource claims that must be its own before.
    claims: tuple[ClaimWrite, ...] = ()

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Commit:
    """The members of one committed statement, to be bound together.

    `bound` members of the job had a place before; it is content with `minimum`.
    """

    job: str
    members: tuple[BindOrder, ...]
    minimum: int
    bound: int = 0
    #: Tells it from every other commit that there ever was.
    name: str = ""

    @property
    def needed(self) -> int:
        """How many of the members must be bound, so that the gang is not left below its minimum."""
        return max(min(self.minimum - self.bound, len(self.members)), 0)


@dataclass(frozen=True, slots=True)
class EvictOrder:
    """Remove this very pod from its node, for this reason, in favour of `claimant` (a job, or nobody)."""

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
    """What became of an order."""

    DONE = "done"
    #: It cannot be done, and repeating it will not help.
    IMPOSSIBLE = "impossible"
    #: Nobody knows; the cluster has to be asked again.
    UNKNOWN = "unknown"
    #: Not done: we are no longer in charge, or are stopping.
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Result:
    outcome: Outcome
    #: In words for a person, when it is not done.
    problem: str = ""
    #: Whether the pod stood there already when it was to be bound: by an answer that was lost, or by somebody else.
    is_found: bool = False


DONE = Result(Outcome.DONE)
FOUND = Result(Outcome.DONE, is_found=True)
