"""The tasks of a Volcano Job, and their pods.

A plan and the job controller use the same functions, so that they cannot differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.groups import GROUP_NAME
from stromboli.workloads.pod_documents import TASK_SPEC, VOLCANO, pod_document
from stromboli.workloads.queues import DEFAULT_QUEUE

PARTITION = "volcano.sh/partition-id"
TASK_INDEX = "volcano.sh/task-index"
JOB_NAME = "volcano.sh/job-name"
JOB_NAMESPACE = "volcano.sh/job-namespace"
QUEUE_NAME = "volcano.sh/queue-name"
JOB_VERSION = "volcano.sh/job-version"
RETRY_COUNT = "volcano.sh/job-retry-count"
TEMPLATE = "volcano.sh/template-uid"
NUMA_POLICY = "volcano.sh/numa-topology-policy"
_UID_LENGTH = 8
_MIN_AVAILABLE, _MAX_UNAVAILABLE = "volcano.sh/jdb-min-available", "volcano.sh/jdb-max-unavailable"
#: Annotations of the Job that its pods have too, and labels likewise.
_INHERITED_ANNOTATIONS = ("volcano.sh/preemptable", "volcano.sh/cooldown-time", "volcano.sh/revocable-zone")
_INHERITED_LABELS = ("volcano.sh/preemptable", "volcano.sh/cooldown-time")


class VolcanoTask(NamedTuple):
    """A task with the defaults of Volcano's webhook."""

    name: str
    replicas: int
    #: Its entry in the group's `minTaskMember`.
    minimum: int
    #: The field of the task, such as `spec.tasks[0]`.
    path: str
    template: Mapping[str, Any]
    #: Pods per partition; 0 for no partitions.
    partition_size: int = 0
    depends_on: Sequence[str] = ()
    #: Whether one of several tasks in `depends_on` is enough.
    depends_on_any: bool = False


def tasks_of(job: WorkloadDocument) -> list[VolcanoTask]:
    """Return the tasks of a Job. Raises ObjectError for invalid fields."""
    return [_task(job, f"spec.tasks[{place}]", place) for place in range(job.length("spec.tasks"))]


def name_of(job: WorkloadDocument, place: int) -> str:
    """Return the name of a task by its place."""
    return job.text(f"spec.tasks[{place}].name") or f"default{place}"


def minimum_of(job: WorkloadDocument, path: str) -> int:
    """Return the minimum of a task: by default that of its partitions, or else all replicas."""
    size = job.count(f"{path}.partitionPolicy.partitionSize", 0)
    partitions = job.count(f"{path}.partitionPolicy.minPartitions", 0)
    return job.count(f"{path}.minAvailable", size * partitions or job.count(f"{path}.replicas", 0))


def _task(job: WorkloadDocument, path: str, place: int) -> VolcanoTask:
    size = job.count(f"{path}.partitionPolicy.partitionSize", 0)
    return VolcanoTask(
        name=name_of(job, place),
        replicas=job.count(f"{path}.replicas", 0),
        minimum=minimum_of(job, path),
        path=path,
        template=job.template(f"{path}.template"),
        partition_size=max(size, 1) if job.value(f"{path}.partitionPolicy") else 0,
        depends_on=[
            job.text(f"{path}.dependsOn.name[{number}]") for number in range(job.length(f"{path}.dependsOn.name"))
        ],
        depends_on_any=job.text(f"{path}.dependsOn.iteration") == "any",
    )


def group_name_of(job: WorkloadDocument) -> str:
    """Return the name of a Job's group. The uid of a Job in a manifest is unknown: there the group is named like it."""
    return f"{job.name}-{job.uid}" if job.uid else job.name


def queue_of(job: WorkloadDocument) -> str:
    return job.text("spec.queue") or DEFAULT_QUEUE


