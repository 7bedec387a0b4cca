"""JobSets: the Jobs that start at once, with a group for each of them as for every plain Job."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.expansion import CreatedObject, Expansion, ExpansionContext
from stromboli.workloads.families.exclusive_domains import exclusive_affinity
from stromboli.workloads.families.jobs import JobInWorkload, number_of_pods, pods_of_job, run_time_of_job
from stromboli.workloads.pod_documents import owner_of

PREFIX = "jobset.sigs.k8s.io"
#: The label of nodes whose values are domains; each Job has one to itself.
EXCLUSIVE = f"alpha.{PREFIX}/exclusive-topology"
#: With it, nodes are labeled for every Job in advance.
NODE_SELECTOR = f"alpha.{PREFIX}/node-selector"
JOB_KEY = f"{PREFIX}/job-key"
_NODES_OF_JOB, _TAINT = f"alpha.{PREFIX}/namespaced-job", f"alpha.{PREFIX}/no-schedule"


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


@dataclass(frozen=True, slots=True)
class JobSetInWorkload:
    """A JobSet, or that which a controller creates with the name of its own object."""

    workload: WorkloadDocument
    #: The field of its spec.
    path: str = "spec"
    annotations: Mapping[str, str] = field(default_factory=dict)
    #: Annotations of all pods besides those of their templates.
    pod_annotations: Mapping[str, str] = field(default_factory=dict)


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
    return ReplicatedJob(name, spec, replicas, template, pods, " and ".join(before))


def expand_replicated_jobs(job_set: JobSetInWorkload, jobs: list[ReplicatedJob]) -> Expansion:
    """Return the pods of the Jobs that wait for no others, and the claims of the JobSet."""
    workload = job_set.workload
    found = Expansion(claims=list(_claims(job_set)))
    first = 0
    for job in jobs:
        if job.waits_for:
            found.notes.append(f"the pods of {job.name} are created when {job.waits_for}")
        else:
            total = sum(each.replicas for each in jobs)
            for each in _jobs_of(job_set, job, first, total):
                found.pods += pods_of_job(workload, each)
            found.run_time = found.run_time or run_time_of_job(workload, job.path)
            topology = _exclusive(job_set, job).get(EXCLUSIVE, "")
            if topology and job.pods > 1 and NODE_SELECTOR not in _exclusive(job_set, job):
                found.notes.append(
                    f"the further pods of each Job of {job.name} are created when the first one has a node, for nodes "
                    f"with the same {topology}"
                )
        first += job.replicas
    return found


def _jobs_of(job_set: JobSetInWorkload, job: ReplicatedJob, first: int, total: int) -> Iterator[JobInWorkload]:
    """Yield the Jobs of a template; `first` is the number of Jobs of earlier templates."""
    workload = job_set.workload
    exclusive = _exclusive(job_set, job)
    for index in range(job.replicas):
        name = f"{workload.name}-{job.name}-{index}"
        keys = {
            f"{PREFIX}/jobset-name": workload.name,
            f"{PREFIX}/replicatedjob-name": job.name,
            f"{PREFIX}/replicatedjob-replicas": str(job.replicas),
            f"{PREFIX}/global-replicas": str(total),
            f"{PREFIX}/job-index": str(index),
            f"{PREFIX}/job-global-index": str(first + index),
            f"{PREFIX}/restart-attempt": "0",
            JOB_KEY: hashlib.sha1(f"{workload.namespace}/{name}".encode(), usedforsecurity=False).hexdigest(),
            **_coordinator(job_set),
        }
        waits_for_first = EXCLUSIVE in exclusive and NODE_SELECTOR not in exclusive
        yield JobInWorkload(
            name,
            job.path,
            annotations=workload.texts(f"{job.path.removesuffix('.spec')}.metadata.annotations"),
            pod_labels=keys,
            pod_annotations={**keys, **exclusive, **job_set.pod_annotations},
            pod_spec=_pod_spec(job_set, job, name, keys[JOB_KEY]),
            template=job.template,
            number=min(job.pods, 1) if waits_for_first else job.pods,
            completion_mode="Indexed",
        )


def _exclusive(job_set: JobSetInWorkload, job: ReplicatedJob) -> dict[str, str]:
    """Return the annotations about exclusive domains: those of the JobSet, then those of the Job's template."""
    of_job = job_set.workload.texts(f"{job.path.removesuffix('.spec')}.metadata.annotations")
    sources = [each for each in (job_set.annotations, of_job) if EXCLUSIVE in each]
    return {key: each[key] for each in sources for key in (EXCLUSIVE, NODE_SELECTOR) if key in each}


