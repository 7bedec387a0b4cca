"""The spec of a Job with its defaults and the policies, read once per change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stromboli.controllers.jobs.plugins.plugin import JobPlugin
from stromboli.controllers.jobs.plugins.registry import installed_plugins
from stromboli.controllers.jobs.policies import LifecyclePolicy, policies_of
from stromboli.kube.objects.volcano_jobs import VolcanoJob
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.groups import min_available
from stromboli.workloads.families.volcano.rules.findings import raise_first
from stromboli.workloads.families.volcano.rules.jobs import job_findings
from stromboli.workloads.families.volcano.tasks import VolcanoTask, tasks_of

_DEFAULT_MAX_RETRY = 3


@dataclass(frozen=True, slots=True)
class JobSpecification:
    """What the controller needs of a spec."""

    tasks: Sequence[VolcanoTask]
    min_available: int
    min_success: int | None
    max_retry: int
    #: Seconds after its end when the Job is deleted; None for never.
    ttl: int | None
    policies: Sequence[LifecyclePolicy]
    #: By task.
    task_policies: Mapping[str, Sequence[LifecyclePolicy]]
    #: The restarts of containers that a task may have; None for any number.
    task_max_retry: Mapping[str, int | None]
    plugins: Sequence[JobPlugin] = ()

    @property
    def replicas(self) -> int:
        return sum(task.replicas for task in self.tasks)

    def task(self, name: str) -> VolcanoTask | None:
        return next((task for task in self.tasks if task.name == name), None)


def document_of(job: VolcanoJob) -> WorkloadDocument:
    """Return a Job as the functions read it that make its PodGroup and pods."""
    metadata, status = job.metadata, job.status
    return WorkloadDocument(
        {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": {
                "name": metadata.name,
                "namespace": metadata.namespace,
                "uid": metadata.uid,
                "labels": metadata.labels or {},
                "annotations": metadata.annotations or {},
            },
            "spec": job.spec,
            "status": {"version": status.version or 0, "retryCount": status.retry_count or 0},
        }
    )


def specification_of(job: WorkloadDocument) -> JobSpecification:
    """Read the spec of a Job. Raises ObjectError or PluginArgumentError."""
    plugins = installed_plugins()
    raise_first(job, job_findings(job, (plugins.findings,)))
    tasks = tasks_of(job)
    return JobSpecification(
        tasks=tasks,
        min_available=min_available(job, tasks),
        min_success=_optional(job, "spec.minSuccess"),
        max_retry=job.count("spec.maxRetry", _DEFAULT_MAX_RETRY),
        ttl=_optional(job, "spec.ttlSecondsAfterFinished"),
        policies=policies_of(job, "spec.policies"),
        task_policies={task.name: policies_of(job, f"{task.path}.policies") for task in tasks},
        task_max_retry={task.name: _task_max_retry(job, task) for task in tasks},
        plugins=plugins.of(job),
    )


def _optional(job: WorkloadDocument, path: str) -> int | None:
    return None if job.value(path) is None else job.count(path, 0)


def _task_max_retry(job: WorkloadDocument, task: VolcanoTask) -> int | None:
    path = f"{task.path}.maxRetry"
    value: Any = job.value(path)
    return None if value == -1 else job.count(path, _DEFAULT_MAX_RETRY)
