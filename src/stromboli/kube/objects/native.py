"""PodGroups of Kubernetes itself (scheduling.k8s.io), served where the feature is enabled.

Versions differ in the name of one condition, in the form of the disruption mode, and in fields that are not decoded.
"""

from typing import ClassVar

import msgspec

from stromboli.kube.objects.meta import Int32, Int64, KubeCondition, TopLevel, Wire

GROUP = "scheduling.k8s.io"


class GangPolicy(Wire):
    """Gang scheduling: the minimum number of pods that start together."""

    min_count: Int32 | None = None


class BasicPolicy(Wire):
    """Pods are scheduled one by one."""


class NativeSchedulingPolicy(Wire):
    """Exactly one of the policies is set."""

    basic: BasicPolicy | None = None
    gang: GangPolicy | None = None


class NativeTopologyConstraint(Wire):
    """A node label: all pods must be on nodes with the same value."""

    key: str | None = None


class SchedulingConstraints(Wire):
    """Placement constraints of the pods relative to each other."""

    topology: list[NativeTopologyConstraint] | None = None


class OneMode(Wire):
    """A mode without parameters."""


class DisruptionMode(Wire):
    """Exactly one mode is set: pods are evicted one by one, or all of them together."""

    single: OneMode | None = None
    all: OneMode | None = None


class NativePodGroupSpec(Wire):
    """Scheduling policy and constraints of the group."""

    scheduling_policy: NativeSchedulingPolicy | None = None
    scheduling_constraints: SchedulingConstraints | None = None
    #: In v1alpha2 a text, Pod or PodGroup.
    disruption_mode: DisruptionMode | str | None = None
    priority: Int32 | None = None
    priority_class_name: str | None = None


class NativePodGroupCondition(KubeCondition):
    """A condition with the generation that it was observed for."""

    observed_generation: Int64 | None = None


class NativePodGroupStatus(Wire):
    """Conditions of the group."""

    conditions: list[NativePodGroupCondition] | None = None


class NativePodGroup(TopLevel):
    """Pods that are scheduled together; they reference the group in `spec.schedulingGroup`."""

    kind_name: ClassVar[str] = "PodGroup"
    group: ClassVar[str] = GROUP
    namespaced: ClassVar[bool] = True

    spec: NativePodGroupSpec = msgspec.field(default_factory=NativePodGroupSpec)
    status: NativePodGroupStatus = msgspec.field(default_factory=NativePodGroupStatus)
