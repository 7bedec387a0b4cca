"""Rules for PodGroups of both kinds: what no group can be, where it may wait, and what stays as it was."""

from __future__ import annotations

from collections.abc import Iterator

from stromboli import kube
from stromboli.admission.facts import FROZEN_FIELDS, AdmissionPolicy, Facts
from stromboli.admission.requests import User
from stromboli.admission.tenancy import entering, prioritised, using
from stromboli.admission.verdict import GOOD, AdmissionVerdict, Violation, forbidden, invalid, refused, warned
from stromboli.cluster.objects.pod_groups.pod_groups import PREEMPTABLE, Priorities, job_spec, queue_name_of
from stromboli.core.model.resources.resources import ResourceAxis
from stromboli.kube.objects import volcano

_CLASS = "spec.priorityClassName"
#: Every cluster has these.
_STANDARD_CLASSES = ("system-cluster-critical", "system-node-critical")


def validate_pod_group(group: kube.PodGroup, facts: Facts, terms: AdmissionPolicy) -> AdmissionVerdict:
    """What is wrong with a group, whoever asks for it."""
    wishes = (_topology(place, wish) for place, wish in _wishes(group.spec))
    return _readable(group, terms).plus(*wishes, _sums(group.spec), _class(group, facts))


def validate_pod_group_change(
    before: kube.PodGroup | None, group: kube.PodGroup, user: User, facts: Facts, terms: AdmissionPolicy
) -> AdmissionVerdict:
    """Whether this user may make the group, or what it is out of what it was."""
    queue, verdict = queue_name_of(group, terms.default_queue), GOOD
    if before is None or queue_name_of(before, terms.default_queue) != queue:
        verdict = verdict.plus(entering(queue, "spec.queue", facts), using(queue, "spec.queue", user, terms))
    if before is None or before.spec.priority_class_name != group.spec.priority_class_name:
        name = group.spec.priority_class_name or ""
        verdict = verdict.plus(prioritised(name, _CLASS, queue, user, facts, terms))
    if before is not None and terms.checks(FROZEN_FIELDS, user):
        verdict = verdict.plus(*_changed(before, group, terms))
    return verdict


def _readable(group: kube.PodGroup, terms: AdmissionPolicy) -> AdmissionVerdict:
    """As the scheduler reads it."""
    fault = job_spec(group, ResourceAxis(), Priorities({}), terms.default_queue).fault
    return refused(Violation(fault.removeprefix(f"PodGroup {group.key}: "))) if fault else GOOD


def _wishes(spec: volcano.PodGroupSpec) -> Iterator[tuple[str, volcano.KubeNetworkTopology]]:
    if spec.network_topology is not None:
        yield "spec.networkTopology", spec.network_topology
    for place, policy in enumerate(spec.sub_group_policy or ()):
        if policy.network_topology is not None:
            yield f"spec.subGroupPolicy[{place}].networkTopology", policy.network_topology


def _topology(field: str, wish: volcano.KubeNetworkTopology) -> AdmissionVerdict:
    """Definitions of the kind refuse this, too, where they are ours; Volcano's older ones do not."""
    if wish.highest_tier_allowed is not None and wish.highest_tier_name:
        return invalid(field, "a tier has a number or a name", "keep highestTierAllowed or highestTierName, not both")
    return GOOD


def _sums(spec: volcano.PodGroupSpec) -> AdmissionVerdict:
    """A group that is content with fewer members than its parts need says two different things."""
    minimum, verdict = spec.min_member or 0, GOOD
    needed = sum((policy.min_sub_groups or 0) * (policy.sub_group_size or 1) for policy in spec.sub_group_policy or ())
    if 0 < minimum < needed:
        verdict = invalid(
            "spec.minMember",
            f"is {minimum}, but the sub-groups need {needed} members",
            f"write {needed}, or ask for less",
        )
    for place, policy in enumerate(spec.sub_group_policy or ()):
        if policy.min_sub_groups and not policy.match_label_keys:
            field = f"spec.subGroupPolicy[{place}].minSubGroups"
            remedy = "name the labels that tell sub-groups apart in matchLabelKeys"
            verdict = verdict.plus(invalid(field, "no sub-group can ever be there", remedy))
    roles = sum((spec.min_task_member or {}).values())
    if roles and roles > minimum:
        words = f"the minimums of roles add up to {roles}; they hold only when spec.minMember is as large"
        verdict = verdict.plus(warned(f"spec.minTaskMember: {words}"))
    return verdict


def _class(group: kube.PodGroup, facts: Facts) -> AdmissionVerdict:
    name = group.spec.priority_class_name
    if not name or name in facts.priority_classes or name in _STANDARD_CLASSES:
        return GOOD
    return warned(f"{_CLASS}: priority class {name!r} does not exist yet; the default priority holds")


def _changed(before: kube.PodGroup, after: kube.PodGroup, terms: AdmissionPolicy) -> Iterator[AdmissionVerdict]:
    """What decided about the place of a group in line, and who may take its place, is not turned round afterwards."""
    for field, one, other in (
        ("spec.queue", queue_name_of(before, terms.default_queue), queue_name_of(after, terms.default_queue)),
        ("spec.minMember", before.spec.min_member or 0, after.spec.min_member or 0),
        ("spec.minTaskMember", before.spec.min_task_member or {}, after.spec.min_task_member or {}),
        ("spec.networkTopology", before.spec.network_topology, after.spec.network_topology),
        ("spec.subGroupPolicy", before.spec.sub_group_policy or [], after.spec.sub_group_policy or []),
        (f"metadata.annotations[{PREEMPTABLE}]", _preemptable(before), _preemptable(after)),
    ):
        if one != other:
            yield forbidden(field, "cannot be changed", "make a new group, or let its controller change it")


def _preemptable(group: kube.PodGroup) -> str:
    annotations, labels = group.metadata.annotations or {}, group.metadata.labels or {}
    return annotations.get(PREEMPTABLE) or labels.get(PREEMPTABLE) or ""
