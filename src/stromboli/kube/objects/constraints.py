"""Where a pod may and would like to run: affinity, tolerations, spreading.

The wire's longest names are cut to their first word: `required` stands for
requiredDuringSchedulingIgnoredDuringExecution and `preferred` for its sibling.
"""

import msgspec

from stromboli.kube.objects.meta import Int32, Int64, KubeLabelSelector, KubeRequirement, Wire

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class NodeSelectorTerm(Wire):
    """All clauses of a term must hold; a term without clauses matches no node."""

    match_expressions: list[KubeRequirement] | None = None
    match_fields: list[KubeRequirement] | None = None


class NodeSelector(Wire):
    """Any one of the terms is enough."""

    node_selector_terms: list[NodeSelectorTerm] | None = None


class PreferredNodes(Wire):
    """Nodes that match gain the weight."""

    weight: Int32 | None = None
    preference: NodeSelectorTerm | None = None


class KubeNodeAffinity(Wire):
    """Which nodes a pod needs and likes."""

    required: NodeSelector | None = msgspec.field(default=None, name=REQUIRED)
    preferred: list[PreferredNodes] | None = msgspec.field(default=None, name=PREFERRED)


class PodAffinityTerm(Wire):
    """The pods it is about, and the node label that says what "together" means.

    Without namespaces and namespace selector the pod's own namespace is meant.
    """

    label_selector: KubeLabelSelector | None = None
    namespaces: list[str] | None = None
    namespace_selector: KubeLabelSelector | None = None
    topology_key: str | None = None
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None


class WeightedPodAffinityTerm(Wire):
    """A term that counts for or against a node with its weight."""

    weight: Int32 | None = None
    pod_affinity_term: PodAffinityTerm | None = None


class KubePodAffinity(Wire):
    """Which pods a pod needs and likes to be with, or to be away from."""

    required: list[PodAffinityTerm] | None = msgspec.field(default=None, name=REQUIRED)
    preferred: list[WeightedPodAffinityTerm] | None = msgspec.field(default=None, name=PREFERRED)


class Affinity(Wire):
    """All affinities of a pod."""

    node_affinity: KubeNodeAffinity | None = None
    pod_affinity: KubePodAffinity | None = None
    pod_anti_affinity: KubePodAffinity | None = None


class KubeToleration(Wire):
    """Taints that do not bother the pod: operators Exists, Equal (when absent), Lt and Gt."""

    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None
    toleration_seconds: Int64 | None = None


class TopologySpreadConstraint(Wire):
    """How evenly matching pods must lie over the domains of a node label."""

    max_skew: Int32 | None = None
    topology_key: str | None = None
    when_unsatisfiable: str | None = None
    label_selector: KubeLabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: list[str] | None = None
