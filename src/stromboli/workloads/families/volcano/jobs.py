"""A Volcano Job: its PodGroup, the claims of its volumes, and the pods of tasks that depend on no other."""

from __future__ import annotations

from collections.abc import Iterator

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.expansion import CreatedObject, Expansion, ExpansionContext, checked_number
from stromboli.workloads.families.volcano.groups import group_of
from stromboli.workloads.families.volcano.rules.findings import raise_first
from stromboli.workloads.families.volcano.rules.jobs import job_findings
from stromboli.workloads.families.volcano.tasks import VolcanoTask, claim_names, tasks_of
from stromboli.workloads.pod_documents import owner_of


def expand_volcano_job(job: WorkloadDocument, context: ExpansionContext) -> Expansion:
    changes = context.job_plugins(job)
    raise_first(job, [*job_findings(job), *changes.findings])
    tasks = tasks_of(job)
    checked_number(job, sum(task.replicas for task in tasks), "spec.tasks")
    later = [task for task in tasks if task.depends_on]
    return Expansion(
        pods=[
            CreatedObject(pod, f"{task.path}.template")
            for task in tasks
            if task not in later
            for pod in changes.pods_of(job, task, range(task.replicas))
        ],
        groups=[CreatedObject(group_of(job, context.priority_of))],
        claims=list(claims_of(job)),
        notes=[
            *(f"the pods of task {task.name} are created when {_condition(task)}" for task in later),
            *(f"its plugin {name} is not installed here; its changes of pods are left out" for name in changes.unknown),
        ],
        run_time=job.text("spec.runningEstimate"),
    )


def _condition(task: VolcanoTask) -> str:
    names = (" or " if task.depends_on_any else " and ").join(task.depends_on)
    return (
        f"{'task' if len(task.depends_on) == 1 else 'tasks'} {names} {'runs' if len(task.depends_on) == 1 else 'run'}"
    )


def claims_of(job: WorkloadDocument) -> Iterator[CreatedObject]:
    """The claims that the controller creates if they do not exist: of volumes with a template."""
    for place, name in enumerate(claim_names(job)):
        path = f"spec.volumes[{place}]"
        if spec := job.map(f"{path}.volumeClaim"):
            metadata = {"name": name, "namespace": job.namespace, "ownerReferences": [owner_of(job)]}
            claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": dict(spec)}
            yield CreatedObject(claim, f"{path}.volumeClaim")
