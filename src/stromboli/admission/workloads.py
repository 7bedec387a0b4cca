"""Rules for workloads: the creator of a Job or a Deployment must be allowed to use the queue of its pods.

The pods themselves are created by controllers, which act for many users; so the user is checked here. Controllers also
adopt pods that others created and that match the selector of the workload. Such a pod may be one of this scheduler
although the template is not, so the queues that a workload itself names are checked whatever its template is.
"""

from __future__ import annotations

from dataclasses import dataclass

from stromboli.admission.facts import AdmissionPolicy, Facts
from stromboli.admission.pods import (
    CLASS_FIELD,
    GROUP_FIELD,
    NAMESPACE_FIELD,
    check_class_before_group,
    is_ours,
    validate_pod,
)
from stromboli.admission.requests import User
from stromboli.admission.tenancy import check_access, check_leaf, check_priority_class, check_queue
from stromboli.admission.verdict import GOOD, AdmissionVerdict, Violation
from stromboli.workloads.groups import job_key_of
from stromboli.workloads.queues import DEFAULT_QUEUE, NamedQueue, queue_name_of
from stromboli.workloads.templates import WorkloadTemplate


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
    place, adopted = _place(after, facts, policy), _adopted_pods(before, after, user, policy)
    if place is None:
        return adopted.plus(_before_group(before, after, user, facts, policy))
    if before is not None and _place(before, facts, policy) == place:
        return adopted
    verdict = GOOD if place.has_group else check_queue(place.queue, place.field, facts)
    if after.has_own_group:
        verdict = verdict.plus(check_leaf(place.queue, place.field, facts))
    priority = _check_classes(place, after, user, facts, policy)
    others = (check_access(each.name, each.field, user, policy) for each in after.contradictions)
    return verdict.plus(check_access(place.queue, place.field, user, policy), *others, adopted, priority)


def _check_classes(
    place: _Place, template: WorkloadTemplate, user: User, facts: Facts, policy: AdmissionPolicy
) -> AdmissionVerdict:
    """Check the priority class of the pods, and that of the group that their controller creates."""
    field = f"{template.field}.{CLASS_FIELD}"
    own = check_priority_class(place.priority_class, field, place.queue, user, facts, policy)
    return own.plus(
        check_priority_class(place.group_class, template.group_class_field, place.queue, user, facts, policy)
    )


def _adopted_pods(
    before: WorkloadTemplate | None, after: WorkloadTemplate, user: User, policy: AdmissionPolicy
) -> AdmissionVerdict:
    """Check the queues that a workload names for pods that it adopts."""
    if before is not None and before.of_owner == after.of_owner:
        return GOOD
    return GOOD.plus(*(check_access(each.name, each.field, user, policy) for each in after.of_owner))


def _before_group(
    before: WorkloadTemplate | None, after: WorkloadTemplate, user: User, facts: Facts, policy: AdmissionPolicy
) -> AdmissionVerdict:
    """Check the priority class of pods whose group does not exist yet."""
    key = _awaited_group(after, policy)
    if key is None or (before is not None and _awaited(before, policy) == _awaited(after, policy)):
        return GOOD
    return check_class_before_group(after.pod, key, user, facts, policy, field=f"{after.field}.{CLASS_FIELD}")


def _awaited(template: WorkloadTemplate, policy: AdmissionPolicy) -> tuple[str | None, str | None]:
    return _awaited_group(template, policy), template.pod.spec.priority_class_name


def _awaited_group(template: WorkloadTemplate, policy: AdmissionPolicy) -> str | None:
    """The group that pods of this scheduler name."""
    is_member = not template.has_own_group and is_ours(template.pod, policy)
    return job_key_of(template.pod) if is_member else None


@dataclass(frozen=True, slots=True)
class _Place:
    """Queue and priority class of the pods, the field that names the queue, and whether it is that of a group."""

    queue: str
    field: str
    priority_class: str
    has_group: bool
    #: The priority class of a group that the controller of the workload creates.
    group_class: str = ""
    contradictions: tuple[NamedQueue, ...] = ()


def _place(template: WorkloadTemplate, facts: Facts, policy: AdmissionPolicy) -> _Place | None:
    """None for pods of other schedulers, and for a group that does not exist yet: its creator is checked instead. The
    default of a CRD counts as no queue, as for groups.
    """
    pod = template.pod
    if not template.has_own_group and not is_ours(pod, policy):
        return None
    priority, key = pod.spec.priority_class_name or "", None if template.has_own_group else job_key_of(pod)
    if key is not None:
        group = facts.groups.get(key)
        if group is None:
            return None
        return _Place(queue_name_of(group, policy.default_queue), f"{template.field}.{GROUP_FIELD}", priority, True)
    named, queue = template.queue, facts.queue_of_namespace(pod.metadata.namespace)
    is_default = template.has_own_group and named.name in (DEFAULT_QUEUE, policy.default_queue)
    if named.name and not (queue and is_default):
        return _Place(named.name, named.field, priority, False, template.group_class, template.contradictions)
    return _Place(queue or policy.default_queue, NAMESPACE_FIELD, priority, False, template.group_class)
