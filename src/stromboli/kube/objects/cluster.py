"""The objects that describe the cluster rather than the work: nodes, namespaces, budgets, configuration."""

from typing import ClassVar

import msgspec

from stromboli.kube.objects.meta import Int32, Int64, KubeCondition, KubeLabelSelector, Resources, TopLevel, Wire


class KubeTaint(Wire):
    """A reason to stay away from a node, unless tolerated."""

    key: str | None = None
    value: str | None = None
    effect: str | None = None
    time_added: str | None = None


class ContainerImage(Wire):
    """An image that a node already holds; `names` has one entry per tag and digest."""

    names: list[str] | None = None
    size_bytes: Int64 | None = None


class NodeSpec(Wire):
    """What the administrator wants of the node."""

    unschedulable: bool | None = None
    taints: list[KubeTaint] | None = None


class NodeStatus(Wire):
    """What the kubelet says about the node."""

    allocatable: Resources | None = None
    capacity: Resources | None = None
    conditions: list[KubeCondition] | None = None
    images: list[ContainerImage] | None = None


class KubeNode(TopLevel):
    """A machine."""

    kind_name: ClassVar[str] = "Node"

    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)


class NodeMetrics(TopLevel):
    """What a node really used of its cpu and memory during a window of time that ended at the timestamp."""

    kind_name: ClassVar[str] = "NodeMetrics"
    group: ClassVar[str] = "metrics.k8s.io"

    timestamp: str | None = None
    window: str | None = None
    usage: Resources | None = None


class Namespace(TopLevel):
    """Read for its labels, which namespace selectors match."""

    kind_name: ClassVar[str] = "Namespace"


class ConfigMap(TopLevel):
    """Text by file name."""

    kind_name: ClassVar[str] = "ConfigMap"

    namespaced: ClassVar[bool] = True

    data: dict[str, str] | None = None


class PriorityClass(TopLevel):
    """A named priority for pods and groups."""

    kind_name: ClassVar[str] = "PriorityClass"
    group: ClassVar[str] = "scheduling.k8s.io"

    value: Int32 | None = None
    global_default: bool | None = None
    preemption_policy: str | None = None


class PodDisruptionBudgetSpec(Wire):
    """How many of the selected pods must stay, or may go; counts or percentages."""

    selector: KubeLabelSelector | None = None
    min_available: Int32 | str | None = None
    max_unavailable: Int32 | str | None = None


class PodDisruptionBudgetStatus(Wire):
    """What the budget's controller last counted. Disrupted pods are already paid for."""

    disruptions_allowed: Int32 | None = None
    current_healthy: Int32 | None = None
    desired_healthy: Int32 | None = None
    expected_pods: Int32 | None = None
    observed_generation: Int64 | None = None
    disrupted_pods: dict[str, str | None] | None = None
    conditions: list[KubeCondition] | None = None


class PodDisruptionBudget(TopLevel):
    """A limit on how many pods of an application may be evicted at once."""

    kind_name: ClassVar[str] = "PodDisruptionBudget"
    group: ClassVar[str] = "policy"
    namespaced: ClassVar[bool] = True

    spec: PodDisruptionBudgetSpec = msgspec.field(default_factory=PodDisruptionBudgetSpec)
    status: PodDisruptionBudgetStatus = msgspec.field(default_factory=PodDisruptionBudgetStatus)


class ScopeRequirement(Wire):
    """Which of the pods a quota is about."""

    scope_name: str | None = None
    operator: str | None = None
    values: list[str] | None = None


class ScopeSelector(Wire):
    """All requirements must hold."""

    match_expressions: list[ScopeRequirement] | None = None


class ResourceQuotaSpec(Wire):
    """The most that a namespace may hold of each thing, under keys such as `requests.cpu` and `pods`."""

    hard: Resources | None = None
    scopes: list[str] | None = None
    scope_selector: ScopeSelector | None = None


class ResourceQuotaStatus(Wire):
    """The limits in force, and what is used of them."""

    hard: Resources | None = None
    used: Resources | None = None


class ResourceQuota(TopLevel):
    """A limit on what the pods of a namespace may request together."""

    kind_name: ClassVar[str] = "ResourceQuota"

    namespaced: ClassVar[bool] = True

    spec: ResourceQuotaSpec = msgspec.field(default_factory=ResourceQuotaSpec)
    status: ResourceQuotaStatus = msgspec.field(default_factory=ResourceQuotaStatus)
