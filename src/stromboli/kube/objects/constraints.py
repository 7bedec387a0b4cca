"""Scheduling constraints of pods: affinity, tolerations, topology spread.

The longest wire names are shortened: `required` is requiredDuringSchedulingIgnoredDuringExecution, `preferred` is
preferredDuringSchedulingIgnoredDuringExecution.
"""

import msgspec

from stromboli.kube.objects.meta import Int32, Int64, KubeLabelSelector, KubeRequirement, Wire

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class NodeSelectorTerm(Wire):
    """All expressions of a term must match; an empty term matches no node."""

    match_expressions: list[KubeRequirement] | None = None
    match_fields: list[KubeRequirement] | None = None


class NodeSelector(Wire):
    """At least one of the terms must match."""

    node_selector_terms: list[NodeSelectorTerm] | None = None


class PreferredNodes(Wire):
    """Matching nodes gain the weight."""

    weight: Int32 | None = None
    preference: NodeSelectorTerm | None = None


class KubeNodeAffinity(Wire):
    """Required and preferred nodes of a pod."""

    required: NodeSelector | None = msgspec.field(default=None, name=REQUIRED)
    preferred: list[PreferredNodes] | None = msgspec.field(default=None, name=PREFERRED)


class PodAffinityTerm(Wire):
    """The selected pods, and the topology key that defines the domain.

    Without namespaces and namespace selector, the pod's own namespace is used.
    """

    label_selector: KubeLabelSelector | None = None
    namespaces: list[str] | None = None
    namespace_selector: KubeLabelSelector | None = None
    topology_key: str | None = None
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None


class WeightedPodAffinityTerm(Wire):
    """A term that adds its weight to, or subtracts it from, the score of a node."""

    weight: Int32 | None = None
    pod_affinity_term: PodAffinityTerm | None = None


class KubePodAffinity(Wire):
    """Pods to be placed with, or apart from."""

    required: list[PodAffinityTerm] | None = msgspec.field(default=None, name=REQUIRED)
    preferred: list[WeightedPodAffinityTerm] | None = msgspec.field(default=None, name=PREFERRED)


class Affinity(Wire):
    """All affinities of a pod."""

    node_affinity: KubeNodeAffinity | None = None
    pod_affinity: KubePodAffinity | None = None
    pod_anti_affinity: KubePodAffinity | None = None


class KubeToleration(Wire):
    """Tolerated taints: operators Exists, Equal (the default), Lt and Gt."""

    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None
    toleration_seconds: Int64 | None = None


class TopologySpreadConstraint(Wire):
    """How evenly matching pods are spread over the domains of a topology key."""

    max_skew: Int32 | None = None
    topology_key: str | None = None
    when_unsatisfiable: str | None = None
    label_selector: KubeLabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: list[str] | None = None
