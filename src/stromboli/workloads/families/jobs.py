"""Jobs and CronJobs of Kubernetes: the pods that run at once.

Other controllers create Jobs too; they use `pods_of_job` with the field of the Job's spec in their own object.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stromboli.workloads.cron.next_run import next_run_note
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.expansion import CreatedObject, Expansion, ExpansionContext, checked_number
from stromboli.workloads.pod_documents import owner_reference, pod_document

JOB_NAME = "batch.kubernetes.io/job-name"
CONTROLLER_UID = "batch.kubernetes.io/controller-uid"
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
_LEGACY = {JOB_NAME: "job-name", CONTROLLER_UID: "controller-uid"}


@dataclass(frozen=True, slots=True)
class JobInWorkload:
    """A Job, or the Job that a controller creates for a part of its own object."""

    name: str
    #: The field of its spec, such as `spec.jobTemplate.spec`.
    path: str = "spec"
    uid: str = ""
    #: Its annotations, which the group of its pods inherits.
    annotations: Mapping[str, str] = field(default_factory=dict)
    #: Labels, annotations and fields that its pods have besides those of the template.
    pod_labels: Mapping[str, str] = field(default_factory=dict)
    pod_annotations: Mapping[str, str] = field(default_factory=dict)
    pod_spec: Mapping[str, Any] = field(default_factory=dict)
    #: The template, if the controller changes it; else that of the field.
    template: Mapping[str, Any] | None = None
    #: The number of pods, if the controller sets it.
    number: int | None = None
    #: The default of its completion mode.
    completion_mode: str = "NonIndexed"


def expand_job(workload: WorkloadDocument, context: ExpansionContext) -> Expansion:
    job = JobInWorkload(workload.name, uid=workload.uid, annotations=workload.annotations)
    return Expansion(pods_of_job(workload, job), run_time=run_time_of_job(workload, "spec"))


def expand_cron_job(workload: WorkloadDocument, context: ExpansionContext) -> Expansion:
    """Return the pods of the next run. Its Job is named like the CronJob here; its own name has the time of its run."""
    path = "spec.jobTemplate.spec"
    job = JobInWorkload(workload.name, path, annotations=workload.texts("spec.jobTemplate.metadata.annotations"))
    pods, notes = pods_of_job(workload, job), [next_run_note(workload, context, "spec.timeZone")]
    return Expansion(pods, notes=notes, run_time=run_time_of_job(workload, path))


def run_time_of_job(workload: WorkloadDocument, path: str) -> str:
    """Return the time after which the controller ends a Job, if it has a deadline."""
    deadline = workload.count(f"{path}.activeDeadlineSeconds", 0)
    return f"{deadline}s" if deadline else ""


def pods_of_job(workload: WorkloadDocument, job: JobInWorkload) -> list[CreatedObject]:
    """Return the pods that a Job runs at once; a suspended Job is the caller's concern."""
    template = job.template or workload.template(f"{job.path}.template")
    number = number_of_pods(workload, job.path) if job.number is None else job.number
    checked_number(workload, number, f"{job.path}.parallelism")
    is_indexed = workload.text(f"{job.path}.completionMode", job.completion_mode) == "Indexed"
    return [
        CreatedObject(_pod(workload, job, template, index, is_indexed), f"{job.path}.template", job.annotations)
        for index in range(number)
    ]


def number_of_pods(workload: WorkloadDocument, path: str) -> int:
    """Return how many pods run at once: the parallelism, at most the completions that are left."""
    parallelism = workload.count(f"{path}.parallelism", 1)
    completions = workload.count(f"{path}.completions", parallelism)
    return min(parallelism, completions)


def _pod(
    workload: WorkloadDocument, job: JobInWorkload, template: Mapping[str, Any], index: int, is_indexed: bool
) -> dict[str, Any]:
    identity = {JOB_NAME: job.name, **({CONTROLLER_UID: job.uid} if job.uid else {})}
    labels = {**identity, **{_LEGACY[key]: value for key, value in identity.items()}}
    place = {COMPLETION_INDEX: str(index)} if is_indexed else {}
    spec = {**job.pod_spec, **({"hostname": f"{job.name}-{index}"} if is_indexed else {})}
    return pod_document(
        workload,
        template,
        f"{job.name}-{index}",
        labels={**job.pod_labels, **labels, **place},
        annotations={**job.pod_annotations, **place},
        spec=spec,
        owner=owner_reference("batch/v1", "Job", job.name, job.uid),
    )
