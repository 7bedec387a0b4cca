"""A Volcano Job: its PodGroup, the claims of its volumes, and the pods of tasks that depend on no other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.expansion import CreatedObject, Expansion, ExpansionContext, checked_number
from stromboli.workloads.families.volcano.groups import group_of, min_available
from stromboli.workloads.families.volcano.tasks import VolcanoTask, claim_names, pod_of_task, tasks_of
from stromboli.workloads.pod_documents import owner_of

_MESSAGE = "minimum {} is above the {} replicas"


def expand_volcano_job(job: WorkloadDocument, context: ExpansionContext) -> Expansion:
    tasks = tasks_of(job)
    check_tasks(job, tasks)
    later = [task for task in tasks if task.depends_on]
    return Expansion(
        pods=[
            CreatedObject(pod_of_task(job, task, index), f"{task.path}.template")
            for task in tasks
            if task not in later
            for index in range(task.replicas)
        ],
        groups=[CreatedObject(group_of(job, context.priority_of))],
        claims=list(claims_of(job)),
        notes=[f"the pods of task {task.name} are created when {_condition(task)}" for task in later],
        run_time=job.text("spec.runningEstimate"),
    )


def _condition(task: VolcanoTask) -> str:
    names = (" or " if task.depends_on_any else " and ").join(task.depends_on)
    return (
        f"{'task' if len(task.depends_on) == 1 else 'tasks'} {names} {'runs' if len(task.depends_on) == 1 else 'run'}"
    )


def check_tasks(job: WorkloadDocument, tasks: Sequence[VolcanoTask]) -> None:
    """Reject what Volcano's webhook rejects and no plan could satisfy."""
    if not tasks:
        raise job.error("spec.tasks", "is missing", "write at least one task with a template")
    names: dict[str, VolcanoTask] = {}
    for task in tasks:
        if task.name in names:
            raise job.error(f"{task.path}.name", f"task {task.name} exists already", "rename one of them")
        names[task.name] = task
        if task.minimum > task.replicas:
            path = f"{task.path}.minAvailable"
            raise job.error(
                path, _MESSAGE.format(task.minimum, task.replicas), "write at most the replicas of the task"
            )
    for task in tasks:
        if missing := next((name for name in task.depends_on if name not in names), ""):
            raise job.error(f"{task.path}.dependsOn.name", f"task {missing} does not exist", "name a task of this job")
    total = checked_number(job, sum(task.replicas for task in tasks), "spec.tasks")
    if min_available(job, tasks) > total:
        message = _MESSAGE.format(min_available(job, tasks), total)
        raise job.error("spec.minAvailable", message, "write at most the replicas of all tasks")


def claims_of(job: WorkloadDocument) -> Iterator[CreatedObject]:
    """The claims that the controller creates if they do not exist: of volumes with a template."""
    for place, name in enumerate(claim_names(job)):
        path = f"spec.volumes[{place}]"
        if spec := job.map(f"{path}.volumeClaim"):
            metadata = {"name": name, "namespace": job.namespace, "ownerReferences": [owner_of(job)]}
            claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": dict(spec)}
            yield CreatedObject(claim, f"{path}.volumeClaim")
