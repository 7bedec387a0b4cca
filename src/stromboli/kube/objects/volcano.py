"""Volcano's scheduling kinds: PodGroup and Queue."""

from typing import Any, ClassVar

import msgspec

from stromboli.kube.objects.constraints import PREFERRED, REQUIRED
from stromboli.kube.objects.meta import Int32, KubeCondition, KubeLabelSelector, Resources, TopLevel, Wire

GROUP = "scheduling.volcano.sh"


class KubeNetworkTopology(Wire):
    """Maximum network distance of the members: a tier by number or name, required (hard) or preferred (soft)."""

    mode: str | None = None
    highest_tier_allowed: Int32 | None = None
    highest_tier_name: str | None = None


class KubeSubGroupPolicy(Wire):
    """Splits the selected pods of a group into sub-groups, one per value of the label keys."""

    name: str | None = None
    network_topology: KubeNetworkTopology | None = None
    sub_group_size: Int32 | None = None
    min_sub_groups: Int32 | None = None
    label_selector: KubeLabelSelector | None = None
    match_label_keys: list[str] | None = None


class PodGroupSpec(Wire):
    """Minimum, queue and constraints of the group."""

    min_member: Int32 | None = None
    min_task_member: dict[str, Int32] | None = None
    queue: str | None = None
    priority_class_name: str | None = None
    min_resources: Resources | None = None
    network_topology: KubeNetworkTopology | None = None
    sub_group_policy: list[KubeSubGroupPolicy] | None = None


class PodGroupCondition(KubeCondition):
    """A condition with the scheduling cycle in which it was observed."""

    transition_id: str | None = msgspec.field(default=None, name="transitionID")


class PodGroupStatus(Wire):
    """Phase and conditions of the group."""

    phase: str | None = None
    conditions: list[PodGroupCondition] | None = None
    running: Int32 | None = None
    succeeded: Int32 | None = None
    failed: Int32 | None = None


class PodGroup(TopLevel):
    """Pods that start together or not at all."""

    kind_name: ClassVar[str] = "PodGroup"
    group: ClassVar[str] = GROUP
    namespaced: ClassVar[bool] = True

    spec: PodGroupSpec = msgspec.field(default_factory=PodGroupSpec)
    status: PodGroupStatus = msgspec.field(default_factory=PodGroupStatus)


class Guarantee(Wire):
    """Resources reserved for a queue even while it is idle."""

    resource: Resources | None = None


class NodeGroupRules(Wire):
    """Node groups that a queue requires, prefers or avoids."""

    required: list[str] | None = msgspec.field(default=None, name=REQUIRED)
    preferred: list[str] | None = msgspec.field(default=None, name=PREFERRED)


class QueueAffinity(Wire):
    """Node group affinity of a queue."""

    node_group_affinity: NodeGroupRules | None = None
    node_group_anti_affinity: NodeGroupRules | None = None


class ExtendCluster(Wire):
    """Another cluster that may run a queue's jobs."""

    name: str | None = None
    weight: Int32 | None = None
    capacity: Resources | None = None


class QueueSpec(Wire):
    """Shares of a queue: `guarantee` is reserved, `deserved` is its fair share, `capability` its upper limit."""

    weight: Int32 | None = None
    capability: Resources | None = None
    reclaimable: bool | None = None
    guarantee: Guarantee | None = None
    deserved: Resources | None = None
    priority: Int32 | None = None
    parent: str | None = None
    type: str | None = None
    affinity: QueueAffinity | None = None
    dequeue_strategy: str | None = None
    extend_clusters: list[ExtendCluster] | None = None


class QueueStatus(Wire):
    """State of the queue, and its allocated resources."""

    state: str | None = None
    pending: Int32 | None = None
    inqueue: Int32 | None = None
    running: Int32 | None = None
    unknown: Int32 | None = None
    completed: Int32 | None = None
    allocated: Resources | None = None
    #: Nodes and resources that are reserved for waiting jobs.
    reservation: dict[str, Any] | None = None


class KubeQueue(TopLevel):
    """A queue of PodGroups with a share of the cluster."""

    kind_name: ClassVar[str] = "Queue"
    group: ClassVar[str] = GROUP

    spec: QueueSpec = msgspec.field(default_factory=QueueSpec)
    status: QueueStatus = msgspec.field(default_factory=QueueStatus)
