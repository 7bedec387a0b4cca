"""Everything about one job: its state, its pods, what it lost, and what the next cycle does with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stromboli import kube
from stromboli.cluster.objects.pod_groups.pod_groups import eviction_message
from stromboli.cluster.objects.priority_classes import Priorities
from stromboli.cluster.objects.timestamps import seconds_of
from stromboli.planner.overview.job_list import JobEntry, reported_jobs
from stromboli.planner.overview.planned_jobs import planned_jobs
from stromboli.planner.plan import SchedulingPlan


@dataclass(frozen=True, slots=True)
class PodEntry:
    name: str
    status: str
    node: str
    created: float
    #: Why it has no node, by its own condition; or the node that the next cycle would choose.
    note: str = ""


@dataclass(frozen=True, slots=True)
class JobPage:
    entry: JobEntry
    pods: Sequence[PodEntry]
    #: The eviction of pods of the job that is recorded on its PodGroup; empty for none.
    eviction: str
    #: Number of jobs that wait in its queue.
    waiting_in_queue: int
    #: The nodes on which the next cycle would place pods of the job, with their numbers.
    next_nodes: Mapping[str, int]

    def as_plain(self) -> dict[str, Any]:
        """Return the page for JSON and YAML."""
        pods = [{"pod": pod.name, "status": pod.status, "node": pod.node, "note": pod.note} for pod in self.pods]
        return {
            **self.entry.as_plain(),
            "waitingInQueue": self.waiting_in_queue,
            "eviction": self.eviction,
            "nextNodes": dict(self.next_nodes),
            "members": pods,
        }


def job_page(plan: SchedulingPlan, objects: Sequence[kube.KubeObject], key: str) -> JobPage:
    """Return the page of a job of the plan. Its state is the reported one, or else that at the end of the plan."""
    tasks = {task.key for task in plan.session.jobs[key].tasks.values()}
    pods = [entry for entry in objects if isinstance(entry, kube.Pod) and entry.key in tasks]
    group = plan.pod_groups.get(key)
    is_reported = group is not None and bool(group.status.phase)
    entries = _reported(plan, objects) if is_reported else planned_jobs(plan)
    entry = next(each for each in entries if each.key == key)
    if is_reported:  # the counts of native groups are not reported, and others lag behind the pods
        entry = replace(entry, ready=sum(pod.status.phase in ("Running", "Succeeded") for pod in pods))
    nodes: dict[str, int] = {}
    for pod in tasks & plan.binds.keys():
        nodes[plan.binds[pod]] = nodes.get(plan.binds[pod], 0) + 1
    return JobPage(
        entry=entry,
        pods=[_pod(pod, plan) for pod in sorted(pods, key=lambda pod: pod.metadata.name)],
        eviction=eviction_message(group) if group is not None else "",
        waiting_in_queue=sum(each.waits for each in entries if each.queue == entry.queue),
        next_nodes=dict(sorted(nodes.items())),
    )


def _reported(plan: SchedulingPlan, objects: Sequence[kube.KubeObject]) -> list[JobEntry]:
    classes = {entry.metadata.name: entry for entry in objects if isinstance(entry, kube.PriorityClass)}
    return reported_jobs(plan.pod_groups.values(), Priorities(classes))


def _pod(pod: kube.Pod, plan: SchedulingPlan) -> PodEntry:
    metadata = pod.metadata
    node, note = pod.spec.node_name or "", ""
    if not node and pod.key in plan.binds:
        note = f"the next cycle places it on {plan.binds[pod.key]}"
    return PodEntry(metadata.name, status_of_pod(pod), node, seconds_of(metadata.creation_timestamp), note)


def status_of_pod(pod: kube.Pod) -> str:
    """Return the status in few words: `Starting` is a pod with a node that does not run yet."""
    phase = pod.status.phase or "Pending"
    if pod.metadata.deletion_timestamp:
        return "Terminating"
    if phase == "Pending" and pod.spec.scheduling_gates:
        return "Gated"
    return "Starting" if phase == "Pending" and pod.spec.node_name else phase
