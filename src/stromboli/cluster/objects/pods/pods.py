"""Pods: the record that the cache keeps of a pod, its status, and the task that represents it in the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from stromboli import kube
from stromboli.cluster.objects.pod_groups.pod_groups import PREEMPTABLE, is_true
from stromboli.cluster.objects.pods.checkpoints import checkpoint_interval_of, last_checkpoint_of
from stromboli.cluster.objects.pods.classes import PodFacts
from stromboli.cluster.objects.pods.run_times import run_time_of
from stromboli.cluster.objects.priority_classes import Priorities, task_priority_of
from stromboli.cluster.objects.timestamps import seconds_of
from stromboli.core.model.devices.gpu_fractions import DEMANDS
from stromboli.core.model.nodes.numa import DECISION
from stromboli.core.model.tasks.task import FINISHED_STATUSES, Task, TaskStatus
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.workloads.requests import is_resize_infeasible

#: Prefix of the annotations and labels that Stromboli owns.
OWN = "stromboli.dev/"

_PHASES = {
    None: TaskStatus.PENDING,
    "": TaskStatus.PENDING,
    "Pending": TaskStatus.PENDING,
    "Running": TaskStatus.RUNNING,
    "Succeeded": TaskStatus.SUCCEEDED,
    "Failed": TaskStatus.FAILED,
}


@dataclass(slots=True)
class PodRecord:
    """A pod with its decoded facts. `job` is empty for pods without a PodGroup."""

    pod: kube.Pod
    job: str
    facts: PodFacts | None = None
    #: Why the pod cannot be scheduled; empty if it can.
    fault: str = ""
    #: The task that was made from this version of the pod, as far as tasks depend on it; None if it is outdated.
    task: Task | None = None


class Counted(NamedTuple):
    """How a pod was added to the accounting, so that exactly this can be subtracted again."""

    task: Task
    status: TaskStatus
    row: int


def same_requests(one: kube.Pod, other: kube.Pod) -> bool:
    """Report whether both versions request the same, labels aside. Progress in the status may differ, except for the
    resources that the kubelet granted.
    """
    before, after = one.metadata, other.metadata
    return (
        before.name == after.name
        and before.namespace == after.namespace
        and (before.annotations == after.annotations or _of_others(before.annotations) == _of_others(after.annotations))
        and (one.spec == other.spec or _unplaced(one.spec) == _unplaced(other.spec))
        and _granted(one) == _granted(other)
    )


def _of_others(annotations: Mapping[str, str] | None) -> dict[str, str]:
    """Annotations without those that Stromboli writes at binding: they request nothing."""
    return {key: value for key, value in (annotations or {}).items() if not key.startswith(OWN) and key != DECISION}


def _granted(pod: kube.Pod) -> list[tuple[object, ...]]:
    """Resources that the kubelet granted to containers, where reported, and whether it grants no more."""
    if not pod.status.container_statuses:
        return []
    return [
        (status.name, status.resources, status.allocated_resources, is_resize_infeasible(pod))
        for status in pod.status.container_statuses
        if status.resources is not None or status.allocated_resources is not None
    ]


def _unplaced(spec: kube.PodSpec) -> kube.PodSpec:
    return msgspec.structs.replace(spec, node_name=None) if spec.node_name else spec


def status_of(pod: kube.Pod) -> TaskStatus:
    """The lifecycle status of a pod."""
    status = _PHASES.get(pod.status.phase, TaskStatus.UNKNOWN)
    if status in FINISHED_STATUSES:
        return status
    if pod.metadata.deletion_timestamp is not None:
        return TaskStatus.RELEASING
    return TaskStatus.BOUND if status is TaskStatus.PENDING and pod.spec.node_name else status


#: Statuses of pods on a node. Whether such a pod has started is irrelevant for other pods.
_ON_NODE = (TaskStatus.BOUND, TaskStatus.RUNNING)


def relevant_fields(pod: kube.Pod) -> tuple[object, ...]:
    """Requests, labels, and the status as far as it matters for other pods."""
    metadata, status = pod.metadata, status_of(pod)
    stage = TaskStatus.RUNNING if status in _ON_NODE else status
    return stage, metadata.labels, _of_others(metadata.annotations), _granted(pod), _unplaced(pod.spec)


def confirms_binding(entry: object, before: object) -> bool:
    """Report whether a waiting pod is bound now. That is irrelevant if it is the node chosen for it."""
    if not isinstance(entry, kube.Pod) or not isinstance(before, kube.Pod):
        return False
    return status_of(before) is TaskStatus.PENDING and status_of(entry) in _ON_NODE


class TaskContext(NamedTuple):
    """The facts of a task that do not come from its pod's spec and metadata; its status and node aside."""

    task_class: TaskClass
    placed_at: float
    in_backoff: bool
    nominated_node: str
    #: Empty for a class that its queue does not allow, and that therefore does not count.
    priority_class: str
    #: Its volume claims, its resource claims, and the pod's names for these.
    claims: tuple[str, ...]
    resource_claims: tuple[str, ...]
    claim_names: tuple[str, ...]

    def applies_to(self, task: Task) -> bool:
        """Report whether these are the facts of a task."""
        return (
            self.task_class is task.task_class
            and self.placed_at == task.placed_at
            and self.nominated_node == task.nominated_node
            and self.priority_class == task.priority_class
            and self.in_backoff is task.in_backoff
            and self.claims == task.claims
            and self.resource_claims == task.resource_claims
            and self.claim_names == task.claim_names
        )


