"""Rules for what makes pods: who creates a Job or a Deployment must be allowed to use the queue that its pods name.

The pods themselves are made by controllers, which may use every queue; so this is where the person is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stromboli import kube
from stromboli.admission.facts import AdmissionPolicy, Facts
from stromboli.admission.pods import GROUP_FIELD, NAMESPACE_FIELD, is_ours, scheduled_node, validate_pod
from stromboli.admission.requests import User
from stromboli.admission.tenancy import entering, prioritised, using
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
"""By group and kind, where the template of the pods is."""
VOLCANO_JOB = ("batch.volcano.sh", "Job")


@dataclass(frozen=True, slots=True)
class WorkloadTemplate:
    """Pods that will be made: how they look, where that is said, and the queue that the workload names for them."""

    pod: kube.Pod
    document: Mapping[str, Any]
    field: str
    inherited: str
    inherited_field: str


def templates_of(kind: tuple[str, str], document: Mapping[str, Any]) -> list[WorkloadTemplate]:
    """Raises ObjectError for pods that cannot be read."""
    return list(_tasks(document) if kind == VOLCANO_JOB else _single(WORKLOADS[kind], document))


def validate_workload(template: WorkloadTemplate, terms: AdmissionPolicy) -> AdmissionVerdict:
    found = validate_pod(template.pod, template.document, terms)
    faults = (Violation(f"{template.field}.{fault.words}", fault.is_forbidden, fault.queue) for fault in found.faults)
    return AdmissionVerdict(faults=tuple(faults), warnings=found.warnings)


def validate_workload_change(
    before: WorkloadTemplate | None, after: WorkloadTemplate, user: User, facts: Facts, terms: AdmissionPolicy
) -> AdmissionVerdict:
    """Whether this user may have such pods made. Nothing is asked again of a workload that stays where it was."""
    place = _place(after, facts, terms)
    if place is None or (before is not None and _place(before, facts, terms) == place):
        return GOOD
    verdict = GOOD if job_key_of(after.pod) else entering(place.queue, place.field, facts)
    field = f"{after.field}.spec.priorityClassName"
    priority = prioritised(place.priority_class, field, place.queue, user, facts, terms)
    return verdict.plus(using(place.queue, place.field, user, terms), priority)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in line the pods will be, and what says so."""

    queue: str
    field: str
    priority_class: str


def _place(template: WorkloadTemplate, facts: Facts, terms: AdmissionPolicy) -> _Place | None:
    """None for pods of others, and of a group that is not there: who makes the group is asked then."""
    pod = template.pod
    if not is_ours(pod, terms):
        return None
    queue, field = _queue(template, facts, terms)
    return _Place(queue, field, pod.spec.priority_class_name or "") if queue else None


def _queue(template: WorkloadTemplate, facts: Facts, terms: AdmissionPolicy) -> tuple[str, str]:
    pod = template.pod
    if (key := job_key_of(pod)) is not None:
        group = facts.groups.get(key)
        return queue_name_of(group, terms.default_queue) if group else "", f"{template.field}.{GROUP_FIELD}"
    told, field = scheduled_node(pod)
    if told:
        return told, f"{template.field}.{field}"
    if template.inherited:
        return template.inherited, template.inherited_field
    return facts.queue_of_namespace(pod.metadata.namespace) or terms.default_queue, NAMESPACE_FIELD


def _single(path: str, document: Mapping[str, Any]) -> Iterator[WorkloadTemplate]:
    """What the owner of the pods says holds for them, too; the owner of a CronJob's pods is a Job of its template."""
    owner, place, found = document, "", document
    for step in path.split("."):
        found = _map(found.get(step))
        if step == "jobTemplate":
            owner, place = found, "spec.jobTemplate."
    told = named_queue(_texts(_map(owner.get("metadata")).get("annotations")), {})
    yield _template(found, path, document, told, f"{place}metadata.annotations")


def _tasks(document: Mapping[str, Any]) -> Iterator[WorkloadTemplate]:
    """A Volcano Job says for all its tasks who schedules them, and in which queue they are."""
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


def _texts(value: object) -> Mapping[str, str]:
    return {key: text for key, text in _map(value).items() if isinstance(text, str)}
