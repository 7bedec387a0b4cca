"""Nodes as columns of numbers, from an open session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stromboli.core.model.nodes.table import Mask
from stromboli.core.model.resources.resources import PODS, UNLIMITED, counts_in_milli
from stromboli.core.session.session import Session
from stromboli.planner.overview.node_list import obstacles_of, status_of_node

#: Classes of waiting pods that are compared with the free capacity of every node.
_MAX_CLASSES = 200
_MILLI = 1000.0

Column = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """Columns of all nodes, in the order of their names. Amounts are in the base unit of their resource."""

    names: Sequence[str]
    statuses: Sequence[str]
    domains: Sequence[str]
    obstacles: Sequence[str]
    pods: Sequence[int]
    fragmented: Mask
    capacity: Mapping[str, Column]
    used: Mapping[str, Column]
    reserved: Mapping[str, Column]

    def equals(self, other: NodeFacts) -> bool:
        """Report whether both show the same."""
        texts = ("names", "statuses", "domains", "obstacles", "pods")
        if any(getattr(self, name) != getattr(other, name) for name in texts):
            return False
        blocks = ("capacity", "used", "reserved")
        return bool(np.array_equal(self.fragmented, other.fragmented)) and all(
            getattr(self, name).keys() == getattr(other, name).keys()
            and all(np.array_equal(column, getattr(other, name)[each]) for each, column in getattr(self, name).items())
            for name in blocks
        )


def in_units(session: Session, dimension: int, amount: float) -> float:
    """Return an amount in the base unit of its resource: cores, bytes, or a count."""
    return amount / _MILLI if counts_in_milli(session.axis.names[dimension]) else float(amount)


def amounts_in_units(session: Session, amounts: Sequence[int]) -> dict[str, float]:
    """Return the limited amounts above zero by resource."""
    names = session.axis.names
    return {names[d]: in_units(session, d, amount) for d, amount in enumerate(amounts) if 0 < amount < UNLIMITED}


def node_facts(session: Session) -> NodeFacts:
    """Return the nodes of an open session."""
    rows, nodes = session.ledger.all_rows, session.nodes.nodes
    order = np.argsort(np.array(session.nodes.names, dtype=object)) if len(nodes) else np.zeros(0, dtype=np.int64)
    ordered = [nodes[row] for row in order.tolist()]
    offered = [d for d in range(len(session.axis)) if d != PODS and rows.allocatable(d).any()]
    reserved = session.ledger.nominated

    def column(d: int, values: NDArray[np.int64]) -> Column:
        divisor = _MILLI if counts_in_milli(session.axis.names[d]) else 1.0
        result: Column = np.maximum(values[order], 0) / divisor
        return result

    names, domains = session.axis.names, _domains(session)
    return NodeFacts(
        names=[node.name for node in ordered],
        statuses=[status_of_node(node) for node in ordered],
        domains=[domains[row] for row in order.tolist()],
        obstacles=["; ".join(obstacles_of(node)) for node in ordered],
        pods=rows.used(PODS)[order].tolist(),
        fragmented=_fragmented(session, offered)[order],
        capacity={names[d]: column(d, rows.allocatable(d)) for d in offered},
        used={names[d]: column(d, rows.used(d)) for d in offered},
        reserved={names[d]: column(d, reserved[d]) for d in offered if reserved[d].any()},
    )


def _domains(session: Session) -> Sequence[str]:
    """Return the lowest domain of each node, of the HyperNodes or else of a Topology; empty for the whole cluster."""
    snapshot = session.snapshot
    tree = snapshot.hyper_nodes or next(iter(snapshot.topologies.values()), snapshot.hyper_nodes)
    if not tree or len(tree.lowest) != len(session.nodes):
        return [""] * len(session.nodes)
    return ["" if place == tree.top else tree.name(place) for place in tree.lowest.tolist()]


def _fragmented(session: Session, offered: Sequence[int]) -> Mask:
    """Return the nodes with free capacity on which no waiting pod fits by its request, while pods wait."""
    rows = session.ledger.all_rows
    requests = _waiting_requests(session)
    none: Mask = np.zeros(len(session.nodes), dtype=bool)
    if not requests or not len(session.nodes):
        return none
    has_free, fits = none.copy(), none.copy()
    for dimension in offered:
        has_free |= rows.idle(dimension) > 0
    for request in requests:
        fits |= rows.have_idle([(d, np.asarray(amount)) for d, amount in request])
    return has_free & ~fits


def _waiting_requests(session: Session) -> Sequence[Sequence[tuple[int, int]]]:
    found: dict[int, Sequence[tuple[int, int]]] = {}
    for key in session.snapshot.waiting:
        for task in session.jobs[key].tasks.values():
            if session.ledger.is_pending(task):
                found.setdefault(task.task_class.number, task.task_class.request)
                if len(found) >= _MAX_CLASSES:
                    return list(found.values())
                break  # members of a job are alike in all but few jobs
    return list(found.values())
