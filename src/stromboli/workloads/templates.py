"""The pods that a workload creates: their template, and the queue and priority class that they get from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stromboli import kube
from stromboli.kube.manifests.errors import ObjectError
from stromboli.kube.objects.kinds import as_type
from stromboli.kube.objects.meta import OwnerReference
from stromboli.workloads.queues import NamedQueue, queue_of_group, queue_of_pod, queues_in

Kind = tuple[str, str]
"""API group and kind."""
VOLCANO_JOB: Kind = ("batch.volcano.sh", "Job")


@dataclass(frozen=True, slots=True)
class WorkloadKind:
    """A kind whose controller creates pods."""

    #: Path of the pod template.
    template: str = "spec.template"
    #: Path of the object whose annotations the group of the pods inherits; empty for the workload itself.
    owner: str = ""
    inherits: bool = True


WORKLOADS: Mapping[Kind, WorkloadKind] = {
    ("apps", "Deployment"): WorkloadKind(),
    ("apps", "ReplicaSet"): WorkloadKind(),
    ("apps", "StatefulSet"): WorkloadKind(),
    ("apps", "DaemonSet"): WorkloadKind(),
    ("batch", "Job"): WorkloadKind(),
    ("batch", "CronJob"): WorkloadKind("spec.jobTemplate.spec.template", "spec.jobTemplate"),
    ("", "ReplicationController"): WorkloadKind(inherits=False),
}


@dataclass(frozen=True, slots=True)
class WorkloadTemplate:
    """A pod template with its field in the workload, and the queue of its pods."""

    pod: kube.Pod
    document: Mapping[str, Any]
    field: str
    #: The queue that the workload or the template names, with the field in the workload.
    queue: NamedQueue
    #: Whether the pods are members of a group that the workload's controller creates.
    has_own_group: bool = False
    #: The priority class of that group, with the field in the workload.
    group_class: str = ""
    group_class_field: str = "spec.priorityClassName"
    #: Queues that the workload names for its pods, also for pods of other templates that its controller adopts.
    of_owner: tuple[NamedQueue, ...] = ()
    #: Queues that workload and template name besides; none of them counts.
    contradictions: tuple[NamedQueue, ...] = ()


def kind_of(owner: OwnerReference) -> Kind:
    group, _, _ = (owner.api_version or "").rpartition("/")
    return group, owner.kind or ""


def is_workload(kind: Kind) -> bool:
    """Report whether pods of such an owner get their queue and priority class from it."""
    return kind in WORKLOADS or kind == VOLCANO_JOB


def templates_of(kind: Kind, document: Mapping[str, Any]) -> list[WorkloadTemplate]:
    """Return the pod templates of a workload. Raises ObjectError for an invalid template."""
    return list(_tasks(document) if kind == VOLCANO_JOB else _single(WORKLOADS[kind], document))


def _single(kind: WorkloadKind, document: Mapping[str, Any]) -> Iterator[WorkloadTemplate]:
    manifest = _manifest(_at(document, kind.template), document)
    pod = _pod(manifest, kind.template)
    owner = _entries(_at(document, kind.owner), "annotations")
    queue = queue_of_pod(pod, owner if kind.inherits else {})
    place = kind.owner if queue.is_inherited else kind.template
    own = queues_in(pod.metadata.annotations or {}, pod.metadata.labels or {})
    inherited = tuple(_below(kind.owner, each) for each in queues_in(owner, {}))
    every = (*(_below(kind.template, each) for each in own), *inherited)
    others = tuple(each for each in every if each.name != queue.name)
    yield WorkloadTemplate(
        pod, manifest, kind.template, _below(place, queue),
        of_owner=inherited if kind.inherits else (), contradictions=others,
    )  # fmt: skip


def _tasks(document: Mapping[str, Any]) -> Iterator[WorkloadTemplate]:
    """A Volcano Job's group has the queue, annotations and labels of the Job; its tasks have defaults from it. A Job
    without tasks has one template all the same: it names a queue.
    """
    spec, metadata = _map(document.get("spec")), document
    named = spec.get("queue")
    queue = queue_of_group(
        named if isinstance(named, str) else "", _entries(metadata, "annotations"), _entries(metadata, "labels")
    )
    tasks, group_class = spec.get("tasks"), spec.get("priorityClassName")
    for place, task in enumerate(tasks if isinstance(tasks, list) and tasks else [{}]):
        template = _map(_map(task).get("template"))
        own = {key: value for key, value in _map(template.get("spec")).items() if value}
        defaults = {key: spec.get(key) for key in ("schedulerName", "priorityClassName")}
        manifest = _manifest({**template, "spec": {**defaults, **own}}, document)
        field = f"spec.tasks[{place}].template"
        yield WorkloadTemplate(
            _pod(manifest, field),
            manifest,
            field,
            queue,
            has_own_group=True,
            group_class=group_class if isinstance(group_class, str) else "",
        )


def _pod(manifest: Mapping[str, Any], field: str) -> kube.Pod:
    """Return the pod of a template in a field. Raises ObjectError."""
    try:
        return as_type(manifest, kube.Pod)
    except ObjectError as error:
        place = f"{field}.{error.field}" if error.field else field
        raise ObjectError(error.kind, error.name, place, error.message, error.remedy) from None


def _manifest(template: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
    metadata = _map(document.get("metadata"))
    namespace = {"namespace": metadata["namespace"]} if "namespace" in metadata else {}
    return {**template, "metadata": {**_map(template.get("metadata")), **namespace}}


def _below(place: str, queue: NamedQueue) -> NamedQueue:
    return queue._replace(field=f"{place}.{queue.field}") if place and queue.field else queue


def _at(document: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    for step in path.split(".") if path else ():
        document = _map(document.get(step))
    return document


def _entries(document: Mapping[str, Any], part: str) -> dict[str, str]:
    entries = _map(_map(document.get("metadata")).get(part))
    return {key: text for key, text in entries.items() if isinstance(text, str)}


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
