"""JobSets: the Jobs that start at once, with a group for each of them as for every plain Job."""

from __future__ import annotations

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.expansion import Expansion, ExpansionContext
from stromboli.workloads.families.jobs import number_of_pods, pods_of_job, run_time_of_job
from stromboli.workloads.families.jobset_pods import (
    EXCLUSIVE,
    JobSetInWorkload,
    ReplicatedJob,
    claims_of_set,
    exclusive_annotations,
    jobs_of,
    waits_for_first,
)


def expand_job_set(workload: WorkloadDocument, context: ExpansionContext) -> Expansion:
    jobs = replicated_jobs(workload, "spec")
    found = expand_replicated_jobs(JobSetInWorkload(workload, annotations=workload.annotations), jobs)
    if workload.map("spec.scheduling"):
        found.notes.append("its native PodGroups, which spec.scheduling describes, are not planned")
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
    group = workload.text(f"{path}.groupName", "default")
    return ReplicatedJob(name, spec, replicas, template, pods, group, " and ".join(before))


def expand_replicated_jobs(job_set: JobSetInWorkload, jobs: list[ReplicatedJob]) -> Expansion:
    """Return the pods of the Jobs that wait for no others, and the claims of the JobSet."""
    found = Expansion(claims=list(claims_of_set(job_set)))
    for job in jobs:
        if job.waits_for:
            found.notes.append(f"the pods of {job.name} are created when {job.waits_for}")
            continue
        for each in jobs_of(job_set, jobs, job):
            found.pods += pods_of_job(job_set.workload, each)
        found.run_time = found.run_time or run_time_of_job(job_set.workload, job.path)
        exclusive = exclusive_annotations(job_set, job)
        if job.pods > 1 and waits_for_first(exclusive):
            found.notes.append(
                f"the further pods of each Job of {job.name} are created when the first one has a node, for nodes "
                f"with the same {exclusive[EXCLUSIVE]}"
            )
    return found
