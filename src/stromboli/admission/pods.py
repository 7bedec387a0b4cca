"""Rules for pods that are ours to schedule, and for the pods that a workload is about to make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stromboli import kube
from stromboli.admission.facts import AUTHORISATION, FROZEN_FIELDS, AdmissionPolicy, Facts
from stromboli.admission.requests import User
from stromboli.admission.tenancy import entering, prioritised, using
from stromboli.admission.verdict import GOOD, AdmissionVerdict, Violation, forbidden, invalid, refused
from stromboli.cluster.objects.pod_groups.pod_groups import (
    GROUP_NAME,
    PREEMPTABLE,
    QUEUE_NAMES,
    job_key_of,
    named_queue,
    queue_name_of,
)
from stromboli.cluster.objects.pods.requests import pod_request
from stromboli.controllers.owners import inherits_annotations
from stromboli.controllers.podgroups import controlling_owner, group_name
from stromboli.core.model.resources.resources import ResourceAxis

NOBODY = (None, "", "default-scheduler")
"""The scheduler of pods that name none: an API server fills in the last of these."""
GROUP_FIELD = f"metadata.annotations[{GROUP_NAME}]"
NAMESPACE_FIELD = "metadata.namespace"
_CLASS = "spec.priorityClassName"


def is_ours(pod: kube.Pod, terms: AdmissionPolicy) -> bool:
    return pod.spec.scheduler_name in terms.scheduler_names or is_targeted(pod, terms)


def is_targeted(pod: kube.Pod, terms: AdmissionPolicy) -> bool:
    """Whether a pod names a group or a queue, and no scheduler that would read it."""
    if not terms.assigns_scheduler or pod.spec.scheduler_name not in NOBODY:
        return False
    annotations, labels = pod.metadata.annotations or {}, pod.metadata.labels or {}
    return bool(annotations.get(GROUP_NAME) or named_queue(annotations, labels))


def validate_pod(pod: kube.Pod, document: Mapping[str, Any], terms: AdmissionPolicy) -> AdmissionVerdict:
    """What is wrong with a pod, whoever asks for it; what plugins of the binder look at is the manifest."""
    if not is_ours(pod, terms):
        return GOOD
    plugins = (problem for plugin in terms.plugins for problem in plugin.validate(document))
    return _group(pod).plus(_request(pod), *(refused(Violation(problem)) for problem in plugins))


def validate_pod_change(
    before: kube.Pod | None, pod: kube.Pod, user: User, facts: Facts, terms: AdmissionPolicy
) -> AdmissionVerdict:
    """Whether this user may make the pod, or what it is out of what it was."""
    if not is_ours(pod, terms):
        return GOOD
    if before is None:
        return _owner(pod, user, terms).plus(_line(pod, user, facts, terms))
    if pod.spec.scheduler_name not in terms.scheduler_names:
        return GOOD
    verdict = GOOD
    if controlling_owner(before) != controlling_owner(pod):
        verdict = verdict.plus(_owner(pod, user, terms))
    if job_key_of(before) is None and job_key_of(pod) is not None:
        verdict = verdict.plus(_line(pod, user, facts, terms))
    if terms.checks(FROZEN_FIELDS, user):
        verdict = verdict.plus(*_changed(before, pod))
    return verdict


def scheduled_node(pod: kube.Pod) -> tuple[str, str]:
    """The queue that a pod names, and where; both empty when it names none."""
    parts = (("annotations", pod.metadata.annotations or {}), ("labels", pod.metadata.labels or {}))
    told = (
        (value, f"metadata.{part}[{key}]") for part, each in parts for key in QUEUE_NAMES if (value := each.get(key))
    )
    return next(told, ("", ""))


def _group(pod: kube.Pod) -> AdmissionVerdict:
    named = (pod.metadata.annotations or {}).get(GROUP_NAME, "")
    if "/" not in named:
        return GOOD
    message = f"{named!r} would be in another namespace; members are in the namespace of their group"
    return invalid(GROUP_FIELD, message, "name a group by its name alone")


def _request(pod: kube.Pod) -> AdmissionVerdict:
    try:
        pod_request(pod, ResourceAxis())
    except ValueError as error:
        return refused(Violation(str(error)))
    return GOOD


def _owner(pod: kube.Pod, user: User, terms: AdmissionPolicy) -> AdmissionVerdict:
    """A pod is put into the queue of its owner, so that nobody but controllers makes pods for one."""
    owner = controlling_owner(pod)
    if owner is None or not terms.checks(AUTHORISATION, user) or not inherits_annotations(owner):
        return GOOD
    message = f"pods of {owner.kind} {owner.name!r} are made by its controller"
    return forbidden("metadata.ownerReferences", message, "leave the owner out, or let the controller make the pod")


def _line(pod: kube.Pod, user: User, facts: Facts, terms: AdmissionPolicy) -> AdmissionVerdict:
    """The queue that a new pod comes into: that of its group, or the one that it names itself."""
    key, owner = job_key_of(pod), controlling_owner(pod)
    group = facts.groups.get(key or f"{pod.metadata.namespace}/{group_name(pod)}") if key or owner else None
    if group is not None:
        field = GROUP_FIELD if key else "metadata.ownerReferences"
        return _use(queue_name_of(group, terms.default_queue), field, pod, user, facts, terms)
    queue, field = scheduled_node(pod)
    if key is not None or (owner is not None and not queue):
        return GOOD
    if not queue:
        queue, field = facts.queue_of_namespace(pod.metadata.namespace) or terms.default_queue, NAMESPACE_FIELD
    return entering(queue, field, facts).plus(_use(queue, field, pod, user, facts, terms))


def _use(queue: str, field: str, pod: kube.Pod, user: User, facts: Facts, terms: AdmissionPolicy) -> AdmissionVerdict:
    name = pod.spec.priority_class_name or ""
    return using(queue, field, user, terms).plus(prioritised(name, _CLASS, queue, user, facts, terms))


def _changed(before: kube.Pod, after: kube.Pod) -> Iterator[AdmissionVerdict]:
    """A pod that has no group yet may be given one; nothing else about its place in line changes."""
    for part, keys in (
        ("annotations", (GROUP_NAME, *QUEUE_NAMES, PREEMPTABLE)),
        ("labels", (*QUEUE_NAMES, PREEMPTABLE)),
    ):
        old, new = getattr(before.metadata, part) or {}, getattr(after.metadata, part) or {}
        for key in keys:
            if old.get(key) != new.get(key) and not (key == GROUP_NAME and not old.get(key)):
                yield forbidden(f"metadata.{part}[{key}]", "cannot be changed", "make a new pod")
