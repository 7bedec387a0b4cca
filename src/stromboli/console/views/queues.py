"""The tree of queues, with amounts as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from stromboli.console.cache.node_facts import in_units
from stromboli.console.documents.queues import ConsoleQueue, QueueAmounts, QueueListing
from stromboli.console.views.view import PersonView
from stromboli.core.model.queues.queue import Queue
from stromboli.core.model.resources.resources import UNLIMITED, dense
from stromboli.core.session.session import Session
from stromboli.planner.overview.queue_list import QueueEntry, waits

Amounts = NDArray[np.int64]


def queue_tree(view: PersonView) -> QueueListing:
    """Return the queues that may be named."""
    session, entries = view.frame.session, view.frame.queues
    shown = [entry for entry in entries if entry.name in view.queues]
    requested = _requested(session, entries) if session is not None else {}
    return QueueListing(
        instance=view.instance, version=view.frame.version,
        queues=[_queue(session, entry, requested) for entry in shown], hidden=len(entries) - len(shown),
    )  # fmt: skip


def _queue(session: Session | None, entry: QueueEntry, requested: Mapping[str, Amounts]) -> ConsoleQueue:
    amounts = _amounts(session, entry.name, requested) if session is not None and entry.name in session.queues else []
    return ConsoleQueue(**msgspec.structs.asdict(entry.as_document()), depth=entry.depth, amounts=amounts)


def _requested(session: Session, entries: Sequence[QueueEntry]) -> dict[str, Amounts]:
    """Return the requests of waiting jobs by queue; those of a parent include its children."""
    found = {entry.name: np.zeros(len(session.axis), dtype=np.int64) for entry in entries}
    for key in session.snapshot.waiting:
        job = session.jobs[key]
        if waits(job) and job.queue in found:
            found[job.queue] += np.asarray(job.requested[: len(session.axis)], dtype=np.int64)
    for entry in reversed(entries):
        if entry.parent in found:
            found[entry.parent] += found[entry.name]
    return found


def _amounts(session: Session, name: str, requested: Mapping[str, Amounts]) -> list[QueueAmounts]:
    """Return the resources of which a queue has, wants or may have anything."""
    queue, size = session.queues[name], len(session.axis)
    allocated, facts = session.ledger.queues[name].allocated, session.queue_facts(queue)
    deserved = list(facts.deserved) if facts else None
    guarantee, capability = dense(queue.guarantee, size), _capability(queue)
    return [
        QueueAmounts(
            resource=session.axis.names[d],
            allocated=in_units(session, d, allocated[d]),
            deserved=None if deserved is None or deserved[d] >= UNLIMITED else in_units(session, d, deserved[d]),
            guarantee=in_units(session, d, guarantee[d]),
            capability=in_units(session, d, capability[d]) if d in capability else None,
            borrowed=in_units(session, d, max(allocated[d] - deserved[d], 0)) if deserved is not None else 0.0,
            requested=in_units(session, d, int(requested[name][d])),
        )
        for d in range(size)
        if allocated[d]
        or guarantee[d]
        or d in capability
        or requested[name][d]
        or (deserved is not None and deserved[d])
    ]


def _capability(queue: Queue) -> dict[int, int]:
    return {d: amount for d, amount in queue.capability if amount < UNLIMITED}