def _coordinator(job_set: JobSetInWorkload) -> dict[str, str]:
    """Return the key with the address of the pod that coordinates the others."""
    workload, path = job_set.workload, f"{job_set.path}.coordinator"
    if not workload.map(path):
        return {}
    numbers = [workload.count(f"{path}.{name}", 0) for name in ("jobIndex", "podIndex")]
    host = "-".join([workload.name, workload.text(f"{path}.replicatedJob"), *map(str, numbers)])
    return {f"{PREFIX}/coordinator": f"{host}.{_subdomain(job_set)}"}


def _subdomain(job_set: JobSetInWorkload) -> str:
    return job_set.workload.text(f"{job_set.path}.network.subdomain") or job_set.workload.name


def _pod_spec(job_set: JobSetInWorkload, job: ReplicatedJob, name: str, key: str) -> dict[str, Any]:
    """Return what pods have besides their template: hostnames, volumes, and the domain of their Job."""
    workload, own = job_set.workload, job.template["spec"]
    spec: dict[str, Any] = {}
    if workload.value(f"{job_set.path}.network.enableDNSHostnames") is not False:
        spec["subdomain"] = _subdomain(job_set)
    if volumes := _volumes(job_set, own):
        spec["volumes"] = [*(own.get("volumes") or ()), *volumes]
    exclusive = _exclusive(job_set, job)
    if NODE_SELECTOR in exclusive:
        tolerated = {"key": _TAINT, "operator": "Exists", "effect": "NoSchedule"}
        spec["nodeSelector"] = {**(own.get("nodeSelector") or {}), _NODES_OF_JOB: f"{workload.namespace}_{name}"}
        spec["tolerations"] = [*(own.get("tolerations") or ()), tolerated]
    elif topology := exclusive.get(EXCLUSIVE):
        spec["affinity"] = exclusive_affinity(job.template, JOB_KEY, key, topology, namespaceSelector={})
    return spec


def _claim_templates(job_set: JobSetInWorkload) -> Iterator[tuple[str, str]]:
    """Yield the field and the name of every template of claims, which all Jobs share."""
    workload, path = job_set.workload, f"{job_set.path}.volumeClaimPolicies"
    for policy in range(workload.length(path)):
        for place in range(workload.length(f"{path}[{policy}].templates")):
            template = f"{path}[{policy}].templates[{place}]"
            yield template, workload.text(f"{template}.metadata.name")


def _volumes(job_set: JobSetInWorkload, spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the volumes of the claims that a container mounts."""
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    mounted = {mount.get("name") for each in containers for mount in each.get("volumeMounts") or ()}
    return [
        {"name": name, "persistentVolumeClaim": {"claimName": f"{name}-{job_set.workload.name}"}}
        for _, name in _claim_templates(job_set)
        if name in mounted
    ]


def _claims(job_set: JobSetInWorkload) -> Iterator[CreatedObject]:
    workload = job_set.workload
    for path, name in _claim_templates(job_set):
        identity = {"name": f"{name}-{workload.name}", "namespace": workload.namespace}
        metadata = {**workload.map(f"{path}.metadata"), **identity, "ownerReferences": [owner_of(workload)]}
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata}
        yield CreatedObject({**claim, "spec": workload.map(f"{path}.spec")}, path)
