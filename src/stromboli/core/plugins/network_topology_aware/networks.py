"""The networks of a cluster: the one that HyperNodes describe, and those derived from node labels."""

from __future__ import annotations

from collections.abc import Mapping

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.topology.hypernodes import HyperNodeTree
from stromboli.core.plugins.network_topology_aware.constraints import TopologyConstraints, UnknownTier
from stromboli.core.plugins.network_topology_aware.domain_amounts import DomainAmounts
from stromboli.core.plugins.network_topology_aware.gradients import Gradients
from stromboli.core.plugins.network_topology_aware.packing import DomainPacking
from stromboli.core.plugins.network_topology_aware.previous_domains import PreviousDomainFirst
from stromboli.core.session.session import Session


class Network:
    """One tree of domains, with the state of a cycle."""

    def __init__(self, tree: HyperNodeTree, session: Session, weights: Mapping[str, int], name: str = "") -> None:
        self.tree = tree
        self.constraints = TopologyConstraints(tree, name)
        amounts = DomainAmounts(tree, session.ledger)
        self.gradients = Gradients(tree, amounts)
        self.staying = PreviousDomainFirst(tree, session.ledger, self.gradients, session.nodes.index)
        self.packing = DomainPacking(tree, session.ledger, session.axis, weights, amounts)


class Networks:
    """Each is made when the first job asks for it."""

    def __init__(self, session: Session, weights: Mapping[str, int]) -> None:
        self._session = session
        self._weights = weights
        self._topologies = session.snapshot.topologies
        self.of_hyper_nodes = Network(session.snapshot.hyper_nodes, session, weights)
        self._by_name: dict[str, Network] = {"": self.of_hyper_nodes}

    def __bool__(self) -> bool:
        """Report whether any domain is known beyond the cluster itself."""
        return bool(self.of_hyper_nodes.tree) or any(self._topologies.values())

    def of_job(self, job: Job) -> Network:
        """Return the network that the constraints of a job refer to. Raises UnknownTier."""
        name = job.spec.network
        known = self._by_name.get(name)
        if known is None:
            known = self._by_name[name] = Network(self._tree(name), self._session, self._weights, name)
        return known

    def _tree(self, name: str) -> HyperNodeTree:
        tree = self._topologies.get(name)
        if tree is None:
            known = ", ".join(sorted(self._topologies)) or "none"
            raise UnknownTier(f"there is no Topology {name!r} that makes sense; there are: {known}")
        return tree
