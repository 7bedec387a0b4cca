"""Report of the network domains: capacity, usage and jobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stromboli import kube
from stromboli.cluster.objects.nodes import MANY_PODS
from stromboli.core.model.nodes.amounts import Block
from stromboli.core.model.nodes.shards import ShardMembership
from stromboli.core.model.nodes.table import Mask
from stromboli.core.model.resources.resources import PODS
from stromboli.core.model.snapshot import Snapshot
from stromboli.core.model.tasks.task import OCCUPYING_STATUSES
from stromboli.core.model.topology.hypernodes import HyperNodeTree

NO_NODES = "the manifests contain no Node, so all domains are empty; add the nodes"


@dataclass(frozen=True, slots=True)
class DomainReport:
    """One domain. Amounts are sums over all its nodes, by resource."""

    name: str
    tier: int
    tier_name: str
    #: The parent domain; empty for the whole cluster.
    parent: str
    nodes: int
    #: Names of the nodes that are in no smaller domain.
    own_nodes: tuple[str, ...]
    capacity: Mapping[str, str]
    used: Mapping[str, str]
    #: Idle amounts on schedulable nodes.
    free: Mapping[str, str]
    #: Number of schedulable nodes without pods, except finished ones and those of DaemonSets.
    free_nodes: int
    #: Number of pods of each job, largest first.
    jobs: Mapping[str, int]
    #: Number of nodes in the shard; None without a shard.
    our_nodes: int | None = None


@dataclass(frozen=True, slots=True)
class TopologyReport:
    """All domains: the whole cluster first, and parents before children."""

    domains: Sequence[DomainReport]
    #: Resources of the nodes, in the order of the columns.
    resources: Sequence[str]
    warnings: Sequence[str]
    #: The Topology of the domains; empty for HyperNodes.
    name: str = ""


class UnknownTopology(ValueError):
    """A Topology with this name does not exist."""


def topology_of(
    snapshot: Snapshot, pods: Iterable[kube.Pod], name: str = "", *, is_sharded: bool = False
) -> TopologyReport:
    """Report the domains of HyperNodes, or of the named Topology; `pods` are all pods on nodes.

    For the snapshot of a shard, the report includes the number of its nodes. Raises UnknownTopology.
    """
    look = _Look(snapshot, pods, _tree_of(snapshot, name), is_sharded=is_sharded)
    warnings = list(snapshot.warnings) if len(snapshot.nodes) else [NO_NODES, *snapshot.warnings]
    return TopologyReport([look.domain(place) for place in look.in_order()], look.resources(), warnings, name)


def _tree_of(snapshot: Snapshot, name: str) -> HyperNodeTree:
    if not name:
        return snapshot.hyper_nodes
    if name not in snapshot.topologies:
        known = ", ".join(sorted(snapshot.topologies)) or "none"
        raise UnknownTopology(f"there is no valid Topology {name!r}; valid ones: {known}")
    return snapshot.topologies[name]


class _Look:
    """Sums over all domains of a snapshot, computed once."""

    def __init__(self, snapshot: Snapshot, pods: Iterable[kube.Pod], tree: HyperNodeTree, *, is_sharded: bool) -> None:
        self._snapshot = snapshot
        self._tree = tree
        layout, amounts, size = snapshot.layout, snapshot.amounts, snapshot.layout.resources
        excluded_nodes = ShardMembership.EXCLUDED
        takes_pods = snapshot.nodes.where(
            lambda node: node.ready and not node.unschedulable and node.belonging is not excluded_nodes
        )
        ours = snapshot.nodes.where(lambda node: node.belonging is ShardMembership.OURS)
        self._ours = self._tree.sums(ours.astype(np.int64)) if is_sharded else None
        idle = np.maximum(amounts[layout.idle : layout.idle + size], 0)
        self._capacity = self._sums(amounts[layout.allocatable : layout.allocatable + size])
        self._used = self._sums(amounts[layout.used : layout.used + size])
        self._free = self._sums(idle * takes_pods)
        unlimited = self._capacity[PODS] >= MANY_PODS  # some node has no pod limit
        self._capacity[PODS, unlimited] = self._free[PODS, unlimited] = 0
        self._free_nodes = self._tree.sums((takes_pods & ~self._busy(pods)).astype(np.int64))
        self._keys, self._of_job, self._row = self._placed()

    def _sums(self, amounts: Block) -> Block:
        """By resource and domain."""
        return np.array([self._tree.sums(row) for row in amounts], dtype=np.int64)

    def _busy(self, pods: Iterable[kube.Pod]) -> Mask:
        active = (pod for pod in pods if not pod.status.is_finished)
        owners = ((pod.spec.node_name, pod.metadata.owner_references or ()) for pod in active)
        names = {name for name, those in owners if not any(owner.kind == "DaemonSet" for owner in those)}
        return self._snapshot.nodes.where(lambda node: node.name in names)

    def _placed(self) -> tuple[list[str], Block, Block]:
        """Return the keys of all jobs; and for every task on a node, the number of its job and the row of the node."""
        keys = sorted(self._snapshot.jobs)
        numbers, rows = [], []
        places = np.where(np.isin(self._snapshot.status, OCCUPYING_STATUSES), self._snapshot.node_of, -1).tolist()
        for number, key in enumerate(keys):
            for task in self._snapshot.jobs[key].tasks.values():
                if places[task.row] >= 0:
                    numbers.append(number)
                    rows.append(places[task.row])
        return keys, np.array(numbers, dtype=np.int64), np.array(rows, dtype=np.int64)

    def resources(self) -> list[str]:
        """Return the resources of any node, except pods."""
        names, total = self._snapshot.axis.names, self._capacity[:, self._tree.top]
        return [names[dimension] for dimension in np.flatnonzero(total).tolist() if dimension != PODS]

    def in_order(self) -> list[int]:
        """Return the positions of all domains, parents before children, children by name."""
        order: list[int] = []
        waiting = [self._tree.top]
        below: dict[int, list[int]] = {}
        for place, chain in enumerate(self._tree.around[: self._tree.top]):
            below.setdefault(chain[1], []).append(place)
        while waiting:
            place = waiting.pop()
            order.append(place)
            waiting += sorted(below.get(place, ()), key=self._tree.name, reverse=True)
        return order

    def domain(self, place: int) -> DomainReport:
        described, chain = self._tree.hyper_nodes[place], self._tree.around[place]
        names, rows = self._snapshot.nodes.names, self._tree.rows(place)
        return DomainReport(
            name=described.name,
            tier=described.tier,
            tier_name=described.tier_name,
            parent=self._tree.name(chain[1]) if len(chain) > 1 else "",
            nodes=len(rows),
            own_nodes=tuple(names[row] for row in rows.tolist() if self._tree.lowest[row] == place),
            capacity=self._quantities(self._capacity, place),
            used=self._quantities(self._used, place),
            free=self._quantities(self._free, place),
            free_nodes=int(self._free_nodes[place]),
            jobs=self._jobs(place),
            our_nodes=None if self._ours is None else int(self._ours[place]),
        )

    def _quantities(self, sums: Block, place: int) -> dict[str, str]:
        return self._snapshot.axis.as_quantities(sums[:, place].tolist())

    def _jobs(self, place: int) -> dict[str, int]:
        found, counts = np.unique(self._of_job[self._tree.inside(place)[self._row]], return_counts=True)
        most_first = sorted(zip((-counts).tolist(), found.tolist(), strict=True))
        return {self._keys[number]: -count for count, number in most_first}


def topology_as_plain(topology: TopologyReport) -> dict[str, Any]:
    """Return the report as plain values for JSON: the keys are stable, and keys may be added."""
    return {"domains": [_domain_as_plain(domain) for domain in topology.domains], "warnings": list(topology.warnings)}


def _domain_as_plain(domain: DomainReport) -> dict[str, Any]:
    return {
        "name": domain.name,
        "tier": domain.tier,
        "tierName": domain.tier_name,
        "parent": domain.parent,
        "nodes": domain.nodes,
        "freeNodes": domain.free_nodes,
        **({} if domain.our_nodes is None else {"shardNodes": domain.our_nodes}),
        "ownNodes": list(domain.own_nodes),
        "capacity": dict(domain.capacity),
        "used": dict(domain.used),
        "free": dict(domain.free),
        "jobs": dict(domain.jobs),
    }
