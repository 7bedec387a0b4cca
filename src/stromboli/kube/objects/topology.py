"""Network topology of nodes and NUMA topology within a node: HyperNode (Volcano), Topology (KAI), Numatopology."""

from typing import ClassVar

import msgspec

from stromboli.kube.objects.meta import Int32, Int64, KubeCondition, KubeLabelSelector, TopLevel, Wire


class ExactMatch(Wire):
    """One member by name."""

    name: str | None = None


class RegexMatch(Wire):
    """Members whose names match a pattern."""

    pattern: str | None = None


class MemberSelector(Wire):
    """Exactly one of the selectors is set."""

    exact_match: ExactMatch | None = None
    regex_match: RegexMatch | None = None
    label_match: KubeLabelSelector | None = None


class HyperNodeMember(Wire):
    """Nodes, or hypernodes of a lower tier."""

    type: str | None = None
    selector: MemberSelector | None = None


class HyperNodeSpec(Wire):
    """Tier and members; the lower the tier, the closer its members."""

    tier: Int32 | None = None
    tier_name: str | None = None
    members: list[HyperNodeMember] | None = None


class HyperNodeStatus(Wire):
    """Observed state of the hypernode."""

    conditions: list[KubeCondition] | None = None
    node_count: Int64 | None = None


class KubeHyperNode(TopLevel):
    """A network domain with fast communication: a switch, a rack, a group of racks."""

    kind_name: ClassVar[str] = "HyperNode"
    group: ClassVar[str] = "topology.volcano.sh"

    spec: HyperNodeSpec = msgspec.field(default_factory=HyperNodeSpec)
    status: HyperNodeStatus = msgspec.field(default_factory=HyperNodeStatus)


class TopologyLevel(Wire):
    """A node label: nodes with the same value form a domain."""

    node_label: str | None = None


class TopologySpec(Wire):
    """Levels, the widest first."""

    levels: list[TopologyLevel] | None = None


class KubeTopology(TopLevel):
    """Network topology by node labels; a kind of KAI."""

    kind_name: ClassVar[str] = "Topology"
    group: ClassVar[str] = "kai.scheduler"

    spec: TopologySpec = msgspec.field(default_factory=TopologySpec)


class NumaResource(Wire):
    """Allocatable units of a resource on a node, as a list of ranges, and their number."""

    allocatable: str | None = None
    capacity: Int64 | None = None


class CpuPlace(Wire):
    """Position of one cpu."""

    numa: Int64 | None = None
    socket: Int64 | None = None
    core: Int64 | None = None


class ContainerAllocation(Wire):
    """Units allocated to a container, as ranges by resource."""

    name: str | None = None
    allocations: dict[str, str] | None = None


class PodAllocation(Wire):
    """Units allocated to a pod."""

    uid: str | None = None
    name: str | None = None
    namespace: str | None = None
    container_allocations: list[ContainerAllocation] | None = None


class NumatopologySpec(Wire):
    """CPU management policies of a node's kubelet, and its allocations."""

    policies: dict[str, str] | None = None
    res_reserved: dict[str, str] | None = None
    numares: dict[str, NumaResource] | None = None
    cpu_detail: dict[str, CpuPlace] | None = None
    pod_allocations: list[PodAllocation] | None = None


class Numatopology(TopLevel):
    """NUMA topology of the node with the same name."""

    kind_name: ClassVar[str] = "Numatopology"
    group: ClassVar[str] = "nodeinfo.volcano.sh"

    spec: NumatopologySpec = msgspec.field(default_factory=NumatopologySpec)
