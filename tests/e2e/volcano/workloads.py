"""The objects of a workload."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.workloads.groups import GROUP_NAME
from tests.e2e.volcano.cases import Task, Workload

Document = dict[str, Any]

#: Label of all pods of a workload, and of a task.
WORKLOAD, TASK = "test/workload", "test/task"
_ROLE = "volcano.sh/task-spec"
_MINIMUM = "scheduling.volcano.sh/group-min-member"
_QUEUE = "scheduling.volcano.sh/queue-name"
_OWNERS = {"Job": "batch/v1", "Deployment": "apps/v1", "StatefulSet": "apps/v1", "ReplicaSet": "apps/v1"}


def documents(workload: Workload) -> Iterator[Document]:
    """All objects of a workload, in the order in which they are created."""
    if workload.kind in ("Gang", "Replicas"):
        yield _pod_group(workload)
    if workload.kind in ("Gang", "Pods"):
        yield from _bare_pods(workload)
    elif workload.kind == "Replicas":
        yield _owner(workload, "ReplicaSet")
    else:
        yield _owner(workload, workload.kind)


def _tasks(workload: Workload) -> Mapping[str, Task]:
    return workload.tasks or {"": workload}


def _pod_group(workload: Workload) -> Document:
    members = sum(task.pods for task in _tasks(workload).values())
    minimum = members if workload.minimum is None else workload.minimum
    spec: Document = {"minMember": minimum, "minResources": _min_resources(workload, minimum)}
    if workload.queue:
        spec["queue"] = workload.queue
    if workload.priority:
        spec["priorityClassName"] = workload.priority
    metadata = {"name": workload.name, "annotations": workload.group_annotations}
    kind = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup"}
    return {**kind, "metadata": metadata, "spec": _present(spec | workload.group)}


def _min_resources(workload: Workload, minimum: int) -> Document | None:
    """What the first pods request, as Volcano's controller computes it."""
    total: dict[str, int] = {}
    requests = [task.requests for task in _tasks(workload).values() for _ in range(task.pods)]
    for request in requests[:minimum]:
        for name, amount in request.items():
            total[name] = total.get(name, 0) + parse_quantity(amount, milli=name == "cpu")
    return {name: f"{amount}m" if name == "cpu" else str(amount) for name, amount in total.items()} or None


def _bare_pods(workload: Workload) -> Iterator[Document]:
    for role, task in _tasks(workload).items():
        for place in range(task.pods):
            name = "-".join(part for part in (workload.name, role, str(place)) if part)
            template = _template(workload, task, role)
            metadata = {**template["metadata"], "name": name}
            yield {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def _owner(workload: Workload, kind: str) -> Document:
    template = _template(workload, workload, "")
    annotations = {} if workload.minimum is None else {_MINIMUM: str(workload.minimum)}
    spec: Document = {"template": template}
    if kind == "Job":
        spec |= {"parallelism": workload.pods, "completions": workload.pods}
    else:
        template["spec"].pop("restartPolicy")
        spec |= {"replicas": workload.pods, "selector": {"matchLabels": {WORKLOAD: workload.name}}}
    metadata = {"name": workload.name, "annotations": annotations}
    return {"apiVersion": _OWNERS[kind], "kind": kind, "metadata": metadata, "spec": spec | workload.owner}


def _template(workload: Workload, task: Task, role: str) -> Document:
    annotations = dict(task.annotations)
    if workload.kind in ("Gang", "Replicas"):
        annotations[GROUP_NAME] = workload.name
    elif workload.queue:
        annotations[_QUEUE] = workload.queue
    if role:
        annotations[_ROLE] = role
    labels = {**task.labels, WORKLOAD: workload.name, **({TASK: role} if role else {})}
    # Extended resources need a limit.
    limits = {name: amount for name, amount in task.requests.items() if "/" in name}
    resources = {"requests": task.requests, "limits": limits}
    container: Document = {"name": "main", "image": "example/main", "resources": resources}
    if task.command:
        container["command"] = ["sh", "-c", task.command]
    spec: Document = {"schedulerName": "volcano", "restartPolicy": task.restart, "containers": [container]}
    if workload.priority:
        spec["priorityClassName"] = workload.priority
    return {"metadata": {"labels": labels, "annotations": annotations}, "spec": spec | task.spec}


def _present(fields: Document) -> Document:
    return {name: value for name, value in fields.items() if value is not None}