def claim_names(job: WorkloadDocument) -> list[str]:
    """Return the names of the claims of a Job's volumes. The controller chooses those that the Job does not name: a Job
    must not get the claim of an earlier one of its name.
    """
    prefix = "-".join(part for part in (job.name, "pvc", job.uid[:_UID_LENGTH]) if part)
    paths = (f"spec.volumes[{place}].volumeClaimName" for place in range(job.length("spec.volumes")))
    return [job.text(path) or f"{prefix}-{place}" for place, path in enumerate(paths)]


def pod_name(job: str, task: str, index: int) -> str:
    return f"{job}-{task}-{index}"


def pod_of_task(job: WorkloadDocument, task: VolcanoTask, index: int) -> dict[str, Any]:
    """Return the pod of a task with this index."""
    (pod,) = pods_of_task(job, task, (index,))
    return pod


def pods_of_task(job: WorkloadDocument, task: VolcanoTask, indices: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Yield the pods of a task with these indices. They share all parts but names, labels and annotations."""
    common = pod_document(
        job, task.template, "", labels=_labels(job, task), annotations=_annotations(job, task), spec=_spec(job, task)
    )
    metadata = common["metadata"]
    for index in indices:
        own = {TASK_INDEX: str(index)}
        partition = {PARTITION: str(index // task.partition_size)} if task.partition_size else {}
        labels, annotations = {**metadata["labels"], **own, **partition}, {**metadata["annotations"], **own}
        name = pod_name(job.name, task.name, index)
        yield {**common, "metadata": {**metadata, "name": name, "labels": labels, "annotations": annotations}}


def _labels(job: WorkloadDocument, task: VolcanoTask) -> dict[str, str]:
    own = job.labels
    return {
        JOB_NAME: job.name,
        TASK_SPEC: task.name,
        JOB_NAMESPACE: job.namespace,
        QUEUE_NAME: queue_of(job),
        **{key: own[key] for key in _INHERITED_LABELS if key in own},
    }


def _annotations(job: WorkloadDocument, task: VolcanoTask) -> dict[str, str]:
    own = job.annotations
    budget = next((key for key in (_MIN_AVAILABLE, _MAX_UNAVAILABLE) if key in own), "")
    numa = job.text(f"{task.path}.topologyPolicy")
    return {
        TASK_SPEC: task.name,
        GROUP_NAME: group_name_of(job),
        JOB_NAME: job.name,
        QUEUE_NAME: queue_of(job),
        JOB_VERSION: str(job.count("status.version", 0)),
        TEMPLATE: f"{job.name}-{task.name}",
        RETRY_COUNT: str(job.count("status.retryCount", 0)),
        **({NUMA_POLICY: numa} if numa else {}),
        **{key: own[key] for key in (*_INHERITED_ANNOTATIONS, budget) if key in own},
    }


def _spec(job: WorkloadDocument, task: VolcanoTask) -> dict[str, Any]:
    """Return the fields that a pod has from the Job: scheduler and priority class by default, and its volumes."""
    own = task.template["spec"]
    defaults = {
        "schedulerName": own.get("schedulerName") or job.text("spec.schedulerName") or VOLCANO,
        "priorityClassName": own.get("priorityClassName") or job.text("spec.priorityClassName"),
    }
    spec: dict[str, Any] = {key: value for key, value in defaults.items() if value}
    if claims := claim_names(job):
        # Names of claims may be too long for those of volumes, have dots, or be those of the template's volumes.
        names = {claim: f"job-volume-{claims.index(claim)}" for claim in claims}
        volumes = [{"name": name, "persistentVolumeClaim": {"claimName": claim}} for claim, name in names.items()]
        spec["volumes"] = [*(own.get("volumes") or ()), *volumes]
        mounts = [
            {"name": names[claim], "mountPath": job.text(f"spec.volumes[{place}].mountPath")}
            for place, claim in enumerate(claims)
        ]
        spec["containers"] = [
            {**container, "volumeMounts": [*(container.get("volumeMounts") or ()), *mounts]}
            for container in own.get("containers") or ()
        ]
    return spec
