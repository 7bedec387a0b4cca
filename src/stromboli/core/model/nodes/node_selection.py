"""Nodes that a pod selects by name and label: its node selector and its required node affinity.

Used by the rule that rejects other nodes and by topology spread, which counts only eligible nodes. Results are cached
with the table by the *content* of the constraint: few are different.
"""

from __future__ import annotations

import numpy as np

from stromboli.core.model.nodes.table import Mask, NodeTable
from stromboli.core.model.tasks.selectors import NodeTerm, Requirement
from stromboli.core.model.tasks.task_class import TaskClass

Selector = tuple[tuple[str, str], ...]


def selected_nodes(nodes: NodeTable, selector: Selector) -> Mask:
    """Return nodes that have every label of a node selector."""
    mask = np.ones(len(nodes), dtype=np.bool_)
    for key, value in selector:
        mask &= nodes.holding(Requirement(key, "In", (value,)))
    return mask


def required_nodes(nodes: NodeTable, terms: tuple[NodeTerm, ...]) -> Mask:
    """Return nodes that satisfy at least one term; no node satisfies an empty list."""
    mask = np.zeros(len(nodes), dtype=np.bool_)
    for term in terms:
        mask |= nodes.matching(term)
    return mask


def chosen_nodes(nodes: NodeTable, task_class: TaskClass) -> Mask:
    """Return nodes that satisfy both. Cached with the table, and read-only."""
    selector, terms = task_class.node_selector, task_class.required_node_terms
    known: Mask = nodes.remember(("chosen nodes", selector, terms), lambda table: _chosen(table, selector, terms))
    return known


def _chosen(nodes: NodeTable, selector: Selector, terms: tuple[NodeTerm, ...] | None) -> Mask:
    mask = selected_nodes(nodes, selector)
    if terms is not None:
        mask &= required_nodes(nodes, terms)
    mask.setflags(write=False)
    return mask
