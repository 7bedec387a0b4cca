"""Rules for workloads: the creator of a Job or a Deployment must be allowed to use the queue that its pods name.

The pods themselves are created by controllers, which may use every queue; so the user is checked here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stromboli import kube
from stromboli.admission.facts import AdmissionPolicy, Facts
from stromboli.admission.pods import GROUP_FIELD, NAMESPACE_FIELD, is_ours, queue_and_field, validate_pod
from stromboli.admission.requests import User
from stromboli.admission.tenancy import check_access, check_priority_class, check_queue
from stromboli.admission.verdict import GOOD, AdmissionVerdict, Violation
from stromboli.cluster.objects.pod_groups.pod_groups import job_key_of, named_queue, queue_name_of
from stromboli.kube.objects.kinds import as_type

WORKLOADS = {
    ("apps", "Deployment"): "spec.template",
    ("apps", "ReplicaSet"): "spec.template",
    ("apps", "StatefulSet"): "spec.template",
    ("apps", "DaemonSet"): "spec.template",
    ("batch", "Job"): "spec.template",
    ("batch", "CronJob"): "spec.jobTemplate.spec.template",
}
"""The path of the pod template, by group and kind."""
VOLCANO_JOB = ("batch.volcano.sh", "Job")


@dataclass(frozen=True, slots=True)
class WorkloadTemplate:
    """A pod template: its pod, its field, and the queue that the pods inherit from the workload."""

    pod: kube.Pod
    document: Mapping[str, Any]
    field: str
    inherited: str
    inherited_field: str


def templates_of(kind: tuple[str, str], document: Mapping[str, Any]) -> list[WorkloadTemplate]:
    """Return the pod templates of a workload. Raises ObjectError for an invalid template."""
    return list(_tasks(document) if kind == VOLCANO_JOB else _single(WORKLOADS[kind], document))


def validate_workload(template: WorkloadTemplate, policy: AdmissionPolicy) -> AdmissionVerdict:
    found = validate_pod(template.pod, template.document, policy)
    violations = (
        Violation(f"{template.field}.{violation.message}", violation.is_forbidden, violation.queue)
        for violation in found.violations
    )
    return AdmissionVerdict(violations=tuple(violations), warnings=found.warnings)


def validate_workload_change(
    before: WorkloadTemplate | None, after: WorkloadTemplate, user: User, facts: Facts, policy: AdmissionPolicy
) -> AdmissionVerdict:
    """Check whether the user may create such pods; an unchanged queue and priority class is not checked again."""
    place = _place(after, facts, policy)
    if place is None or (before is not None and _place(before, facts, policy) == place):
        return GOOD
    verdict = GOOD if job_key_of(after.pod) else check_queue(place.queue, place.field, facts)
    field = f"{after.field}.spec.priorityClassName"
    priority = check_priority_class(place.priority_class, field, place.queue, user, facts, policy)
    return verdict.plus(check_access(place.queue, place.field, user, policy), priority)


@dataclass(frozen=True, slots=True)
class _Place:
    """Queue and priority class of the pods, and the field that names the queue."""

    queue: str
    field: str
    priority_class: str


def _place(template: WorkloadTemplate, facts: Facts, policy: AdmissionPolicy) -> _Place | None:
    """None for pods of other schedulers, and for a group that does not exist yet: its creator is checked instead."""
    pod = template.pod
    if not is_ours(pod, policy):
        return None
    queue, field = _queue(template, facts, policy)
    return _Place(queue, field, pod.spec.priority_class_name or "") if queue else None


def _queue(template: WorkloadTemplate, facts: Facts, policy: AdmissionPolicy) -> tuple[str, str]:
    pod = template.pod
    if (key := job_key_of(pod)) is not None:
        group = facts.groups.get(key)
        return queue_name_of(group, policy.default_queue) if group else "", f"{template.field}.{GROUP_FIELD}"
    named, field = queue_and_field(pod)
    if named:
        return named, f"{template.field}.{field}"
    if template.inherited:
        return template.inherited, template.inherited_field
    return facts.queue_of_namespace(pod.metadata.namespace) or policy.default_queue, NAMESPACE_FIELD


def _single(path: str, document: Mapping[str, Any]) -> Iterator[WorkloadTemplate]:
    """Pods inherit the queue of their owner; the owner of a CronJob's pods is a Job of its template."""
    owner, place, found = document, "", document
    for step in path.split("."):
        found = _map(found.get(step))
        if step == "jobTemplate":
            owner, place = found, "spec.jobTemplate."
    annotations = _map(_map(owner.get("metadata")).get("annotations"))
    named = named_queue({key: text for key, text in annotations.items() if isinstance(text, str)}, {})
    yield _template(found, path, document, named, f"{place}metadata.annotations")


def _tasks(document: Mapping[str, Any]) -> Iterator[WorkloadTemplate]:
    """A Volcano Job sets scheduler and queue for all its tasks."""
    spec = _map(document.get("spec"))
    tasks, scheduler = spec.get("tasks"), {"schedulerName": spec.get("schedulerName")}
    for place, task in enumerate(tasks if isinstance(tasks, list) else ()):
        template = _map(_map(task).get("template"))
        priority = {"priorityClassName": spec.get("priorityClassName")}
        merged = {**template, "spec": {**priority, **_map(template.get("spec")), **scheduler}}
        yield _template(merged, f"spec.tasks[{place}].template", document, str(spec.get("queue") or ""), "spec.queue")


def _template(
    found: Mapping[str, Any], field: str, document: Mapping[str, Any], inherited: str, inherited_field: str
) -> WorkloadTemplate:
    metadata = _map(document.get("metadata"))
    namespace = {"namespace": metadata["namespace"]} if "namespace" in metadata else {}
    manifest = {**found, "metadata": {**_map(found.get("metadata")), **namespace}}
    return WorkloadTemplate(as_type(manifest, kube.Pod), manifest, field, inherited, inherited_field)


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
