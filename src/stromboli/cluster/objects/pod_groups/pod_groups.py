"""PodGroups: the job that each of them describes, and the sub-jobs of its pods."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Collection, Mapping
from sys import intern

from stromboli import kube
from stromboli.cluster.objects.pod_groups.native_pod_groups import (
    NativeGroup,
    as_group,
    is_disrupted_whole,
    network_of,
    reject_unsupported,
)
from stromboli.cluster.objects.pod_groups.previous_domains import previous_domains_of, without_placement_record
from stromboli.cluster.objects.pod_groups.topology_levels import apply_topology_levels
from stromboli.cluster.objects.pods.constraints import selector_of
from stromboli.cluster.objects.priority_classes import Priorities
from stromboli.cluster.objects.timestamps import seconds_of
from stromboli.core.model.jobs.job import NO_ENTRIES, JobSpec, NetworkTopology, SubGroupPolicy
from stromboli.core.model.queues.quota import quota_amounts
from stromboli.core.model.resources.resources import ResourceAxis, is_schedulable_name, request_of
from stromboli.core.model.tasks.selectors import LabelSelector
from stromboli.kube.objects import volcano
from stromboli.kube.objects.native import NativePodGroup
from stromboli.workloads.groups import is_native, unqualified_name
from stromboli.workloads.queues import DEFAULT_QUEUE, queue_name_of
from stromboli.workloads.requests import reject_too_many_names
from stromboli.workloads.users import user_of

PREEMPTABLE = "volcano.sh/preemptable"

#: Condition of a group that has lost members and is below its minimum.
STALE = "Stale"
EVICTED = "Evicted"

_MAX_MEMBER_NAME_LENGTH = 128
_MODES = (None, "", "hard", "soft")


def is_true(text: str | None) -> bool:
    return (text or "").lower() == "true"


def _preemptable(text: str | None) -> bool | None:
    return is_true(text) if text else None


def job_spec(
    group: kube.PodGroup,
    axis: ResourceAxis,
    priorities: Priorities,
    default_queue: str = DEFAULT_QUEUE,
    users: Collection[str] = (),
) -> JobSpec:
    """The job that a PodGroup describes; `users` are those that its pods name. Invalid content becomes its fault."""
    spec, metadata = group.spec, group.metadata
    annotations, labels = metadata.annotations or NO_ENTRIES, metadata.labels or NO_ENTRIES
    result = JobSpec(
        key=intern(group.key),
        uid=metadata.uid,
        namespace=metadata.namespace,
        name=metadata.name,
        queue=intern(queue_name_of(group, default_queue)),
        min_available=spec.min_member or 0,
        min_task_member=spec.min_task_member or NO_ENTRIES,
        priority=priorities.of_group(group),
        created=seconds_of(metadata.creation_timestamp),
        user=intern(user_of(metadata, users)),
        annotations=annotations,
        labels=labels,
        preemptable=_preemptable(annotations.get(PREEMPTABLE) or labels.get(PREEMPTABLE)),
        network=network_of(group),
        previous_domains=previous_domains_of(group),
        stale_since=stale_since(group),
        is_being_deleted=metadata.deletion_timestamp is not None,
    )
    try:
        reject_unsupported(group)
        result.evicted_whole = is_disrupted_whole(group)
        _complete(result, spec, axis)
    except ValueError as error:
        result.fault = f"PodGroup {group.key}: {error}"
    return result


def register_resources(group: kube.PodGroup, axis: ResourceAxis) -> None:
    """Add the resources that a group names to the axis. What is invalid is reported with the job."""
    resources = group.spec.min_resources or {}
    with contextlib.suppress(ValueError):
        reject_too_many_names(resources, "spec.minResources")
        axis.parse_request(resources)


def same_job_spec(one: kube.PodGroup, other: kube.PodGroup) -> bool:
    """Report whether both versions describe the same job; of the status only the fields that decisions read count."""
    if one.spec != other.spec or _identity(one.metadata) != _identity(other.metadata):
        return False
    return stale_since(one) == stale_since(other) and previous_domains_of(one) == previous_domains_of(other)


def relevant_fields(group: kube.PodGroup) -> tuple[object, ...]:
    """The job that the group describes, without the record that Stromboli writes, and the phase."""
    plain = without_placement_record(group)
    return plain.spec, _identity(plain.metadata), stale_since(group), group.status.phase


def native_relevant_fields(group: NativePodGroup) -> tuple[object, ...]:
    """The job that the group describes; its phase is decided here."""
    plain = without_placement_record(as_group(group))
    return group.spec, _identity(plain.metadata), stale_since(plain)


def stale_since(group: kube.PodGroup) -> float:
    """Time since when the condition Stale holds; 0 if it does not."""
    conditions = group.origin.status.conditions if isinstance(group, NativeGroup) else group.status.conditions
    stale = (condition for condition in conditions or () if condition.type == STALE and condition.status == "True")
    return max((seconds_of(condition.last_transition_time) for condition in stale), default=0.0)


def eviction_message(group: kube.PodGroup) -> str:
    """Message of the condition Evicted; empty if it does not hold."""
    conditions = group.status.conditions or ()
    return next((each.message or "" for each in conditions if each.type == EVICTED and each.status == "True"), "")


def _identity(metadata: kube.ObjectMeta) -> tuple[object, ...]:
    is_being_deleted = metadata.deletion_timestamp is not None
    return metadata.uid, metadata.labels, metadata.annotations, metadata.creation_timestamp, is_being_deleted


def missing_group(key: str) -> JobSpec:
    """The job of pods whose PodGroup does not exist."""
    namespace, _, name = key.partition("/")
    remedy = "create it" if is_native(key) else "create it or correct their annotation"
    fault = f"PodGroup {key}: does not exist, but pods name it; {remedy}"
    return JobSpec(key, key, namespace, unqualified_name(name), "", fault=fault)


def _complete(result: JobSpec, spec: volcano.PodGroupSpec, axis: ResourceAxis) -> None:
    """Fill in the parts that may be invalid."""
    if result.min_available < 0:
        raise ValueError(f"spec.minMember: must not be negative, got {result.min_available}; write 0 or more")
    for role, minimum in result.min_task_member.items():
        if minimum < 0:
            raise ValueError(f"spec.minTaskMember.{role}: must not be negative, got {minimum}; write 0 or more")
    if spec.min_resources is not None:
        reject_too_many_names(spec.min_resources, "spec.minResources")
        try:
            result.min_resources = request_of(axis.parse_request(spec.min_resources))
            others = {name: text for name, text in spec.min_resources.items() if not is_schedulable_name(name)}
            result.min_quotas = quota_amounts(others) if others else NO_ENTRIES
        except ValueError as error:
            raise ValueError(f"spec.minResources.{error}") from None
    result.topology = _topology(spec.network_topology, "spec.networkTopology")
    result.policies = tuple(_policy(policy, place) for place, policy in enumerate(spec.sub_group_policy or ()))
    apply_topology_levels(result)


def _topology(wire: volcano.KubeNetworkTopology | None, field: str) -> NetworkTopology | None:
    if wire is None:
        return None
    highest = wire.highest_tier_allowed
    if wire.mode not in _MODES:
        raise ValueError(f"{field}.mode: {wire.mode!r} is not known; write hard or soft")
    if highest is not None and highest < 0:
        raise ValueError(f"{field}.highestTierAllowed: must not be negative, got {highest}; write 0 or more")
    return NetworkTopology(wire.mode != "soft", highest, wire.highest_tier_name or "")


def _policy(wire: volcano.KubeSubGroupPolicy, place: int) -> SubGroupPolicy:
    field = f"spec.subGroupPolicy[{place}]"
    size, minimum = wire.sub_group_size, wire.min_sub_groups
    if size is not None and size < 1:
        raise ValueError(f"{field}.subGroupSize: must be at least 1, got {size}")
    if minimum is not None and minimum < 0:
        raise ValueError(f"{field}.minSubGroups: must not be negative, got {minimum}")
    return SubGroupPolicy(
        name=wire.name or f"policy-{place}",
        match_label_keys=tuple(wire.match_label_keys or ()),
        selector=selector_of(wire.label_selector, f"{field}.labelSelector") if wire.label_selector else LabelSelector(),
        size=size or 1,
        minimum=minimum or 0,
        topology=_topology(wire.network_topology, f"{field}.networkTopology"),
    )


def sub_job_of(spec: JobSpec, labels: Mapping[str, str]) -> tuple[str, SubGroupPolicy | None, int]:
    """Key, policy and index of the sub-job for a pod with these labels; all other pods share one sub-job."""
    for policy in spec.policies:
        values = [labels.get(key, "") for key in policy.match_label_keys]
        if values and all(values) and policy.selector.matches(labels):
            member = "-".join(values)
            if len(member) > _MAX_MEMBER_NAME_LENGTH:
                member = f"{zlib.crc32(member.encode()):08x}"
            index = int(values[0]) if values[0].isdecimal() and len(values[0]) < 10 else 0
            return f"{spec.key}/{policy.name}-{member}", policy, index
    return spec.key, None, 0