def task_of(pod: kube.Pod, job: str, row: int, priorities: Priorities, context: TaskContext) -> Task:
    metadata = pod.metadata
    annotations, labels = metadata.annotations or {}, metadata.labels or {}
    preemptable = annotations.get(PREEMPTABLE) or labels.get(PREEMPTABLE)
    counts = context.priority_class == (pod.spec.priority_class_name or "")
    return Task(
        uid=metadata.uid,
        namespace=metadata.namespace,
        name=metadata.name,
        job=job,
        row=row,
        task_class=context.task_class,
        priority=priorities.of_pod(pod) if counts else priorities.of_pod_without_class(pod),
        task_priority=task_priority_of(pod),
        created=seconds_of(metadata.creation_timestamp),
        gated=bool(pod.spec.scheduling_gates),
        preemptable=preemptable is None or is_true(preemptable),
        never_preempts=pod.spec.preemption_policy == "Never",
        priority_class=context.priority_class,
        placed_at=context.placed_at,
        run_time=run_time_of(pod),
        checkpoint_interval=checkpoint_interval_of(annotations),
        last_checkpoint=last_checkpoint_of(annotations),
        in_backoff=context.in_backoff,
        nominated_node=context.nominated_node,
        claims=context.claims,
        resource_claims=context.resource_claims,
        claim_names=context.claim_names,
    )


def placed_at(pod: kube.Pod) -> float:
    """Transition time of the condition PodScheduled=True."""
    if not pod.status.conditions:
        return 0.0
    transitions = (c for c in pod.status.conditions if c.type == "PodScheduled" and c.status == "True")
    return max((seconds_of(condition.last_transition_time) for condition in transitions), default=0.0)


def without_requests(pod: kube.Pod) -> kube.Pod:
    """A copy that requests nothing, for a running pod whose spec is invalid: it counts as one pod and nothing else."""
    status = type(pod.status)(phase=pod.status.phase)
    annotations = {key: value for key, value in (pod.metadata.annotations or {}).items() if key not in DEMANDS}
    metadata = msgspec.structs.replace(pod.metadata, annotations=annotations)
    return kube.Pod(metadata=metadata, spec=type(pod.spec)(node_name=pod.spec.node_name), status=status)
