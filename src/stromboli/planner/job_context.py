"""The context of a waiting job: the objects that may be changed, and the missing amounts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stromboli import kube
from stromboli.core.config.plugin import QueueFacts
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.nodes.empty_capacity import EmptyCapacity
from stromboli.core.model.nodes.table import Node
from stromboli.core.model.queues.queue import Queue
from stromboli.core.model.resources.resources import Amounts, ResourceAxis, add_request
from stromboli.core.model.tasks.task import Task
from stromboli.planner.plan import SchedulingPlan
from stromboli.planner.trials import Goal
from stromboli.workloads.groups import is_plain, job_key_of
from stromboli.workloads.plain_groups import group_for


@dataclass(frozen=True, slots=True)
class MemberPod:
    """A pod of the job with its task."""

    pod: kube.Pod
    task: Task


@dataclass(frozen=True, slots=True)
class JobContext:
    """The context of a waiting job at the end of the plan."""

    goal: Goal
    job: Job
    #: None for plain pods, whose group is not in the manifests.
    group: kube.PodGroup | None
    pods: tuple[kube.Pod, ...]
    #: Pods without a node before the plan, and those of them that the plan did not place.
    unplaced: tuple[MemberPod, ...]
    waiting: tuple[MemberPod, ...]
    queue_name: str
    #: The names of all queues.
    queue_names: tuple[str, ...]
    #: The object and its model; either may be missing.
    queue_object: kube.KubeQueue | None
    queue: Queue | None
    queue_allocated: Amounts
    #: The deserved amounts, if a plugin computes them, and whether the weight determines them.
    queue_facts: QueueFacts | None
    priority_classes: tuple[kube.PriorityClass, ...]
    nodes: tuple[kube.KubeNode, ...]
    node_facts: tuple[Node, ...]
    #: What the nodes can hold without any pod.
    empty_capacity: EmptyCapacity
    axis: ResourceAxis

    @property
    def pods_needed(self) -> int:
        """The number of waiting pods that must be placed to reach the goal."""
        missing = max(self.job.min_available - self.job.ready_count, 1)
        return len(self.waiting) if self.goal.all_pods else min(missing, len(self.waiting))

    def needed(self) -> Amounts:
        """Return the requests of that many pods."""
        total = [0] * len(self.axis)
        for member in self.waiting[: self.pods_needed]:
            add_request(total, member.task.task_class.request)
        return total


def job_contexts(
    plan: SchedulingPlan, objects: Sequence[kube.KubeObject], keys: Iterable[str], scheduler_names: Sequence[str]
) -> dict[str, JobContext]:
    """Return the contexts of some jobs. Reads the plan's session, so it must run before any trial."""
    index = _ObjectIndex(objects, scheduler_names)
    return {key: _job_context(plan, index, key) for key in keys}


class _ObjectIndex:
    """The objects by kind and key."""

    def __init__(self, objects: Sequence[kube.KubeObject], scheduler_names: Sequence[str]) -> None:
        self.groups = {entry.key: entry for entry in objects if isinstance(entry, kube.PodGroup)}
        self.queues = {entry.key: entry for entry in objects if isinstance(entry, kube.KubeQueue)}
        self.priority_classes = tuple(entry for entry in objects if isinstance(entry, kube.PriorityClass))
        self.nodes = tuple(entry for entry in objects if isinstance(entry, kube.KubeNode))
        self.pods: dict[str, list[kube.Pod]] = {}
        for entry in objects:
            if isinstance(entry, kube.Pod):
                key = group_for(entry).key if is_plain(entry, scheduler_names) else job_key_of(entry)
                self.pods.setdefault(key or "", []).append(entry)


def _job_context(plan: SchedulingPlan, index: _ObjectIndex, key: str) -> JobContext:
    session, job = plan.session, plan.session.jobs[key]
    pods = index.pods.get(key, [])
    tasks = {task.key: task for task in job.tasks.values()}
    unplaced = [MemberPod(pod, tasks[pod.key]) for pod in pods if pod.key in tasks and not pod.spec.node_name]
    usage = session.ledger.queues.get(job.queue)
    return JobContext(
        goal=Goal(key, all_pods=plan.groups[key].has_started),
        job=job,
        group=index.groups.get(key),
        pods=tuple(pods),
        unplaced=tuple(unplaced),
        waiting=tuple(member for member in unplaced if session.ledger.is_pending(member.task)),
        queue_name=job.queue,
        queue_names=tuple(sorted(session.queues)),
        queue_object=index.queues.get(job.queue),
        queue=session.queues.get(job.queue),
        queue_allocated=usage.allocated[:] if usage else [0] * len(session.axis),
        queue_facts=session.queue_facts(session.queues[job.queue]) if job.queue in session.queues else None,
        priority_classes=index.priority_classes,
        nodes=index.nodes,
        node_facts=session.nodes.nodes,
        empty_capacity=session.impossible.capacity,
        axis=session.axis,
    )
