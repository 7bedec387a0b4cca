"""A snapshot by names only: equal states have equal summaries, whatever numbers the cache assigned.

Positions on axes and in columns depend on the order of arrival; the content does not. A cache also keeps counting terms
that are no longer used. Summaries are therefore compared over the terms that both contain: those of the newer cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.snapshot import Snapshot
from stromboli.core.model.tasks.pod_terms import Counted
from stromboli.core.model.tasks.task import Task, TaskStatus


def summary_of(snapshot: Snapshot, terms: Iterable[Counted] | None = None) -> dict[str, Any]:
    """The content of a snapshot, with the counters of these terms; of all terms if none are passed.

    The result does not change with the snapshot.
    """
    known = set(snapshot.terms.counted if terms is None else terms)
    return {
        "nodes": {
            node.name: (node.labels, node.taints, node.unschedulable, node.ready, node.processors)
            for node in snapshot.nodes.nodes
        },
        "amounts": _amounts(snapshot),
        "tallies": _tallies(snapshot, known),
        "jobs": {key: _job(snapshot, job, known) for key, job in sorted(snapshot.jobs.items())},
        "waiting": sorted(snapshot.waiting),
        "queues": {name: _queue(snapshot, name) for name in sorted(snapshot.queue_usage)},
        "unqueued": _named(snapshot, snapshot.unqueued),
        "processors": {name: (known.free, known.leaving, known.held) for name, known in snapshot.processors.items()},
        "devices": {
            node: {uid: (claim.annotations, claim.leaving) for uid, claim in sorted(claims.items())}
            for node, claims in sorted(snapshot.device_claims.items())
        },
        "warnings": snapshot.warnings,
        "volumes": _volumes(snapshot),
    }


def _volumes(snapshot: Snapshot) -> dict[str, Any]:
    table, later = snapshot.volumes.table, snapshot.volumes.later_use.named(snapshot.nodes)
    there = {
        "free": {volume.name: volume for volume in table.volumes},
        "capacities": {capacity.name: capacity for capacity in table.capacities},
    }
    return {**there, "limits": table.limits, **snapshot.volumes.use.named(snapshot.nodes), "later": later}


def _named(snapshot: Snapshot, amounts: Sequence[int]) -> dict[str, int]:
    return {snapshot.axis.names[dimension]: amount for dimension, amount in enumerate(amounts) if amount}


def _amounts(snapshot: Snapshot) -> dict[str, dict[str, Any]]:
    layout, amounts = snapshot.layout, snapshot.amounts
    sections = ("idle", "used", "releasing", "pipelined", "allocatable")
    found: dict[str, dict[str, Any]] = {}
    for column, name in enumerate(snapshot.nodes.names):
        starts = ((section, getattr(layout, section)) for section in sections)
        facts: dict[str, Any] = {
            section: _named(snapshot, amounts[start : start + layout.resources, column].tolist())
            for section, start in starts
        }
        facts["scored"] = amounts[layout.scored : layout.scored + 2, column].tolist()
        found[name] = facts
    return found


def _tallies(snapshot: Snapshot, known: set[Counted]) -> dict[Counted, dict[str, int]]:
    names, counted = snapshot.nodes.names, snapshot.terms.counted
    return {
        counted[number]: {names[row]: int(column[row]) for row in column.nonzero()[0]}
        for number, column in snapshot.tallies.items()
        if column.any() and counted[number] in known
    }


def _job(snapshot: Snapshot, job: Job, known: set[Counted]) -> dict[str, Any]:
    spec = job.spec
    return {
        "spec": (
            spec.uid,
            spec.queue,
            spec.min_available,
            spec.min_task_member,
            spec.priority,
            spec.evicted_whole,
            spec.created,
            spec.fault,
            spec.is_being_deleted,
        ),
        "minimum": spec.min_resources and _named(snapshot, _dense(snapshot, spec.min_resources)),
        "policies": spec.policies,
        "phase": job.phase,
        "counts": tuple(job.counts),
        "roles": {role: tuple(counts) for role, counts in job.role_counts.items() if any(counts)},
        "groups": {key: (*sub.counts, sub.priority, sub.match_index) for key, sub in job.sub_jobs.items()},
        "allocated": _named(snapshot, job.allocated),
        "requested": _named(snapshot, job.requested),
        "tasks": {task.uid: _task(snapshot, task, known) for task in job.tasks.values()},
    }


def _dense(snapshot: Snapshot, request: Sequence[tuple[int, int]]) -> list[int]:
    amounts = dict(request)
    return [amounts.get(dimension, 0) for dimension in range(snapshot.size)]


def _task(snapshot: Snapshot, task: Task, known: set[Counted]) -> tuple[Any, ...]:
    row, task_class = int(snapshot.node_of[task.row]), task.task_class
    return (
        task.key,
        task.sub_job,
        task.priority,
        task.priority_in_job,
        task.gated,
        task.in_backoff,
        task.nominated_node,
        TaskStatus(int(snapshot.status[task.row])).label,
        snapshot.nodes.names[row] if row >= 0 else None,
        _named(snapshot, _dense(snapshot, task_class.request)),
        task_class.scored_request,
        task_class.role,
        task_class.avoided,
        {snapshot.terms.counted[number] for number in task_class.feeds} & known,
        task_class.volumes,
        task.claims,
    )


def _queue(snapshot: Snapshot, name: str) -> dict[str, Any]:
    usage, queue = snapshot.queue_usage[name], snapshot.queues.get(name)
    sums = {part: _named(snapshot, getattr(usage, part)) for part in ("allocated", "request", "inqueue", "elastic")}
    facts = (queue.weight, queue.priority, queue.parent, queue.state) if queue else None
    return {**sums, "jobs": usage.jobs, "chain": [link.name for link in usage.chain], "facts": facts}
