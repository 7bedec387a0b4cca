"""Kubernetes' own groups of pods, which a cluster serves where they are switched on.

Versions differ in the name of one condition and in fields that are not read here.
"""

from typing import ClassVar

import msgspec

from stromboli.kube.objects.meta import Int32, Int64, KubeCondition, TopLevel, Wire

GROUP = "scheduling.k8s.io"


class GangPolicy(Wire):
    """All or nothing: so many pods start together."""

    min_count: Int32 | None = None


class BasicPolicy(Wire):
    """Every pod for itself."""


class SchedulingPolicy(Wire):
    """Exactly one of them is given."""

    basic: BasicPolicy | None = None
    gang: GangPolicy | None = None


class TopologyConstraint(Wire):
    """A label of nodes: all pods must be where it has one and the same value."""

    key: str | None = None


class SchedulingConstraints(Wire):
    """Where the pods of the group may be, seen from one another."""

    topology: list[TopologyConstraint] | None = None


class NativePodGroupSpec(Wire):
    """How the pods of the group are to be scheduled."""

    scheduling_policy: SchedulingPolicy | None = None
    scheduling_constraints: SchedulingConstraints | None = None
    priority: Int32 | None = None
    priority_class_name: str | None = None


class NativePodGroupCondition(KubeCondition):
    """A condition that also says which generation of the object it is about."""

    observed_generation: Int64 | None = None


class NativePodGroupStatus(Wire):
    """Whether the group was scheduled."""

    conditions: list[NativePodGroupCondition] | None = None


class NativePodGroup(TopLevel):
    """Pods that are scheduled as one; they name it in `spec.schedulingGroup`."""

    kind_name: ClassVar[str] = "PodGroup"
    group: ClassVar[str] = GROUP
    namespaced: ClassVar[bool] = True

    spec: NativePodGroupSpec = msgspec.field(default_factory=NativePodGroupSpec)
    status: NativePodGroupStatus = msgspec.field(default_factory=NativePodGroupStatus)
