"""Queues as rows of a tree: what they deserve, what is guaranteed and allowed, and what they use and borrow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.queues.queue import ROOT, Queue
from stromboli.core.model.resources.resources import UNLIMITED, dense, dominant_share, exceeding
from stromboli.core.session.session import Session

_STARTED = ("Running", "Completed", "Unknown")


class JobsOfQueue(msgspec.Struct, kw_only=True):
    """Jobs in the queue itself."""

    running: int
    waiting: int


class QueueDocument(msgspec.Struct, rename="camel", kw_only=True):
    """A queue in JSON: `stromboli queues` and the console use these names."""

    queue: str
    parent: str
    state: str
    weight: int
    priority: int
    reclaimable: bool
    allocated: dict[str, str]
    deserved: dict[str, str]
    guarantee: dict[str, str]
    capability: dict[str, str]
    borrowed: dict[str, str]
    share: float
    jobs: JobsOfQueue


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """A queue. Amounts are by resource; those of a parent include its children."""

    name: str
    parent: str
    #: Its depth in the tree; 0 below the root.
    depth: int
    state: str
    weight: int
    priority: int
    reclaimable: bool
    allocated: Mapping[str, str]
    deserved: Mapping[str, str]
    guarantee: Mapping[str, str]
    capability: Mapping[str, str]
    #: What is allocated beyond what the queue deserves; empty if no plugin divides the cluster.
    borrowed: Mapping[str, str]
    #: The used part of what it deserves, or else of the cluster, for the resource of which most is used.
    share: float
    #: Jobs in the queue itself.
    running: int
    waiting: int

    def as_document(self) -> QueueDocument:
        """Return the entry for JSON and YAML."""
        return QueueDocument(
            queue=self.name, parent=self.parent, state=self.state, weight=self.weight, priority=self.priority,
            reclaimable=self.reclaimable, allocated=dict(self.allocated), deserved=dict(self.deserved),
            guarantee=dict(self.guarantee), capability=dict(self.capability), borrowed=dict(self.borrowed),
            share=round(self.share, 4), jobs=JobsOfQueue(running=self.running, waiting=self.waiting),
        )  # fmt: skip

    def as_plain(self) -> dict[str, Any]:
        """Return the entry as plain values."""
        plain: dict[str, Any] = msgspec.to_builtins(self.as_document())
        return plain


def waits(job: Job) -> bool:
    """Report whether a job has not started."""
    return not job.is_ready and job.phase not in _STARTED


def listed_queues(session: Session) -> list[QueueEntry]:
    """Return the queues of an open session, each after its parent."""
    waiting = Counter(job.queue for job in session.jobs.values() if waits(job))
    running = Counter(job.queue for job in session.jobs.values() if job.is_ready and job.phase != "Completed")
    return [
        _entry(session, queue, depth, running[queue.name], waiting[queue.name])
        for queue, depth in _in_tree_order(session.queues)
    ]


def _in_tree_order(queues: Mapping[str, Queue]) -> Iterator[tuple[Queue, int]]:
    """Yield every queue with its depth. A queue whose parent is missing, or in a circle, counts as below the root."""
    children: dict[str, list[Queue]] = {}
    for queue in sorted(queues.values(), key=lambda queue: queue.name):
        children.setdefault(_parent(queue, queues), []).append(queue)
    yield from _below("", children, 0)


def _parent(queue: Queue, queues: Mapping[str, Queue]) -> str:
    parent, seen = queue.parent, {queue.name}
    while parent in queues and parent not in seen:
        seen.add(parent)
        parent = queues[parent].parent
    is_top = queue.parent in ("", ROOT) or queue.parent not in queues or parent in seen
    return "" if is_top else queue.parent


def _below(parent: str, children: Mapping[str, Sequence[Queue]], depth: int) -> Iterator[tuple[Queue, int]]:
    for queue in children.get(parent, ()):
        yield queue, depth
        yield from _below(queue.name, children, depth + 1)


def _entry(session: Session, queue: Queue, depth: int, running: int, waiting: int) -> QueueEntry:
    axis, allocated, facts = session.axis, session.ledger.queues[queue.name].allocated, session.queue_facts(queue)
    deserved = list(facts.deserved) if facts else dense(queue.deserved, len(axis))
    return QueueEntry(
        name=queue.name,
        parent=queue.parent,
        depth=depth,
        state=queue.state or "Open",
        weight=queue.weight,
        priority=queue.priority,
        reclaimable=queue.reclaimable,
        allocated=axis.as_quantities(allocated),
        deserved=axis.as_quantities(deserved),
        guarantee=axis.as_quantities(dense(queue.guarantee, len(axis))),
        capability=_limits(session, queue),
        borrowed=axis.as_quantities(exceeding(allocated, deserved)) if facts else {},
        share=facts.share if facts else dominant_share(allocated, session.total),
        running=running,
        waiting=waiting,
    )


def _limits(session: Session, queue: Queue) -> dict[str, str]:
    """Return the amounts of the capability, where 0 is a limit as well."""
    axis = session.axis
    return {axis.names[d]: axis.format(d, amount) for d, amount in queue.capability if amount < UNLIMITED}
