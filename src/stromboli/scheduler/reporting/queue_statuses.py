"""The status of queues: what their jobs have, and what is reserved for those that wait.

A reservation is that of the action `backfill`: nodes on which a waiting job will start once other jobs have ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from stromboli import kube
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.model.resources.resources import add_request
from stromboli.core.session.session import Session
from stromboli.kube.objects.catalogue import QUEUES
from stromboli.kube.work.status_writer import DesiredStatus, StatusWriter

_NO_RESERVATION: Mapping[str, Any] = {}


@dataclass(slots=True)
class _Reserved:
    """Nodes and amounts that are reserved for the jobs of a queue."""

    amounts: list[int]
    nodes: set[str] = field(default_factory=set)


class QueueStatuses:
    """Writes the status of queues that have changed."""

    def __init__(self, cluster: Cluster, writer: StatusWriter) -> None:
        self._cluster, self._writer = cluster, writer
        #: By name, queues with their allocation and reservation as last reported.
        self._reported: dict[str, tuple[kube.KubeQueue | None, list[int], Mapping[str, Any]]] = {}

    def report(self, session: Session) -> None:
        """Report the allocation of every queue, binds in progress included, and its reservation."""
        reserved = _reserved_by_queue(session)
        for name, sums in self._cluster.cluster_state().sums.usage.items():
            queue, reservation = self._cluster.queues.find(name), reserved.get(name, _NO_RESERVATION)
            looked_at = (queue, sums.allocated[:], reservation)
            if self._reported.get(name) == looked_at:
                continue
            self._reported[name] = looked_at
            allocated = self._cluster.axis.as_quantities(sums.allocated)
            if queue is not None and queue_patch(queue, allocated, reservation) is not None:
                make = partial(queue_patch, allocated=allocated, reservation=reservation)
                forget = partial(self._reported.pop, name, None)
                self._writer.want(DesiredStatus(QUEUES, name, make, subresource="status", failed=forget))


def _reserved_by_queue(session: Session) -> dict[str, Mapping[str, Any]]:
    """Return the reservations of the jobs of each queue that has some."""
    found: dict[str, _Reserved] = {}
    for key, reservation in session.decisions.reservations.items():
        job = session.jobs[key]
        reserved = found.setdefault(job.queue, _Reserved([0] * session.snapshot.size))
        for uid, node in reservation.places:
            add_request(reserved.amounts, job.tasks[uid].task_class.request)
            reserved.nodes.add(node)
    return {
        name: {"nodes": sorted(each.nodes), "resource": session.axis.as_quantities(each.amounts)}
        for name, each in found.items()
    }


def queue_patch(
    queue: kube.KubeQueue, allocated: Mapping[str, str], reservation: Mapping[str, Any] = _NO_RESERVATION
) -> dict[str, Any] | None:
    """Return the merge patch of a queue's allocation and reservation; None when nothing differs. Clients of Volcano
    expect `reservation` even if it is empty.
    """
    before, reserved = queue.status.allocated or {}, queue.status.reservation or {}
    changes: dict[str, Any] = {}
    if before != allocated:
        changes["allocated"] = {**dict.fromkeys(before), **allocated}
    if reserved != reservation or queue.status.reservation is None:
        resources = {**dict.fromkeys(reserved.get("resource") or ()), **(reservation.get("resource") or {})}
        changes["reservation"] = {**dict.fromkeys(reserved), **reservation}
        if reservation:
            changes["reservation"]["resource"] = resources
    if not changes:
        return None
    if queue.status.allocated is None:
        changes.setdefault("allocated", {})
    return {"status": changes}
