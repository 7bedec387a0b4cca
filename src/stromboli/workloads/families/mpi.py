"""MPIJobs: those of the MPI Operator (v2beta1), and of the Training Operator (v1)."""

from __future__ import annotations

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.expansion import Expansion, ExpansionContext
from stromboli.workloads.families.jobs import JOB_NAME
from stromboli.workloads.families.training import LABELS, deadline_of, expander_of, roles_of
from stromboli.workloads.gangs import OperatorGang, Role, expand_gang
from stromboli.workloads.pod_documents import owner_reference
from stromboli.workloads.queues import QUEUE_NAMES

_expand_v1 = expander_of("MPIJob")
ASSUMES = "that the operator creates with --gang-scheduling=volcano (v2beta1) or --gang-scheduler-name=volcano (v1)"


def expand_mpi_job(job: WorkloadDocument, context: ExpansionContext) -> Expansion:
    is_v1 = job.text("apiVersion").endswith("/v1")
    return _expand_v1(job, context) if is_v1 else expand_gang_of_jobs(job, context)


def expand_gang_of_jobs(job: WorkloadDocument, context: ExpansionContext) -> Expansion:
    """The launcher is the pod of a Job, and belongs to the group like the workers."""
    roles = {role.name: role for role in roles_of(job, "spec.mpiReplicaSpecs", ("Launcher", "Worker"))}
    if "launcher" not in roles:
        raise job.error("spec.mpiReplicaSpecs.Launcher", "is missing", "write replicas and template of Launcher")
    roles["launcher"] = roles["launcher"]._replace(number=1, is_later=_waits_for_workers(job))
    launched = expand_gang(_gang(job, list(roles.values())), context)
    owner = owner_reference("batch/v1", "Job", f"{job.name}-launcher")
    for created in launched.pods:
        if created.field.startswith("spec.mpiReplicaSpecs.Launcher."):
            created.document["metadata"]["ownerReferences"] = [owner]
    if roles["launcher"].is_later:
        launched.notes.append("its launcher is created when all workers are ready")
    return launched


def _waits_for_workers(job: WorkloadDocument) -> bool:
    return job.text("spec.launcherCreationPolicy") == "WaitForWorkersReady"


def _gang(job: WorkloadDocument, roles: list[Role]) -> OperatorGang:
    policy = "spec.runPolicy.schedulingPolicy"
    minimum = job.count(f"{policy}.minAvailable", sum(role.number for role in roles))
    templates = (role.template["spec"].get("priorityClassName") or "" for role in roles)
    return OperatorGang(
        job,
        roles,
        group=job.name,
        minimum=minimum,
        queue=job.text(f"{policy}.queue") or job.annotations.get(QUEUE_NAMES[0], ""),
        priority_class=job.text(f"{policy}.priorityClass") or next(filter(None, templates), ""),
        min_resources=job.map(f"{policy}.minResources") or None,
        sets_scheduler=True,
        names_roles=False,
        pod_labels=lambda role, index: _labels(job, role, index),
        run_time=deadline_of(job),
    )


def _labels(job: WorkloadDocument, role: Role, index: int) -> dict[str, str]:
    is_launcher = role.name == "launcher"
    own = {JOB_NAME: f"{job.name}-launcher"} if is_launcher else {}
    is_worker = job.flag("spec.runLauncherAsWorker")
    if is_worker or not is_launcher:
        own[f"{LABELS}/replica-index"] = str(index + (is_worker and not is_launcher))
    return {
        f"{LABELS}/job-name": job.name,
        f"{LABELS}/job-role": role.name,
        f"{LABELS}/operator-name": "mpi-operator",
        **own,
    }
