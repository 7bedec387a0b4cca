"""The pods of Jobs, with the fields that the controller reads: ten thousand of them must stay small."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import msgspec

from stromboli.kube.objects.meta import Int32, TopLevel, Wire
from stromboli.kube.objects.resources import Resource
from stromboli.kube.objects.timestamps import seconds_of
from stromboli.workloads.families.volcano.tasks import JOB_NAME, JOB_VERSION, PARTITION, RETRY_COUNT, TASK_INDEX
from stromboli.workloads.pod_documents import TASK_SPEC

PENDING, RUNNING, SUCCEEDED, FAILED = "Pending", "Running", "Succeeded", "Failed"


class EndedContainer(Wire):
    """The end of a container."""

    exit_code: Int32 | None = None


class TaskContainerState(Wire):
    """The state of a container."""

    terminated: EndedContainer | None = None


class TaskContainerStatus(Wire):
    """The status of a container."""

    ready: bool | None = None
    restart_count: Int32 | None = None
    state: TaskContainerState | None = None


class TaskPodStatus(Wire):
    """The status of a pod."""

    phase: str | None = None
    container_statuses: list[TaskContainerStatus] | None = None
    init_container_statuses: list[TaskContainerStatus] | None = None


class TaskPod(TopLevel):
    """A pod of a Job."""

    kind_name: ClassVar[str] = "Pod"
    namespaced: ClassVar[bool] = True
    never_null: ClassVar[tuple[str, ...]] = ("metadata", "status")

    status: TaskPodStatus = msgspec.field(default_factory=TaskPodStatus)


TASK_PODS = Resource(TaskPod, "v1", "pods")


class JobPod(NamedTuple):
    """What decisions depend on of a pod."""

    name: str
    uid: str
    task: str
    task_index: int
    phase: str
    #: The generation of pods that it belongs to, and the number of restarts before its creation.
    version: int = 0
    retry: int = 0
    partition: str = ""
    is_terminating: bool = False
    #: Whether it runs and all its containers are ready.
    is_ready: bool = False
    #: The exit codes of its containers that have ended, and the number of their restarts.
    exit_codes: tuple[int, ...] = ()
    restarts: int = 0
    created: float = 0.0

    @property
    def is_finished(self) -> bool:
        return self.phase in (SUCCEEDED, FAILED)


def job_key_of(pod: TaskPod) -> str:
    """Return the key of the Job that a pod names; its uid may be that of an earlier Job."""
    return f"{pod.metadata.namespace}/{(pod.metadata.labels or {}).get(JOB_NAME, '')}"


def owner_uid(pod: TaskPod) -> str:
    """Return the uid of the pod's controller."""
    owners = pod.metadata.owner_references or ()
    return next((owner.uid or "" for owner in owners if owner.controller), "")


def facts_of(pod: TaskPod) -> JobPod:
    metadata, status = pod.metadata, pod.status
    labels, annotations = metadata.labels or {}, metadata.annotations or {}
    containers = status.container_statuses or []
    ended = [each.state.terminated for each in containers if each.state and each.state.terminated]
    return JobPod(
        name=metadata.name,
        uid=metadata.uid,
        task=annotations.get(TASK_SPEC) or labels.get(TASK_SPEC, ""),
        task_index=_number(labels.get(TASK_INDEX) or annotations.get(TASK_INDEX, ""), -1),
        phase=status.phase or PENDING,
        version=_number(annotations.get(JOB_VERSION, "")),
        retry=_number(annotations.get(RETRY_COUNT, "")),
        partition=labels.get(PARTITION, ""),
        is_terminating=metadata.deletion_timestamp is not None,
        is_ready=status.phase == RUNNING and all(each.ready is not False for each in containers),
        exit_codes=tuple(each.exit_code for each in ended if each.exit_code),
        restarts=sum(each.restart_count or 0 for each in (*containers, *(status.init_container_statuses or ()))),
        created=seconds_of(metadata.creation_timestamp) or 0.0,
    )


def _number(text: str, default: int = 0) -> int:
    return int(text) if text.isdecimal() and text.isascii() else default
