"""Rules for PodGroups of both kinds: validity, queue, priority class, and immutable fields."""

from __future__ import annotations

from collections.abc import Iterator

from stromboli import kube
from stromboli.admission.facts import FROZEN_FIELDS, AdmissionPolicy, Facts
from stromboli.admission.requests import User
from stromboli.admission.tenancy import check_access, check_priority_class, check_queue
from stromboli.admission.verdict import GOOD, AdmissionVerdict, Violation, forbidden, invalid, refused, warned
from stromboli.cluster.objects.pod_groups.pod_groups import PREEMPTABLE, job_spec
from stromboli.cluster.objects.priority_classes import Priorities
from stromboli.core.model.resources.resources import ResourceAxis
from stromboli.kube.objects import volcano
from stromboli.workloads.queues import queue_name_of

_CLASS = "spec.priorityClassName"
#: Priority classes that every cluster has.
_STANDARD_CLASSES = ("system-cluster-critical", "system-node-critical")


def validate_pod_group(group: kube.PodGroup, facts: Facts, policy: AdmissionPolicy) -> AdmissionVerdict:
    """Validate a group, independent of the user."""
    constraints = (_topology(place, constraint) for place, constraint in _network_topologies(group.spec))
    return _readable(group, policy).plus(*constraints, _minimums(group.spec), _class(group, facts))


def validate_pod_group_change(
    before: kube.PodGroup | None, group: kube.PodGroup, user: User, facts: Facts, policy: AdmissionPolicy
) -> AdmissionVerdict:
    """Check whether the user may create the group, or change it from `before`."""
    queue, verdict = queue_name_of(group, policy.default_queue), GOOD
    if before is None or queue_name_of(before, policy.default_queue) != queue:
        verdict = verdict.plus(check_queue(queue, "spec.queue", facts), check_access(queue, "spec.queue", user, policy))
    if before is None or before.spec.priority_class_name != group.spec.priority_class_name:
        name = group.spec.priority_class_name or ""
        verdict = verdict.plus(check_priority_class(name, _CLASS, queue, user, facts, policy))
    if before is not None and policy.checks(FROZEN_FIELDS, user):
        verdict = verdict.plus(*_changed(before, group, policy))
    return verdict


def _readable(group: kube.PodGroup, policy: AdmissionPolicy) -> AdmissionVerdict:
    """Validate the group with the scheduler's own decoder."""
    fault = job_spec(group, ResourceAxis(), Priorities({}), policy.default_queue).fault
    return refused(Violation(fault.removeprefix(f"PodGroup {group.key}: "))) if fault else GOOD


def _network_topologies(spec: volcano.PodGroupSpec) -> Iterator[tuple[str, volcano.KubeNetworkTopology]]:
    if spec.network_topology is not None:
        yield "spec.networkTopology", spec.network_topology
    for place, policy in enumerate(spec.sub_group_policy or ()):
        if policy.network_topology is not None:
            yield f"spec.subGroupPolicy[{place}].networkTopology", policy.network_topology


def _topology(field: str, constraint: volcano.KubeNetworkTopology) -> AdmissionVerdict:
    """Validate the topology; Stromboli's CRD does this too, older ones of Volcano do not."""
    if constraint.highest_tier_allowed is not None and constraint.highest_tier_name:
        return invalid(
            field, "both a tier number and a tier name are set", "keep highestTierAllowed or highestTierName, not both"
        )
    return GOOD


def _minimums(spec: volcano.PodGroupSpec) -> AdmissionVerdict:
    """Check that minMember is consistent with the minimums of sub-groups and roles."""
    minimum, verdict = spec.min_member or 0, GOOD
    needed = sum((policy.min_sub_groups or 0) * (policy.sub_group_size or 1) for policy in spec.sub_group_policy or ())
    if 0 < minimum < needed:
        verdict = invalid(
            "spec.minMember",
            f"is {minimum}, but the sub-groups need {needed} members",
            f"write {needed}, or lower the minimums of sub-groups",
        )
    for place, policy in enumerate(spec.sub_group_policy or ()):
        if policy.min_sub_groups and not policy.match_label_keys:
            field = f"spec.subGroupPolicy[{place}].minSubGroups"
            remedy = "name the labels that distinguish sub-groups in matchLabelKeys"
            verdict = verdict.plus(invalid(field, "no sub-group can exist", remedy))
    roles = sum((spec.min_task_member or {}).values())
    if roles and roles > minimum:
        message = f"the minimums of roles add up to {roles}; they apply only if spec.minMember is at least as large"
        verdict = verdict.plus(warned(f"spec.minTaskMember: {message}"))
    return verdict


def _class(group: kube.PodGroup, facts: Facts) -> AdmissionVerdict:
    name = group.spec.priority_class_name
    if not name or name in facts.priority_classes or name in _STANDARD_CLASSES:
        return GOOD
    return warned(f"{_CLASS}: priority class {name!r} does not exist yet; the default priority applies")


def _changed(before: kube.PodGroup, after: kube.PodGroup, policy: AdmissionPolicy) -> Iterator[AdmissionVerdict]:
    """Reject changes of fields that determine order and preemption."""
    for field, one, other in (
        ("spec.queue", queue_name_of(before, policy.default_queue), queue_name_of(after, policy.default_queue)),
        ("spec.minMember", before.spec.min_member or 0, after.spec.min_member or 0),
        ("spec.minTaskMember", before.spec.min_task_member or {}, after.spec.min_task_member or {}),
        ("spec.networkTopology", before.spec.network_topology, after.spec.network_topology),
        ("spec.subGroupPolicy", before.spec.sub_group_policy or [], after.spec.sub_group_policy or []),
        (f"metadata.annotations[{PREEMPTABLE}]", _preemptable(before), _preemptable(after)),
    ):
        if one != other:
            yield forbidden(field, "is immutable", "create a new group, or let its controller change it")


def _preemptable(group: kube.PodGroup) -> str:
    annotations, labels = group.metadata.annotations or {}, group.metadata.labels or {}
    return annotations.get(PREEMPTABLE) or labels.get(PREEMPTABLE) or ""
