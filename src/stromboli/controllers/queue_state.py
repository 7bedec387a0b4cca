"""The state of a queue: the rules by which it opens and closes, alone and with its parent.

An administrator closes a queue by setting its state to Closing or Closed. It is Closing while it has groups and Closed
when the last one is gone. Open children are closed with their parent and marked, so that they open again with it; a
queue that was closed on its own stays closed. A Command does the same, but opens no queue of a closed parent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stromboli.controllers.commands import CLOSE_QUEUE, OPEN_QUEUE
from stromboli.core.model.queues.queue import ROOT
from stromboli.kube.objects.volcano import KubeQueue, PodGroup

OPEN, CLOSING, CLOSED, UNKNOWN = "Open", "Closing", "Closed", "Unknown"
CLOSED_BY_PARENT = "volcano.sh/closed-by-parent"

COUNTED_PHASES = ("pending", "inqueue", "running", "unknown", "completed")


@dataclass(frozen=True, slots=True)
class QueueState:
    """The state of a queue, and whether it is closed only because its parent is."""

    state: str
    with_parent: bool = False

    @property
    def is_closed(self) -> bool:
        return self.state in (CLOSING, CLOSED)


def state_of(queue: KubeQueue) -> QueueState:
    """Return the state in the queue's status; Open by default."""
    marked = (queue.metadata.annotations or {}).get(CLOSED_BY_PARENT) == "true"
    return QueueState(queue.status.state or OPEN, marked)


def next_state(now: QueueState, parent: QueueState | None, *, is_empty: bool) -> QueueState:
    """Return the next state, from the parent's state and whether the queue has groups."""
    closed_state = CLOSED if is_empty else CLOSING
    if parent is not None and parent.is_closed:
        return QueueState(closed_state, with_parent=now.with_parent or not now.is_closed)
    if now.with_parent:
        return QueueState(OPEN)
    if now.is_closed:
        return QueueState(closed_state)
    return QueueState(now.state if now.state in (OPEN, UNKNOWN) else UNKNOWN)


class CommandRejected(Exception):
    """A Command that cannot be executed; it gets an event."""


def after_command(now: QueueState, action: str, parent: QueueState | None) -> QueueState:
    """Return the state that a Command asks for, before `next_state`. Raises CommandRejected."""
    if action == CLOSE_QUEUE:
        return QueueState(now.state if now.is_closed else CLOSING)
    if action != OPEN_QUEUE:
        raise CommandRejected(f"unknown action {action!r}; send {OPEN_QUEUE} or {CLOSE_QUEUE}")
    if parent is not None and parent.is_closed:
        raise CommandRejected("the parent queue is closed; open it first")
    return QueueState(OPEN)


def parent_of(queue: KubeQueue) -> str | None:
    """Return the parent of a queue; the root by default."""
    if queue.metadata.name == ROOT:
        return None
    return queue.spec.parent or ROOT


def phase_of(group: PodGroup) -> str:
    """Return the phase of a group; pending by default."""
    return (group.status.phase or "pending").lower()


def counts_of(phases: Mapping[str, int]) -> dict[str, int]:
    """Return the number of groups in each counted phase."""
    return {phase: phases.get(phase, 0) for phase in COUNTED_PHASES}
