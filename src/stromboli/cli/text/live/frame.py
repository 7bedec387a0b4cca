"""Frames: jobs, nodes and queues of one moment.

A frame is taken from the cache of the scheduler in one synchronous step, so that all parts agree. The cache counts
placements that are being bound and evictions in progress. A reason comes from the last cycle, and only if that cycle
had the same pods of the job.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.queues.queue import ROOT
from stromboli.core.model.tasks.task import ALLOCATED_STATUSES, OCCUPYING_STATUSES, TaskStatus
from stromboli.core.session.status import phase_of
from stromboli.workloads.groups import title_of

if TYPE_CHECKING:
    from stromboli.cli.text.live.cycles import CycleLog
    from stromboli.cluster.state.cluster import Cluster
    from stromboli.cluster.state.cluster_state import ClusterState

STARTING = "Starting"
#: Phases of jobs that need no reason.
SETTLED = ("Running", STARTING, "Completed")
_WAITING = ("Pending", "Inqueue")


@dataclass(frozen=True, slots=True)
class JobRow:
    key: str
    name: str
    queue: str
    phase: str
    #: Pods that must start together, that run, that have succeeded, and that exist.
    minimum: int
    running: int
    succeeded: int
    pods: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class NodeRow:
    name: str
    capacity: int
    #: Allocated amounts by queue; the empty name is for pods without a queue.
    used: Mapping[str, int]
    #: The amount of pods that are being removed.
    leaving: int = 0


@dataclass(frozen=True, slots=True)
class QueueRow:
    name: str
    allocated: int
    #: None if no plugin divides the cluster between queues.
    deserved: int | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    #: The resource of nodes and queues, in thousandths.
    resource: str
    jobs: tuple[JobRow, ...] = ()
    nodes: tuple[NodeRow, ...] = ()
    queues: tuple[QueueRow, ...] = ()

    @property
    def capacity(self) -> int:
        return sum(node.capacity for node in self.nodes)

    @property
    def used(self) -> int:
        return sum(sum(node.used.values()) for node in self.nodes)


def take_frame(cluster: Cluster, cycles: CycleLog) -> Frame:
    """Return the state of the cluster at this moment."""
    state, leaving = cluster.cluster_state(), _leaving_by_job(cluster)
    resource = _shown_resource(cluster)
    dimension = cluster.axis.names.index(resource)
    jobs = [
        _job_row(cluster, cycles, job, leaving[job.key]) for job in state.jobs.values() if job.key in cluster.groups
    ]
    jobs.sort(key=lambda row: (state.jobs[row.key].spec.created, row.key))
    return Frame(resource, tuple(jobs), _node_rows(cluster, state, dimension), _queue_rows(state, cycles, dimension))


def _shown_resource(cluster: Cluster) -> str:
    """Return the first resource of GPUs that a node has, or else cpu."""
    names = cluster.axis.names
    counted = {
        names[d] for entry in cluster.nodes.entries.values() for d, amount in entry.allocatable.items() if amount
    }
    return min((name for name in counted if name.endswith("/gpu")), default="cpu")


def shown_name(cluster: Cluster, key: str) -> str:
    """Return the name of a job: for a generated group that of its owner, and no namespace if it is `default`."""
    group = cluster.groups.get(key)
    namespace, _, name = key.partition("/")
    name = name if group is None else title_of(group)
    return name if namespace == "default" else f"{namespace}/{name}"


def _leaving_by_job(cluster: Cluster) -> Counter[str]:
    """Count the pods that are being removed from a node, by job."""
    counted = cluster.accounting.counted.values()
    return Counter(each.task.job for each in counted if each.status is TaskStatus.RELEASING and each.row >= 0)


def _job_row(cluster: Cluster, cycles: CycleLog, job: Job, leaving: int) -> JobRow:
    running, succeeded = job.counts[TaskStatus.RUNNING], job.counts[TaskStatus.SUCCEEDED]
    phase = phase_of(job, unschedulable=cycles.is_unschedulable(job), leaving=leaving)
    if phase == "Running" and running + succeeded < job.min_available:
        phase = "Releasing" if leaving else STARTING
    elif phase in _WAITING and job.ready_count and job.is_ready:
        phase = STARTING
    return JobRow(
        key=job.key,
        name=shown_name(cluster, job.key),
        queue=job.queue,
        phase=phase,
        minimum=job.min_available,
        running=running,
        succeeded=succeeded,
        pods=len(job.tasks),
        reason="" if phase in SETTLED else cycles.reason(job),
    )


def _node_rows(cluster: Cluster, state: ClusterState, dimension: int) -> tuple[NodeRow, ...]:
    names = state.table.names
    used: dict[str, Counter[str]] = {}
    leaving = Counter[str]()
    for each in cluster.accounting.counted.values():
        if each.row < 0 or each.status not in OCCUPYING_STATUSES:
            continue
        node, amount = names[each.row], dict(each.task.task_class.request).get(dimension, 0)
        if each.status in ALLOCATED_STATUSES:
            job = state.jobs.get(each.task.job)
            used.setdefault(node, Counter())[job.queue if job else ""] += amount
        else:
            leaving[node] += amount
    capacity = {name: entry.allocatable.get(dimension, 0) for name, entry in cluster.nodes.entries.items()}
    return tuple(NodeRow(name, capacity[name], used.get(name, {}), leaving[name]) for name in sorted(capacity))


def _queue_rows(state: ClusterState, cycles: CycleLog, dimension: int) -> tuple[QueueRow, ...]:
    """Return the queues that have jobs or deserve something of the resource."""
    rows = []
    for name, usage in sorted(state.sums.usage.items()):
        deserved = cycles.deserved(name, dimension)
        if name != ROOT and (usage.jobs or any(usage.allocated) or deserved):
            rows.append(QueueRow(name, usage.allocated[dimension], deserved))
    return tuple(rows)
