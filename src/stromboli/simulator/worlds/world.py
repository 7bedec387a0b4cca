"""What a simulation needs of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from stromboli.core.model.devices.gpu_fractions import GROUPS
from stromboli.core.model.tasks.placement import Placement
from stromboli.core.session.session import Session
from stromboli.simulator.traced.jobs import ActiveJob

#: The phase of a job from the moment when its last pod is bound: the next cycle would set it.
RUNNING_PHASE = "Running"


@dataclass(slots=True)
class AppliedDecisions:
    """The decisions of a cycle that concern jobs of the simulation."""

    #: The node rows of bound pods, by job.
    placed: dict[str, list[int]] = field(default_factory=dict)
    #: The shared GPU of each of them; empty for pods without one.
    devices: dict[str, list[str]] = field(default_factory=dict)
    #: Jobs of which pods are evicted, each once.
    evicted: Sequence[str] = ()

    def place(self, key: str, placements: Sequence[Placement], nodes: Sequence[int]) -> None:
        self.placed.setdefault(key, []).extend(nodes)
        self.devices.setdefault(key, []).extend(each.annotations.get(GROUPS, "") for each in placements)


class World(Protocol):
    """Time is set by the simulation. Jobs run until the simulation ends them."""

    now: float
    #: What the policy does not heed in the jobs.
    warnings: list[str]

    @property
    def node_names(self) -> Sequence[str]:
        """Return the names of the nodes by row."""

    @property
    def has_pending_jobs(self) -> bool:
        """Report whether a cycle may have something to decide."""

    def submit(self, active: ActiveJob) -> None:
        """Add a job whose pods wait, and its queue, if it is new."""

    def restart(self, active: ActiveJob) -> None:
        """Replace all pods of a job by new ones, which wait."""

    def finish(self, active: ActiveJob) -> None:
        """Remove a job with all its pods."""

    def decide(self) -> Session:
        """Run a cycle without applying its decisions."""

    def apply(self, session: Session) -> AppliedDecisions:
        """Bind pods, as decided. Evicted pods stay until their jobs are restarted."""
