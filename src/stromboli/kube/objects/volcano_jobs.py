"""Volcano's Jobs, and the Commands that act on Jobs and queues."""

from typing import Any, ClassVar

import msgspec

from stromboli.kube.objects.meta import Int32, OwnerReference, TopLevel, Wire

BATCH_GROUP = "batch.volcano.sh"
BUS_GROUP = "bus.volcano.sh"


class VolcanoJobState(Wire):
    """The phase of a Job, and why it has it."""

    phase: str | None = None
    reason: str | None = None
    message: str | None = None
    last_transition_time: str | None = None


class VolcanoJobCondition(Wire):
    """A phase that the Job had, and since when."""

    #: A phase.
    status: str | None = None
    last_transition_time: str | None = None
    reason: str | None = None
    message: str | None = None


class VolcanoTaskState(Wire):
    """The number of a task's pods per phase."""

    phase: dict[str, Int32] | None = None


class VolcanoJobStatus(Wire):
    """Phase, counts of pods, generation of the pods, and the objects that were created for the Job."""

    state: VolcanoJobState = msgspec.field(default_factory=VolcanoJobState)
    min_available: Int32 | None = None
    task_status_count: dict[str, VolcanoTaskState] | None = None
    pending: Int32 | None = None
    running: Int32 | None = None
    succeeded: Int32 | None = None
    failed: Int32 | None = None
    terminating: Int32 | None = None
    unknown: Int32 | None = None
    version: Int32 | None = None
    retry_count: Int32 | None = None
    #: A duration in Go's format, such as 1m30s.
    running_duration: str | None = None
    controlled_resources: dict[str, str] | None = None
    conditions: list[VolcanoJobCondition] | None = None


class VolcanoJob(TopLevel):
    """A Job of tasks. The spec is not decoded: templates must keep every field, and a WorkloadDocument reports wrong
    types with the field and a remedy, so that a bad Job can be read and gets a condition.
    """

    kind_name: ClassVar[str] = "Job"
    group: ClassVar[str] = BATCH_GROUP
    namespaced: ClassVar[bool] = True
    never_null: ClassVar[tuple[str, ...]] = ("metadata", "status")

    spec: dict[str, Any] = msgspec.field(default_factory=dict)
    status: VolcanoJobStatus = msgspec.field(default_factory=VolcanoJobStatus)


class VolcanoCommand(TopLevel):
    """An action to perform once on a Job or a queue of the namespace; taking it up deletes the Command."""

    kind_name: ClassVar[str] = "Command"
    group: ClassVar[str] = BUS_GROUP
    namespaced: ClassVar[bool] = True

    action: str | None = None
    target: OwnerReference | None = None
    reason: str | None = None
    message: str | None = None
