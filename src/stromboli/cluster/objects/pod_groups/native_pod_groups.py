"""Native PodGroups (scheduling.k8s.io), converted to the PodGroup that jobs are built from.

A namespace may hold a native and a Volcano PodGroup of the same name, so the key of a native one carries its API group.
It has no phase field: the phase is derived from its condition and otherwise kept in the cache.
"""

from __future__ import annotations

import msgspec

from stromboli import kube
from stromboli.core.model.topology.hypernodes import BY_LABELS
from stromboli.kube.objects import native
from stromboli.kube.objects.volcano import KubeNetworkTopology, PodGroupCondition, PodGroupSpec, PodGroupStatus
from stromboli.workloads.groups import native_key

#: Condition type that reports whether a native group is scheduled: current name, and that of the first API version.
INITIALLY_SCHEDULED, SCHEDULED = "PodGroupInitiallyScheduled", "PodGroupScheduled"


class NativeGroup(kube.PodGroup):
    """A native PodGroup as the cache holds it, its status converted to that of a Volcano PodGroup."""

    origin: native.NativePodGroup = msgspec.field(default_factory=native.NativePodGroup)

    @property
    def key(self) -> str:
        return native_key(self.metadata.namespace, self.metadata.name)


def as_group(origin: native.NativePodGroup) -> NativeGroup:
    """The native group as a PodGroup. It reserves nothing before its pods exist, and names its queue by annotation or
    label.
    """
    policy = origin.spec.scheduling_policy
    minimum = policy.gang.min_count if policy is not None and policy.gang is not None else 1
    labels = topology_labels(origin)
    topology = KubeNetworkTopology(mode="hard", highest_tier_name=labels[-1]) if labels else None
    spec = PodGroupSpec(
        min_member=minimum, priority_class_name=origin.spec.priority_class_name, network_topology=topology
    )
    return NativeGroup(metadata=origin.metadata, spec=spec, status=_status(origin), origin=origin)


def reject_unsupported(group: kube.PodGroup) -> None:
    """Reject a native group with unsupported content. Raises ValueError."""
    if not isinstance(group, NativeGroup):
        return
    spec = group.origin.spec
    policy = spec.scheduling_policy or native.NativeSchedulingPolicy()
    if (policy.gang is None) == (policy.basic is None):
        raise ValueError("spec.schedulingPolicy: must be either gang or basic; make the group again with one of them")
    if policy.gang is not None and (policy.gang.min_count or 0) < 1:
        found = policy.gang.min_count
        raise ValueError(f"spec.schedulingPolicy.gang.minCount: must be at least 1, got {found}; write 1 or more")
    for place, label in enumerate(topology_labels(group.origin)):
        if not label:
            field = f"spec.schedulingConstraints.topology[{place}].key"
            raise ValueError(f"{field}: is missing; make the group again with a label of nodes there")


def topology_labels(origin: native.NativePodGroup) -> tuple[str, ...]:
    """Node labels in which all nodes of the group must agree, without duplicates."""
    constraints = origin.spec.scheduling_constraints
    return tuple(dict.fromkeys(entry.key or "" for entry in (constraints.topology or () if constraints else ())))


def is_disrupted_whole(group: kube.PodGroup) -> bool:
    """Report whether the pods of the group are evicted together or not at all. Raises ValueError."""
    mode = group.origin.spec.disruption_mode if isinstance(group, NativeGroup) else None
    if mode is None or mode == "Pod":
        return False
    if isinstance(mode, native.DisruptionMode) and (mode.single is None) != (mode.all is None):
        return mode.all is not None
    if mode != "PodGroup":
        found = repr(mode) if isinstance(mode, str) else "both or none"
        forms = "single: {} or all: {}, in v1alpha2 Pod or PodGroup"
        raise ValueError(f"spec.disruptionMode: must be {forms}, got {found}; make the group again with one of them")
    return True


def network_of(group: kube.PodGroup) -> str:
    """Name of the topology that these labels form; empty for a group without labels."""
    labels = topology_labels(group.origin) if isinstance(group, NativeGroup) else ()
    return f"{BY_LABELS}{','.join(labels)}" if labels else ""


def _status(origin: native.NativePodGroup) -> PodGroupStatus:
    conditions = origin.status.conditions or ()
    condition = next((c for c in conditions if c.type in (INITIALLY_SCHEDULED, SCHEDULED)), None)
    if condition is None:
        return PodGroupStatus()
    is_scheduled = condition.status == "True"
    converted = PodGroupCondition(
        type="Scheduled" if is_scheduled else "Unschedulable",
        status="True",
        reason=condition.reason,
        message=condition.message,
        last_transition_time=condition.last_transition_time,
    )
    return PodGroupStatus(phase="Running" if is_scheduled else None, conditions=[converted])
