"""Whether a queue takes work: the rules by which it opens and closes, alone and with the queues above it.

An administrator closes a queue by setting its state to Closing or Closed. It is Closing while it holds groups and
Closed when the last one is gone. With a queue close the open queues below it; they are marked, so that they open again
with it, while a queue that was closed on its own stays closed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stromboli.core.model.queues.queue import ROOT
from stromboli.kube.objects.volcano import KubeQueue, PodGroup

OPEN, CLOSING, CLOSED, UNKNOWN = "Open", "Closing", "Closed", "Unknown"
CLOSED_BY_PARENT = "volcano.sh/closed-by-parent"

COUNTED_PHASES = ("pending", "inqueue", "running", "unknown", "completed")


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of a queue, and whether it is closed only because the queue above it is."""

    state: str
    with_parent: bool = False

    @property
    def is_closed(self) -> bool:
        return self.state in (CLOSING, CLOSED)


def state_of(queue: KubeQueue) -> Standing:
    """As the queue says of itself; a queue that says nothing is open."""
    marked = (queue.metadata.annotations or {}).get(CLOSED_BY_PARENT) == "true"
    return Standing(queue.status.state or OPEN, marked)


def next_state(now: Standing, parent: Standing | None, *, is_empty: bool) -> Standing:
    """As the queue ought to be, given the queue above it and whether it holds groups."""
    shut = CLOSED if is_empty else CLOSING
    if parent is not None and parent.is_closed:
        return Standing(shut, with_parent=now.with_parent or not now.is_closed)
    if now.with_parent:
        return Standing(OPEN)
    if now.is_closed:
        return Standing(shut)
    return Standing(now.state if now.state in (OPEN, UNKNOWN) else UNKNOWN)


def parent_of(queue: KubeQueue) -> str | None:
    """The queue above; a queue that names none lies directly under the root."""
    if queue.metadata.name == ROOT:
        return None
    return queue.spec.parent or ROOT


def phase_of(group: PodGroup) -> str:
    """The phase that a group is counted under; a group that nobody has looked at yet is pending."""
    return (group.status.phase or "pending").lower()


def counts_of(phases: Mapping[str, int]) -> dict[str, int]:
    """How many groups are in each phase that a queue tells."""
    return {phase: phases.get(phase, 0) for phase in COUNTED_PHASES}
