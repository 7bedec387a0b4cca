"""Volcano's Jobs, the JobFlows and CronJobs that create them, and the Commands that act on Jobs and queues."""

from typing import Any, ClassVar

import msgspec

from stromboli.kube.objects.event import ObjectReference
from stromboli.kube.objects.meta import Int32, OwnerReference, TopLevel, Wire

BATCH_GROUP = "batch.volcano.sh"
BUS_GROUP = "bus.volcano.sh"
FLOW_GROUP = "flow.volcano.sh"


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


class JobFlowState(Wire):
    """The phase of a flow."""

    phase: str | None = None


class FlowJobHistory(Wire):
    """A phase that a Job of a flow had, with its times."""

    start_timestamp: str | None = None
    end_timestamp: str | None = None
    state: str | None = None


class FlowJobStatus(Wire):
    """A Job of a flow: its phase, its times, and the phases that it had."""

    name: str | None = None
    state: str | None = None
    start_timestamp: str | None = None
    end_timestamp: str | None = None
    restart_count: Int32 | None = None
    running_histories: list[FlowJobHistory] | None = None


class FlowJobCondition(Wire):
    """The present state of a Job of a flow."""

    phase: str | None = None
    create_time: str | None = None
    running_duration: str | None = None
    task_status_count: dict[str, VolcanoTaskState] | None = None


class JobFlowStatus(Wire):
    """The phase of a flow, and its Jobs: the names by phase, and the history of each."""

    state: JobFlowState = msgspec.field(default_factory=JobFlowState)
    pending_jobs: list[str] | None = None
    running_jobs: list[str] | None = None
    failed_jobs: list[str] | None = None
    completed_jobs: list[str] | None = None
    terminated_jobs: list[str] | None = None
    #: Jobs without a phase, under Volcano's spelling.
    un_know_jobs: list[str] | None = None
    job_status_list: list[FlowJobStatus] | None = None
    #: By name of the Job.
    conditions: dict[str, FlowJobCondition] | None = None


class JobFlow(TopLevel):
    """Jobs from templates, created in the order of their dependencies. The spec is not decoded, as that of Jobs."""

    kind_name: ClassVar[str] = "JobFlow"
    group: ClassVar[str] = FLOW_GROUP
    namespaced: ClassVar[bool] = True
    never_null: ClassVar[tuple[str, ...]] = ("metadata", "status")

    spec: dict[str, Any] = msgspec.field(default_factory=dict)
    status: JobFlowStatus = msgspec.field(default_factory=JobFlowStatus)


class JobTemplateStatus(Wire):
    """The Jobs that were created from a template."""

    job_depends_on_list: list[str] | None = None


class JobTemplate(TopLevel):
    """The spec of Jobs, for flows to name."""

    kind_name: ClassVar[str] = "JobTemplate"
    group: ClassVar[str] = FLOW_GROUP
    namespaced: ClassVar[bool] = True
    never_null: ClassVar[tuple[str, ...]] = ("metadata", "status")

    spec: dict[str, Any] = msgspec.field(default_factory=dict)
    status: JobTemplateStatus = msgspec.field(default_factory=JobTemplateStatus)


class VolcanoCronJobStatus(Wire):
    """The Jobs that have not ended, and the times of the last run and the last success."""

    active: list[ObjectReference] | None = None
    last_schedule_time: str | None = None
    last_successful_time: str | None = None


class VolcanoCronJob(TopLevel):
    """Creates Jobs at the times of a schedule. The spec is not decoded, as that of Jobs."""

    kind_name: ClassVar[str] = "CronJob"
    group: ClassVar[str] = BATCH_GROUP
    namespaced: ClassVar[bool] = True
    never_null: ClassVar[tuple[str, ...]] = ("metadata", "status")

    spec: dict[str, Any] = msgspec.field(default_factory=dict)
    status: VolcanoCronJobStatus = msgspec.field(default_factory=VolcanoCronJobStatus)


class VolcanoCommand(TopLevel):
    """An action to perform once on a Job or a queue of the namespace; taking it up deletes the Command."""

    kind_name: ClassVar[str] = "Command"
    group: ClassVar[str] = BUS_GROUP
    namespaced: ClassVar[bool] = True

    action: str | None = None
    target: OwnerReference | None = None
    reason: str | None = None
    message: str | None = None
