"""JobSets: the Jobs that start at once, with a group for each of them as for every plain Job."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.expansion import Expansion, ExpansionContext
from stromboli.workloads.families.jobs import JobInWorkload, number_of_pods, pods_of_job, run_time_of_job

PREFIX = "jobset.sigs.k8s.io"
EXCLUSIVE = f"alpha.{PREFIX}/exclusive-topology"


class ReplicatedJob(NamedTuple):
    """Jobs of one template in a JobSet."""

    name: str
    #: The field of the spec of its Jobs.
    path: str
    replicas: int
    template: Mapping[str, Any]
    #: Pods of every Job that run at once.
    pods: int
    #: What has to happen before its Jobs are created; empty if nothing.
    waits_for: str = ""


def expand_job_set(workload: WorkloadDocument, context: ExpansionContext) -> Expansion:
    jobs = replicated_jobs(workload, "spec")
    found = expand_replicated_jobs(workload, jobs)
    if EXCLUSIVE in workload.annotations:
        found.notes.append("its Jobs are planned without their exclusive topology")
    return found


def replicated_jobs(workload: WorkloadDocument, path: str) -> list[ReplicatedJob]:
    """Return the Jobs of the spec of a JobSet at `path`. Raises ObjectError if there are none."""
    number = workload.length(f"{path}.replicatedJobs")
    if not number:
        raise workload.error(f"{path}.replicatedJobs", "is missing", "write at least one with a template")
    in_order = workload.text(f"{path}.startupPolicy.startupPolicyOrder") == "InOrder"
    jobs: list[ReplicatedJob] = []
    for place in range(number):
        job = _replicated_job(workload, f"{path}.replicatedJobs[{place}]")
        if in_order and place and not job.waits_for:
            job = job._replace(waits_for=f"those of {jobs[-1].name} are ready")
        jobs.append(job)
    return jobs


def _replicated_job(workload: WorkloadDocument, path: str) -> ReplicatedJob:
    name = workload.text(f"{path}.name")
    if not name:
        raise workload.error(f"{path}.name", "is missing", "write the name of the Jobs")
    spec = f"{path}.template.spec"
    before = [
        f"those of {workload.text(f'{path}.dependsOn[{number}].name')} are "
        f"{workload.text(f'{path}.dependsOn[{number}].status').lower() or 'complete'}"
        for number in range(workload.length(f"{path}.dependsOn"))
    ]
    template = workload.template(f"{spec}.template")
    replicas, pods = workload.count(f"{path}.replicas", 1), number_of_pods(workload, spec)
    return ReplicatedJob(name, spec, replicas, template, pods, " and ".join(before))


def expand_replicated_jobs(
    workload: WorkloadDocument,
    jobs: list[ReplicatedJob],
    annotations: Callable[[ReplicatedJob], Mapping[str, str]] = lambda job: {},
) -> Expansion:
    """Return the pods of the Jobs that wait for no others; `annotations` are added to those of the templates."""
    found = Expansion()
    for job in jobs:
        if job.waits_for:
            found.notes.append(f"the pods of {job.name} are created when {job.waits_for}")
            continue
        for each in _jobs_of(workload, job, sum(other.replicas for other in jobs), annotations(job)):
            found.pods += pods_of_job(workload, each)
        found.run_time = found.run_time or run_time_of_job(workload, job.path)
    return found


def _jobs_of(
    workload: WorkloadDocument, job: ReplicatedJob, total: int, annotations: Mapping[str, str]
) -> Iterator[JobInWorkload]:
    outer = job.path.removesuffix(".spec")
    for index in range(job.replicas):
        keys = {
            f"{PREFIX}/jobset-name": workload.name,
            f"{PREFIX}/replicatedjob-name": job.name,
            f"{PREFIX}/replicatedjob-replicas": str(job.replicas),
            f"{PREFIX}/global-replicas": str(total),
            f"{PREFIX}/job-index": str(index),
            f"{PREFIX}/restart-attempt": "0",
        }
        yield JobInWorkload(
            f"{workload.name}-{job.name}-{index}",
            job.path,
            annotations=workload.texts(f"{outer}.metadata.annotations"),
            pod_labels=keys,
            pod_annotations={**keys, **annotations},
            template=job.template,
            number=job.pods,
        )
