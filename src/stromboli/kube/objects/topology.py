"""How nodes lie in the network and how processors lie in a node, as Volcano and KAI write it down."""

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
    """Exactly one way to say who is meant."""

    exact_match: ExactMatch | None = None
    regex_match: RegexMatch | None = None
    label_match: KubeLabelSelector | None = None


class HyperNodeMember(Wire):
    """Nodes, or hypernodes of a lower tier."""

    type: str | None = None
    selector: MemberSelector | None = None


class HyperNodeSpec(Wire):
    """The lower the tier, the closer its members lie together."""

    tier: Int32 | None = None
    tier_name: str | None = None
    members: list[HyperNodeMember] | None = None


class HyperNodeStatus(Wire):
    """What became of the description."""

    conditions: list[KubeCondition] | None = None
    node_count: Int64 | None = None


class KubeHyperNode(TopLevel):
    """A part of the network inside which nodes talk to each other fast: a switch, a rack, a pod of racks."""

    kind_name: ClassVar[str] = "HyperNode"
    group: ClassVar[str] = "topology.volcano.sh"

    spec: HyperNodeSpec = msgspec.field(default_factory=HyperNodeSpec)
    status: HyperNodeStatus = msgspec.field(default_factory=HyperNodeStatus)


class TopologyLevel(Wire):
    """A label of nodes: those that have the same value lie together."""

    node_label: str | None = None


class TopologySpec(Wire):
    """The widest level first."""

    levels: list[TopologyLevel] | None = None


class KubeTopology(TopLevel):
    """How nodes lie in the network, by their labels; an object of KAI."""

    kind_name: ClassVar[str] = "Topology"
    group: ClassVar[str] = "kai.scheduler"

    spec: TopologySpec = msgspec.field(default_factory=TopologySpec)


class NumaResource(Wire):
    """Which units of a resource a node has to give, as a list of ranges, and how many."""

    allocatable: str | None = None
    capacity: Int64 | None = None


class CpuPlace(Wire):
    """Where one processor lies."""

    numa: Int64 | None = None
    socket: Int64 | None = None
    core: Int64 | None = None


class ContainerAllocation(Wire):
    """What a container was given, as ranges by resource."""

    name: str | None = None
    allocations: dict[str, str] | None = None


class PodAllocation(Wire):
    """What a pod was given."""

    uid: str | None = None
    name: str | None = None
    namespace: str | None = None
    container_allocations: list[ContainerAllocation] | None = None


class NumatopologySpec(Wire):
    """How the kubelet of a node hands out processors, and to whom it did."""

    policies: dict[str, str] | None = None
    res_reserved: dict[str, str] | None = None
    numares: dict[str, NumaResource] | None = None
    cpu_detail: dict[str, CpuPlace] | None = None
    pod_allocations: list[PodAllocation] | None = None


class Numatopology(TopLevel):
    """The processors of a node; named like the node."""

    kind_name: ClassVar[str] = "Numatopology"
    group: ClassVar[str] = "nodeinfo.volcano.sh"

    spec: NumatopologySpec = msgspec.field(default_factory=NumatopologySpec)
