"""Objects that describe the cluster: nodes, namespaces, budgets, quotas, configuration, leases and CRDs."""

from typing import ClassVar

import msgspec

from stromboli.kube.objects.meta import Int32, Int64, KubeCondition, KubeLabelSelector, Resources, TopLevel, Wire


class KubeTaint(Wire):
    """A taint of a node."""

    key: str | None = None
    value: str | None = None
    effect: str | None = None
    time_added: str | None = None


class ContainerImage(Wire):
    """An image present on a node; `names` has one entry per tag and digest."""

    names: list[str] | None = None
    size_bytes: Int64 | None = None


class NodeSpec(Wire):
    """Desired state of the node."""

    unschedulable: bool | None = None
    taints: list[KubeTaint] | None = None


class NodeStatus(Wire):
    """State of the node, as its kubelet reports it."""

    allocatable: Resources | None = None
    capacity: Resources | None = None
    conditions: list[KubeCondition] | None = None
    images: list[ContainerImage] | None = None


class KubeNode(TopLevel):
    """A node."""

    kind_name: ClassVar[str] = "Node"

    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)


class NodeMetrics(TopLevel):
    """Measured cpu and memory usage of a node over the window that ends at the timestamp."""

    kind_name: ClassVar[str] = "NodeMetrics"
    group: ClassVar[str] = "metrics.k8s.io"

    timestamp: str | None = None
    window: str | None = None
    usage: Resources | None = None


class Namespace(TopLevel):
    """Decoded for its labels, which namespace selectors match."""

    kind_name: ClassVar[str] = "Namespace"


class ConfigMap(TopLevel):
    """Text by key."""

    kind_name: ClassVar[str] = "ConfigMap"

    namespaced: ClassVar[bool] = True

    data: dict[str, str] | None = None


class PriorityClass(TopLevel):
    """A named priority for pods and PodGroups."""

    kind_name: ClassVar[str] = "PriorityClass"
    group: ClassVar[str] = "scheduling.k8s.io"

    value: Int32 | None = None
    global_default: bool | None = None
    preemption_policy: str | None = None


class PodDisruptionBudgetSpec(Wire):
    """How many of the selected pods must stay available, or may be disrupted; counts or percentages."""

    selector: KubeLabelSelector | None = None
    min_available: Int32 | str | None = None
    max_unavailable: Int32 | str | None = None


class PodDisruptionBudgetStatus(Wire):
    """The last count of the budget's controller. Disrupted pods are already counted."""

    disruptions_allowed: Int32 | None = None
    current_healthy: Int32 | None = None
    desired_healthy: Int32 | None = None
    expected_pods: Int32 | None = None
    observed_generation: Int64 | None = None
    disrupted_pods: dict[str, str | None] | None = None
    conditions: list[KubeCondition] | None = None


class PodDisruptionBudget(TopLevel):
    """A limit on simultaneous voluntary disruptions of an application."""

    kind_name: ClassVar[str] = "PodDisruptionBudget"
    group: ClassVar[str] = "policy"
    namespaced: ClassVar[bool] = True

    spec: PodDisruptionBudgetSpec = msgspec.field(default_factory=PodDisruptionBudgetSpec)
    status: PodDisruptionBudgetStatus = msgspec.field(default_factory=PodDisruptionBudgetStatus)


class ScopeRequirement(Wire):
    """One requirement on the pods that a quota counts."""

    scope_name: str | None = None
    operator: str | None = None
    values: list[str] | None = None


class ScopeSelector(Wire):
    """All requirements must hold."""

    match_expressions: list[ScopeRequirement] | None = None


class ResourceQuotaSpec(Wire):
    """Limits of a namespace, under keys such as `requests.cpu` and `pods`."""

    hard: Resources | None = None
    scopes: list[str] | None = None
    scope_selector: ScopeSelector | None = None


class ResourceQuotaStatus(Wire):
    """Enforced limits, and their usage."""

    hard: Resources | None = None
    used: Resources | None = None


class ResourceQuota(TopLevel):
    """A limit on the total requests of a namespace's pods."""

    kind_name: ClassVar[str] = "ResourceQuota"

    namespaced: ClassVar[bool] = True

    spec: ResourceQuotaSpec = msgspec.field(default_factory=ResourceQuotaSpec)
    status: ResourceQuotaStatus = msgspec.field(default_factory=ResourceQuotaStatus)


class LeaseSpec(Wire):
    """Holder, times and transitions of the lease."""

    holder_identity: str | None = None
    lease_duration_seconds: Int32 | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: Int32 | None = None


class Lease(TopLevel):
    """A lease, valid as long as it is renewed."""

    kind_name: ClassVar[str] = "Lease"
    group: ClassVar[str] = "coordination.k8s.io"
    namespaced: ClassVar[bool] = True

    spec: LeaseSpec = msgspec.field(default_factory=LeaseSpec)


class CustomResourceDefinitionStatus(Wire):
    """Conditions: whether the names are accepted and the resource is served."""

    conditions: list[KubeCondition] | None = None


class CustomResourceDefinition(TopLevel):
    """A definition of a custom resource."""

    kind_name: ClassVar[str] = "CustomResourceDefinition"
    group: ClassVar[str] = "apiextensions.k8s.io"

    status: CustomResourceDefinitionStatus = msgspec.field(default_factory=CustomResourceDefinitionStatus)

    @property
    def is_established(self) -> bool:
        conditions = self.status.conditions or ()
        return any(condition.type == "Established" and condition.status == "True" for condition in conditions)
