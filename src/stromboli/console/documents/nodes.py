"""Nodes and network domains."""

from __future__ import annotations

from stromboli.console.documents.base import ConsoleDocument


class NodeColumns(ConsoleDocument):
    """Nodes by column; each list of amounts has a value per node, in the base unit of the resource."""

    names: list[str]
    #: Ready, NotReady, or with SchedulingDisabled.
    statuses: list[str]
    #: The lowest domain of each node, and its rack; empty for none.
    domains: list[str]
    pods: list[int]
    #: Whether no waiting pod fits, while pods wait.
    fragmented: list[bool]
    #: What keeps pods away.
    obstacles: list[str]
    capacity: dict[str, list[float]]
    used: dict[str, list[float]]
    reserved: dict[str, list[float]]


class NodeListing(ConsoleDocument):
    """All nodes; none for a person who may not read nodes."""

    instance: str
    version: int
    nodes: NodeColumns
    #: Nodes that the person may not read.
    hidden: int


class NodePod(ConsoleDocument):
    """A pod on a node."""

    namespace: str
    pod: str
    status: str
    #: namespace/podGroup of its job; empty for none.
    job: str
    requests: dict[str, str]


class NodeDetail(ConsoleDocument):
    """One node with the pods on it, of readable namespaces."""

    instance: str
    version: int
    node: str
    status: str
    obstacles: list[str]
    #: Why waiting pods are not placed on it, with the number of their jobs.
    refusals: dict[str, int]
    labels: dict[str, str]
    pods: list[NodePod]
    hidden_pods: int


class TopologyDomain(ConsoleDocument):
    """A domain of a topology: a HyperNode, or the nodes with one value of a label. Amounts are in base units."""

    name: str
    tier: int
    tier_name: str
    parent: str
    nodes: int
    own_nodes: list[str]
    free_nodes: int
    capacity: dict[str, float]
    used: dict[str, float]
    free: dict[str, float]
    #: Pods of each readable job.
    jobs: dict[str, int]
    hidden_jobs: int


class TopologyView(ConsoleDocument):
    """Domains, the whole cluster first, and parents before children."""

    instance: str
    version: int
    domains: list[TopologyDomain]
    #: Names of further topologies.
    topologies: list[str]
    warnings: list[str]
