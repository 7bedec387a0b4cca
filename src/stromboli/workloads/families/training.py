"""Kubeflow's Training Operator v1: PyTorchJob, TFJob, XGBoostJob, PaddleJob, JAXJob, MPIJob v1, and MXJob until 1.8."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.expansion import Expander, Expansion, ExpansionContext
from stromboli.workloads.gangs import OperatorGang, Role, expand_gang
from stromboli.workloads.queues import DEFAULT_QUEUE

LABELS = "training.kubeflow.org"
ASSUMES = "that the operator creates with --gang-scheduler-name=volcano"
#: Roles whose first pod has the label of the master.
_MASTERS = ("master", "chief")


class TrainingKind(NamedTuple):
    #: The field of its replicas by role, and the roles in the order of their pods.
    replicas: str
    roles: tuple[str, ...]
    operator: str


TRAINING_KINDS: Mapping[str, TrainingKind] = {
    "PyTorchJob": TrainingKind("pytorchReplicaSpecs", ("Master", "Worker"), "pytorchjob-controller"),
    "TFJob": TrainingKind("tfReplicaSpecs", ("Chief", "Master", "PS", "Worker", "Evaluator"), "tfjob-controller"),
    "XGBoostJob": TrainingKind("xgbReplicaSpecs", ("Master", "Worker"), "xgboostjob-controller"),
    "PaddleJob": TrainingKind("paddleReplicaSpecs", ("Master", "Worker"), "paddlejob-controller"),
    "JAXJob": TrainingKind("jaxReplicaSpecs", ("Worker",), "jaxjob-controller"),
    "MXJob": TrainingKind("mxReplicaSpecs", ("Scheduler", "Server", "Worker"), "mxjob-controller"),
    "MPIJob": TrainingKind("mpiReplicaSpecs", ("Launcher", "Worker"), "mpijob-controller"),
}


def expander_of(kind: str) -> Expander:
    described = TRAINING_KINDS[kind]

    def expand(job: WorkloadDocument, context: ExpansionContext) -> Expansion:
        return expand_gang(_gang(job, described), context)

    return expand


def _gang(job: WorkloadDocument, kind: TrainingKind) -> OperatorGang:
    policy = "spec.runPolicy.schedulingPolicy"
    roles = roles_of(job, f"spec.{kind.replicas}", kind.roles)

    def labels(role: Role, index: int) -> dict[str, str]:
        own = "launcher" if role.name == "launcher" else "master" if role.name in _MASTERS else ""
        return {
            f"{LABELS}/job-name": job.name,
            f"{LABELS}/operator-name": kind.operator,
            f"{LABELS}/replica-type": role.name,
            f"{LABELS}/replica-index": str(index),
            **({f"{LABELS}/job-role": own} if own else {}),
        }

    return OperatorGang(
        job,
        [_with_init_container(job, role, roles) for role in roles],
        group=job.name,
        minimum=None if job.value(f"{policy}.minAvailable") is None else job.count(f"{policy}.minAvailable", 0),
        queue=job.text(f"{policy}.queue") or DEFAULT_QUEUE,
        priority_class=job.text(f"{policy}.priorityClass"),
        min_resources=job.map(f"{policy}.minResources") or None,
        group_annotations=job.annotations,
        pod_name=_pod_name,
        pod_labels=labels,
        run_time=deadline_of(job),
    )


def roles_of(job: WorkloadDocument, path: str, known: tuple[str, ...]) -> list[Role]:
    """Return the roles of a map of replica specs, known ones first. Raises ObjectError if there is none."""
    names = sorted(job.map(path), key=lambda name: (known.index(name) if name in known else len(known), name))
    if not names:
        raise job.error(path, "is missing", f"write replicas and template of {' and '.join(known[-2:])}")
    return [_role(job, f"{path}.{name}", name.lower()) for name in names]


def _role(job: WorkloadDocument, path: str, name: str) -> Role:
    template = f"{path}.template"
    return Role(name, job.count(f"{path}.replicas", 1), template, job.template(template))


def deadline_of(job: WorkloadDocument) -> str:
    deadline = job.count("spec.runPolicy.activeDeadlineSeconds", 0)
    return f"{deadline}s" if deadline else ""


def _pod_name(job: WorkloadDocument, role: Role, index: int) -> str:
    return f"{job.name}-launcher" if role.name == "launcher" else f"{job.name}-{role.name}-{index}"


def _with_init_container(job: WorkloadDocument, role: Role, roles: list[Role]) -> Role:
    """Workers of a PyTorchJob wait for the master in an init container."""
    if job.kind[1] != "PyTorchJob" or role.name != "worker" or all(each.name != "master" for each in roles):
        return role
    amounts = {"requests": {"cpu": "50m", "memory": "10Mi"}, "limits": {"cpu": "100m", "memory": "20Mi"}}
    waiting: dict[str, Any] = {"name": "init-pytorch", "image": "alpine:3.10", "resources": amounts}
    return role._replace(spec={"initContainers": [*(role.template["spec"].get("initContainers") or ()), waiting]})
