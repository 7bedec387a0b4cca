"""Topology spread: the number of matching pods in each domain that a constraint compares.

A constraint compares only domains with at least one eligible node: it has the topology labels of all constraints
evaluated together, and satisfies the inclusion policies (node affinity, taints). Only pods on such nodes are counted.
All of this depends on nodes alone, so it is computed once per class; per query only the tally is summed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.node_selection import chosen_nodes
from stromboli.core.model.nodes.table import Index, Mask, NodeTable, Vector
from stromboli.core.model.nodes.taints import tolerated_nodes
from stromboli.core.model.tasks.task_class import SpreadConstraint, TaskClass
from stromboli.core.model.topology.label_domains import LabelDomains, label_domains


@dataclass(frozen=True, slots=True, eq=False)
class SpreadDomains:
    """One constraint of a class, ready for counting."""

    constraint: SpreadConstraint
    #: Number of the tally; None if no pod can ever match.
    number: int | None
    #: Domain of every node.
    domains: LabelDomains
    #: Domain of every eligible node.
    counting: LabelDomains
    #: Indices of the domains that are compared.
    compared: Index

    def totals(self, ledger: Ledger) -> Vector:
        """Count matching pods by domain index; 0 for domains that are not compared."""
        tally = None if self.number is None else ledger.tally(self.number)
        return np.zeros(self.counting.size) if tally is None else self.counting.totals(tally)

    def fewest(self, totals: Vector) -> float:
        """Return the lowest count in a compared domain; 0 while there are fewer domains than minDomains."""
        if len(self.compared) < max(1, self.constraint.min_domains):
            return 0.0
        return float(totals[self.compared].min())


@dataclass(frozen=True, slots=True, eq=False)
class SpreadPlan:
    """Constraints of a class that are evaluated together."""

    #: Nodes that have the topology labels of all of them.
    labelled: Mask
    constraints: tuple[SpreadDomains, ...]


def spread_plan(task_class: TaskClass, constraints: Sequence[SpreadConstraint], ledger: Ledger) -> SpreadPlan:
    nodes = ledger.nodes
    labelled = np.ones(len(nodes), dtype=np.bool_)
    for constraint in constraints:
        labelled &= label_domains(nodes, constraint.topology_key).places > 0
    return SpreadPlan(labelled, tuple(_domains(task_class, each, labelled, ledger) for each in constraints))


def _domains(task_class: TaskClass, constraint: SpreadConstraint, labelled: Mask, ledger: Ledger) -> SpreadDomains:
    domains = label_domains(ledger.nodes, constraint.topology_key)
    counts = labelled & _honoured(ledger.nodes, task_class, constraint)
    counting = LabelDomains(np.where(counts, domains.places, 0), domains.size)
    number = ledger.terms.find(constraint.term)
    return SpreadDomains(constraint, number, domains, counting, np.unique(domains.places[counts]))


def _honoured(nodes: NodeTable, task_class: TaskClass, constraint: SpreadConstraint) -> Mask:
    """Return the nodes that the constraint's inclusion policies count."""
    mask = np.ones(len(nodes), dtype=np.bool_)
    if constraint.honor_node_affinity:
        mask &= chosen_nodes(nodes, task_class)
    if constraint.honor_node_taints:
        mask &= tolerated_nodes(nodes, task_class.tolerations)
    return mask
