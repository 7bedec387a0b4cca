"""The PodGroup of a Volcano Job."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.tasks import PARTITION, VolcanoTask, group_name_of, queue_of, tasks_of
from stromboli.workloads.group_documents import group_document
from stromboli.workloads.min_resources import Members, first_members, quota_of, total_request
from stromboli.workloads.pod_documents import TASK_SPEC


def group_of(
    job: WorkloadDocument,
    priority_of: Callable[[str], int] = lambda name: 0,
    tasks: Sequence[VolcanoTask] | None = None,
) -> dict[str, Any]:
    """Return the PodGroup of a Job. `priority_of` returns the value of a priority class, by which the tasks are ordered
    whose requests add up to the minimum. `tasks` are those of the Job, if they have been read before.
    """
    tasks = tasks_of(job) if tasks is None else tasks
    minimum = min_available(job, tasks)
    spec = {
        "minMember": minimum,
        "minTaskMember": {task.name: task.minimum for task in tasks},
        "queue": queue_of(job),
        "minResources": _min_resources(tasks, minimum, priority_of),
        "priorityClassName": job.text("spec.priorityClassName"),
        "networkTopology": _topology(job, "spec.networkTopology"),
        "subGroupPolicy": [_sub_groups(job, task) for task in tasks if task.partition_size],
    }
    return group_document(job, group_name_of(job), spec, labels=job.labels, annotations=job.annotations)


def min_available(job: WorkloadDocument, tasks: Sequence[VolcanoTask]) -> int:
    """Return the minimum of a Job: by default the sum of the minimums of its tasks, as Volcano's webhook writes it."""
    return job.count("spec.minAvailable", 0) or sum(task.minimum for task in tasks)


def _min_resources(tasks: Sequence[VolcanoTask], minimum: int, priority_of: Callable[[str], int]) -> Mapping[str, str]:
    """A minimum below the sum of the tasks' minimums does without them: its pods are the first by priority."""
    is_below = minimum < sum(task.minimum for task in tasks)
    members = [
        Members(
            task.template,
            task.replicas,
            priority_of(task.template["spec"].get("priorityClassName") or ""),
            0 if is_below else task.minimum,
        )
        for task in tasks
    ]
    chosen = first_members(members, minimum)
    requests = total_request(chosen)
    return {**requests, **quota_of(chosen, requests)}


def _topology(job: WorkloadDocument, path: str) -> dict[str, Any]:
    topology = job.map(path)
    highest = "highestTierName" if topology.get("highestTierAllowed") is None else "highestTierAllowed"
    return {key: topology[key] for key in ("mode", highest) if topology.get(key) is not None}


def _sub_groups(job: WorkloadDocument, task: VolcanoTask) -> dict[str, Any]:
    path = f"{task.path}.partitionPolicy"
    policy = {
        "name": task.name,
        "subGroupSize": task.partition_size,
        "minSubGroups": job.count(f"{path}.minPartitions", 0),
        "labelSelector": {"matchLabels": {TASK_SPEC: task.name}},
        "matchLabelKeys": [PARTITION],
        "networkTopology": _topology(job, f"{path}.networkTopology"),
    }
    return {key: value for key, value in policy.items() if value != {}}
