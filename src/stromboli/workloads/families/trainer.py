"""TrainJobs of Kubeflow Trainer v2: the JobSet of a runtime, and a PodGroup if the runtime has a policy for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.expansion import CreatedObject, Expansion, ExpansionContext
from stromboli.workloads.families.jobset_pods import JobSetInWorkload, ReplicatedJob
from stromboli.workloads.families.jobsets import expand_replicated_jobs, replicated_jobs
from stromboli.workloads.families.pod_patches import merged
from stromboli.workloads.group_documents import group_document
from stromboli.workloads.groups import GROUP_NAME
from stromboli.workloads.min_resources import Members, total_request
from stromboli.workloads.pod_documents import owner_of
from stromboli.workloads.queues import QUEUE_NAMES
from stromboli.workloads.templates import Kind

GROUP = "trainer.kubeflow.org"
RUNTIME: Kind = (GROUP, "TrainingRuntime")
CLUSTER_RUNTIME: Kind = (GROUP, "ClusterTrainingRuntime")
#: The label of the Job whose pods are the nodes of the training, and the container that the TrainJob changes.
_STEP, _TRAINER, _CONTAINER = f"{GROUP}/trainjob-ancestor-step", "trainer", "node"
_MPI, _NODES = "spec.mlPolicy.mpi", "spec.trainer.numNodes"
#: Fields of overrides that matter to placement; maps and lists are added to those of the template.
_OVERRIDDEN = (
    "nodeSelector",
    "affinity",
    "tolerations",
    "schedulingGates",
    "volumes",
    "priorityClassName",
    "schedulerName",
)


def expand_train_job(job: WorkloadDocument, context: ExpansionContext) -> Expansion:
    runtime = _runtime_of(job, context)
    jobs = [_adapted(job, runtime, each) for each in replicated_jobs(runtime, "spec.template.spec")]
    is_grouped = runtime.value("spec.podGroupPolicy.volcano") is not None
    created = _as_created_by(job, runtime, jobs, {GROUP_NAME: job.name} if is_grouped else {})
    if is_grouped:
        created.groups.append(CreatedObject(_group(job, runtime, jobs)))
    return created


def _runtime_of(job: WorkloadDocument, context: ExpansionContext) -> WorkloadDocument:
    kind = job.text("spec.runtimeRef.kind", CLUSTER_RUNTIME[1])
    if (GROUP, kind) not in (RUNTIME, CLUSTER_RUNTIME):
        message = f"{kind} is not a kind of runtime"
        raise job.error("spec.runtimeRef.kind", message, f"write {RUNTIME[1]} or {CLUSTER_RUNTIME[1]}")
    name, is_namespaced = job.text("spec.runtimeRef.name"), kind == RUNTIME[1]
    return context.reference(job, "spec.runtimeRef.name", (GROUP, kind), name, is_namespaced=is_namespaced)


def _adapted(job: WorkloadDocument, runtime: WorkloadDocument, each: ReplicatedJob) -> ReplicatedJob:
    """Return a Job of the runtime with what the TrainJob changes."""
    labels = runtime.texts(f"{each.path.removesuffix('.spec')}.metadata.labels")
    is_mpi, is_node = runtime.value(_MPI) is not None, each.name == _CONTAINER
    is_trainer = labels.get(_STEP, _TRAINER if is_node and not is_mpi else "") == _TRAINER
    template = _patched(job, each, _overridden(job, each.name, each.template))
    if is_trainer or (is_node and runtime.flag(f"{_MPI}.runLauncherAsNode")):
        template = _with_resources(job, template)
    return each._replace(pods=_nodes(job, runtime, each, is_trainer=is_trainer), template=template)


def _nodes(job: WorkloadDocument, runtime: WorkloadDocument, each: ReplicatedJob, *, is_trainer: bool) -> int:
    """Return the number of pods of a Job. With MPI, the Job with the name node has the nodes that the TrainJob sets,
    less one if the launcher is a node.
    """
    own = runtime.count("spec.mlPolicy.numNodes", each.pods) if is_trainer else each.pods
    is_mpi = runtime.value(_MPI) is not None
    if job.value(_NODES) is None or not (each.name == _CONTAINER if is_mpi else is_trainer):
        return own
    nodes = job.count(_NODES, own)
    return max(nodes - 1, 1) if is_mpi and runtime.flag(f"{_MPI}.runLauncherAsNode") else nodes


def _with_resources(job: WorkloadDocument, template: Mapping[str, Any]) -> Mapping[str, Any]:
    amounts = job.map("spec.trainer.resourcesPerNode")
    if not amounts:
        return template
    containers = [
        {**each, "resources": _merged(each.get("resources"), amounts)} if each.get("name") == _CONTAINER else each
        for each in template["spec"].get("containers") or ()
    ]
    return {**template, "spec": {**template["spec"], "containers": containers}}


def _overridden(job: WorkloadDocument, name: str, template: Mapping[str, Any]) -> Mapping[str, Any]:
    """Apply the overrides of the TrainJob for the Job with this name, later ones over earlier ones."""
    spec = dict(template["spec"])
    for place in range(job.length("spec.podTemplateOverrides")):
        path = f"spec.podTemplateOverrides[{place}]"
        targets = [job.text(f"{path}.targetJobs[{each}].name") for each in range(job.length(f"{path}.targetJobs"))]
        if targets and name not in targets:
            continue
        changes = job.map(f"{path}.spec")
        for field in _OVERRIDDEN:
            if (value := changes.get(field)) is not None:
                spec[field] = _merged(spec.get(field), value)
    return {**template, "spec": spec}


def _patched(job: WorkloadDocument, each: ReplicatedJob, template: Mapping[str, Any]) -> Mapping[str, Any]:
    """Apply the patches of the TrainJob for a Job of the runtime, one after the other."""
    for place in range(job.length("spec.runtimePatches")):
        jobs = f"spec.runtimePatches[{place}].trainingRuntimeSpec.template.spec.replicatedJobs"
        for number in range(job.length(jobs)):
            if job.text(f"{jobs}[{number}].name") == each.name:
                path = f"{jobs}[{number}].template.spec.template"
                patch = {key: job.map(f"{path}.{key}") for key in ("metadata", "spec")}
                template = merged(template, patch)
                job.check_template(template, path)
    return template


def _merged(own: Any, other: Any) -> Any:
    if isinstance(own, Mapping) and isinstance(other, Mapping):
        return {**own, **{key: _merged(own.get(key), value) for key, value in other.items()}}
    if isinstance(own, list) and isinstance(other, list):
        return [*own, *other]
    return other


def _as_created_by(
    job: WorkloadDocument, runtime: WorkloadDocument, jobs: list[ReplicatedJob], annotations: Mapping[str, str]
) -> Expansion:
    """Expand the runtime under the name of the TrainJob; fields of the runtime are not fields of the TrainJob."""
    metadata = {**(job.document.get("metadata") or {}), "name": job.name}
    document = WorkloadDocument({**runtime.document, "metadata": metadata})
    of_set = {**runtime.texts("spec.template.metadata.annotations"), **job.texts("spec.annotations")}
    job_set = JobSetInWorkload(document, "spec.template.spec", of_set, annotations)
    created = expand_replicated_jobs(job_set, jobs)
    for objects in (created.pods, created.claims):
        objects[:] = [each._replace(field="") for each in objects]
    deadline = job.count("spec.activeDeadlineSeconds", 0)
    created.run_time = f"{deadline}s" if deadline else created.run_time
    return created


def _group(job: WorkloadDocument, runtime: WorkloadDocument, jobs: list[ReplicatedJob]) -> dict[str, Any]:
    members = [Members(each.template, each.pods * each.replicas) for each in jobs]
    classes = (each.template["spec"].get("priorityClassName") or "" for each in jobs)
    spec = {
        "minMember": sum(each.number for each in members),
        "minResources": total_request(members),
        "queue": job.annotations.get(QUEUE_NAMES[0], ""),
        "priorityClassName": next(filter(None, classes), ""),
        "networkTopology": runtime.map("spec.podGroupPolicy.volcano.networkTopology"),
    }
    return group_document(job, job.name, spec, owner=owner_of(job))
