"""The Jobs of a JobSet, and what their pods have besides their template: keys, hostnames, volumes, and a domain."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.expansion import CreatedObject
from stromboli.workloads.families.claim_templates import mounted_volumes
from stromboli.workloads.families.exclusive_domains import exclusive_affinity
from stromboli.workloads.families.jobs import JobInWorkload
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
    #: The group of Jobs that it belongs to.
    group: str = "default"
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


def jobs_of(job_set: JobSetInWorkload, jobs: Sequence[ReplicatedJob], job: ReplicatedJob) -> Iterator[JobInWorkload]:
    """Yield the Jobs of a template among those of all templates."""
    workload = job_set.workload
    exclusive = exclusive_annotations(job_set, job)
    for index in range(job.replicas):
        name = f"{workload.name}-{job.name}-{index}"
        keys = {**_keys(job_set, jobs, job, index), JOB_KEY: _hash(f"{workload.namespace}/{name}")}
        yield JobInWorkload(
            name,
            job.path,
            annotations=workload.texts(f"{job.path.removesuffix('.spec')}.metadata.annotations"),
            pod_labels=keys,
            pod_annotations={**keys, **exclusive, **job_set.pod_annotations},
            pod_spec=_pod_spec(job_set, job, name, keys[JOB_KEY]),
            template=job.template,
            number=min(job.pods, 1) if waits_for_first(exclusive) else job.pods,
            completion_mode="Indexed",
        )


def waits_for_first(exclusive: Mapping[str, str]) -> bool:
    """Report whether the pods of a Job are created when the first one has a node. `exclusive` are its annotations."""
    return EXCLUSIVE in exclusive and NODE_SELECTOR not in exclusive


def _keys(job_set: JobSetInWorkload, jobs: Sequence[ReplicatedJob], job: ReplicatedJob, index: int) -> dict[str, str]:
    """Return the labels, which are annotations too, of a Job and its pods: its numbers in the set and in its group."""
    earlier, group = jobs[: jobs.index(job)], [each for each in jobs if each.group == job.group]
    return {
        f"{PREFIX}/jobset-name": job_set.workload.name,
        f"{PREFIX}/replicatedjob-name": job.name,
        f"{PREFIX}/replicatedjob-replicas": str(job.replicas),
        f"{PREFIX}/job-index": str(index),
        f"{PREFIX}/global-replicas": str(_total(jobs)),
        f"{PREFIX}/job-global-index": str(_total(earlier) + index),
        f"{PREFIX}/group-name": job.group,
        f"{PREFIX}/group-replicas": str(_total(group)),
        f"{PREFIX}/job-group-index": str(_total([each for each in earlier if each.group == job.group]) + index),
        f"{PREFIX}/restart-attempt": "0",
        **_coordinator(job_set),
    }


def _total(jobs: Sequence[ReplicatedJob]) -> int:
    return sum(each.replicas for each in jobs)


def _hash(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def exclusive_annotations(job_set: JobSetInWorkload, job: ReplicatedJob) -> dict[str, str]:
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
    exclusive = exclusive_annotations(job_set, job)
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
    mounted = mounted_volumes(spec.get("containers"), spec.get("initContainers"))
    return [
        {"name": name, "persistentVolumeClaim": {"claimName": f"{name}-{job_set.workload.name}"}}
        for _, name in _claim_templates(job_set)
        if name in mounted
    ]


def claims_of_set(job_set: JobSetInWorkload) -> Iterator[CreatedObject]:
    workload = job_set.workload
    for path, name in _claim_templates(job_set):
        identity = {"name": f"{name}-{workload.name}", "namespace": workload.namespace}
        metadata = {**workload.map(f"{path}.metadata"), **identity, "ownerReferences": [owner_of(workload)]}
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata}
        yield CreatedObject({**claim, "spec": workload.map(f"{path}.spec")}, path)
