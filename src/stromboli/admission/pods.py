"""Rules for pods of this scheduler, and for the pod templates of workloads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stromboli import kube
from stromboli.admission.facts import AUTHORISATION, FROZEN_FIELDS, AdmissionPolicy, Facts
from stromboli.admission.requests import User
from stromboli.admission.tenancy import check_access, check_priority_class, check_queue
from stromboli.admission.verdict import GOOD, AdmissionVerdict, Violation, forbidden, invalid, refused
from stromboli.cluster.objects.pod_groups.pod_groups import PREEMPTABLE
from stromboli.cluster.objects.priority_classes import TASK_PRIORITY, task_priority_problem
from stromboli.core.model.devices.gpu_fractions import CONTAINER, FRACTION, MEMORY, NUMBER
from stromboli.core.model.devices.shared_devices import ASSIGNMENTS
from stromboli.core.model.nodes.numa import PROCESSORS
from stromboli.core.model.resources.resources import ResourceAxis
from stromboli.workloads.groups import GROUP_NAME, controlling_owner, group_name, job_key_of
from stromboli.workloads.queues import QUEUE_NAMES, named_queue, queue_name_of, queue_of_pod
from stromboli.workloads.requests import pod_request
from stromboli.workloads.templates import is_workload, kind_of

NO_SCHEDULER = (None, "", "default-scheduler")
"""Scheduler names of pods without one: the API server sets the last of these."""
GROUP_FIELD = f"metadata.annotations[{GROUP_NAME}]"
NAMESPACE_FIELD = "metadata.namespace"
CLASS_FIELD = "spec.priorityClassName"
#: What a pod requests of shared devices, and which of them and which CPUs it was given: the scheduler counts a running
#: pod by these, so a smaller value would give its devices to others as well.
DEVICES = (FRACTION, MEMORY, NUMBER, CONTAINER, *ASSIGNMENTS, PROCESSORS)


def is_ours(pod: kube.Pod, policy: AdmissionPolicy) -> bool:
    return pod.spec.scheduler_name in policy.scheduler_names or is_targeted(pod, policy)


def is_targeted(pod: kube.Pod, policy: AdmissionPolicy) -> bool:
    """Report whether a pod without scheduler name has a group or a queue."""
    if not policy.assigns_scheduler or pod.spec.scheduler_name not in NO_SCHEDULER:
        return False
    annotations, labels = pod.metadata.annotations or {}, pod.metadata.labels or {}
    return bool(annotations.get(GROUP_NAME) or named_queue(annotations, labels))


def validate_pod(pod: kube.Pod, document: Mapping[str, Any], policy: AdmissionPolicy) -> AdmissionVerdict:
    """Validate a pod, independent of the user; binder plugins validate the manifest."""
    if not is_ours(pod, policy):
        return GOOD
    plugins = (problem for plugin in policy.plugins for problem in plugin.validate(document))
    return _group(pod).plus(_task_priority(pod), _request(pod), *(refused(Violation(problem)) for problem in plugins))


def validate_pod_change(
    before: kube.Pod | None, pod: kube.Pod, user: User, facts: Facts, policy: AdmissionPolicy
) -> AdmissionVerdict:
    """Check whether the user may create the pod, or change it from `before`."""
    if not is_ours(pod, policy):
        return GOOD
    if before is None:
        return _owner(pod, user, policy).plus(_check_queue_of(pod, user, facts, policy))
    if pod.spec.scheduler_name not in policy.scheduler_names:
        return GOOD
    verdict = GOOD
    if controlling_owner(before) != controlling_owner(pod):
        verdict = verdict.plus(_owner(pod, user, policy), _adoption(pod, user, facts, policy))
    if job_key_of(before) is None and (job_key_of(pod) or _is_moved(before, pod, user, policy)):
        verdict = verdict.plus(_check_queue_of(pod, user, facts, policy))
    if policy.checks(FROZEN_FIELDS, user):
        verdict = verdict.plus(*_changed(before, pod))
    return verdict


def _group(pod: kube.Pod) -> AdmissionVerdict:
    named = (pod.metadata.annotations or {}).get(GROUP_NAME, "")
    if "/" not in named:
        return GOOD
    message = f"{named!r} is in another namespace; a pod and its group must share a namespace"
    return invalid(GROUP_FIELD, message, "write the name of the group alone")


def _task_priority(pod: kube.Pod) -> AdmissionVerdict:
    text = (pod.metadata.annotations or {}).get(TASK_PRIORITY)
    problem = "" if text is None else task_priority_problem(text)
    return refused(Violation(f"{problem}; write such a number, or remove it")) if problem else GOOD


def _request(pod: kube.Pod) -> AdmissionVerdict:
    try:
        pod_request(pod, ResourceAxis())
    except ValueError as error:
        return refused(Violation(str(error)))
    return GOOD


def _owner(pod: kube.Pod, user: User, policy: AdmissionPolicy) -> AdmissionVerdict:
    """A pod inherits the queue of its owner, so only controllers may create pods with an owner."""
    owner = controlling_owner(pod)
    if owner is None or not policy.checks(AUTHORISATION, user) or not is_workload(kind_of(owner)):
        return GOOD
    message = f"pods of {owner.kind} {owner.name!r} are created by its controller"
    return forbidden(
        "metadata.ownerReferences", message, "remove the owner reference, or let the controller create the pod"
    )


def _is_moved(before: kube.Pod, pod: kube.Pod, user: User, policy: AdmissionPolicy) -> bool:
    """Report whether a user gives a pod another owner, or none: its group, and so its queue, may be another then."""
    return group_name(before) != group_name(pod) and not policy.is_controller(user)


def _adoption(pod: kube.Pod, user: User, facts: Facts, policy: AdmissionPolicy) -> AdmissionVerdict:
    """A controller adopts a pod that a user created: without a group it gets the queue of its new owner, for which its
    priority class was not checked. Controllers try again when the pod has a group.
    """
    owner = controlling_owner(pod)
    if owner is None or not policy.is_controller(user) or not is_workload(kind_of(owner)):
        return GOOD
    if job_key_of(pod) is not None:
        return GOOD
    key, as_user = f"{pod.metadata.namespace}/{group_name(pod)}", policy.without_controllers()
    if (group := facts.groups.get(key)) is None:
        return check_class_before_group(pod, key, user, facts, as_user)
    queue = queue_name_of(group, policy.default_queue)
    return check_priority_class(pod.spec.priority_class_name or "", CLASS_FIELD, queue, user, facts, as_user)


def _check_queue_of(pod: kube.Pod, user: User, facts: Facts, policy: AdmissionPolicy) -> AdmissionVerdict:
    """Check the queue of a new pod: that of its group, or the one that it names."""
    key, owner = job_key_of(pod), controlling_owner(pod)
    group = facts.groups.get(key or f"{pod.metadata.namespace}/{group_name(pod)}") if key or owner else None
    if group is not None:
        field = GROUP_FIELD if key else "metadata.ownerReferences"
        return _use(queue_name_of(group, policy.default_queue), field, pod, user, facts, policy)
    if key is not None:
        return check_class_before_group(pod, key, user, facts, policy)
    queue, field, _ = queue_of_pod(pod, {})
    if owner is not None and not queue and is_workload(kind_of(owner)):
        return GOOD
    if not queue:
        queue, field = facts.queue_of_namespace(pod.metadata.namespace) or policy.default_queue, NAMESPACE_FIELD
    return check_queue(queue, field, facts).plus(_use(queue, field, pod, user, facts, policy))


def check_class_before_group(
    pod: kube.Pod, key: str, user: User, facts: Facts, policy: AdmissionPolicy, *, field: str = CLASS_FIELD
) -> AdmissionVerdict:
    """The queue of a pod whose group does not exist yet is unknown: its class must be allowed in every queue."""
    name = pod.spec.priority_class_name or ""
    for queue in sorted(facts.queues):
        if not check_priority_class(name, field, queue, user, facts, policy).is_allowed:
            message = f"priority class {name!r} is not allowed in every queue, and PodGroup {key} does not exist yet"
            violation = f"{field}: {message}; create the group before its pods"
            return refused(Violation(violation, is_forbidden=True, group=key))
    return GOOD


def _use(queue: str, field: str, pod: kube.Pod, user: User, facts: Facts, policy: AdmissionPolicy) -> AdmissionVerdict:
    name = pod.spec.priority_class_name or ""
    return check_access(queue, field, user, policy).plus(
        check_priority_class(name, CLASS_FIELD, queue, user, facts, policy)
    )


def _changed(before: kube.Pod, after: kube.Pod) -> Iterator[AdmissionVerdict]:
    """A pod without group may be added to one; other scheduling metadata is immutable."""
    for part, keys in (
        ("annotations", (GROUP_NAME, *QUEUE_NAMES, PREEMPTABLE, *DEVICES)),
        ("labels", (*QUEUE_NAMES, PREEMPTABLE)),
    ):
        old, new = getattr(before.metadata, part) or {}, getattr(after.metadata, part) or {}
        for key in keys:
            if old.get(key) != new.get(key) and not (key == GROUP_NAME and not old.get(key)):
                yield forbidden(f"metadata.{part}[{key}]", "is immutable", "create a new pod")
