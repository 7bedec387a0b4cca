"""Rules about a node alone: its state, labels, taints and host ports."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.node_selection import chosen_nodes, selected_nodes
from stromboli.core.model.nodes.table import Index, Mask, NodeTable, Taint
from stromboli.core.model.nodes.taints import (
    REPELLING_EFFECTS,
    Tolerance,
    taint_lists,
    tolerated_nodes,
    tolerates,
)
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.search.class_cache import ClassCache
from stromboli.core.search.node_rules import Locality, NodeFilter

_CORDONED = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
#: The effect matters: admission gives every pod a toleration of `not-ready:NoExecute`, which means that a running
#: pod may stay for a while, not that a new one should come.
_NOT_READY = Taint("node.kubernetes.io/not-ready", "", "NoSchedule")

_UNSCHEDULABLE_REASON = Reason(Code.NODE_UNSCHEDULABLE, "node(s) were unschedulable")
_NOT_READY_REASON = Reason(Code.NODE_NOT_READY, "node(s) were not ready")


class Availability(NodeFilter):
    """A cordoned node takes only pods that tolerate the taint of cordoning; likewise a node that is not ready."""

    locality = Locality.STATIC

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return bool(_cordoned(ledger.nodes).any() or _unready(ledger.nodes).any())

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        refused = np.zeros(len(ledger.nodes), dtype=np.bool_)
        if not tolerates(task_class.tolerations, _CORDONED):
            refused |= _cordoned(ledger.nodes)
        if not tolerates(task_class.tolerations, _NOT_READY):
            refused |= _unready(ledger.nodes)
        return ~refused

    def refusals(self, task_class: TaskClass, ledger: Ledger, refused: Mask) -> Iterable[tuple[Reason, Index]]:
        cordoned = refused & _cordoned(ledger.nodes)
        if tolerates(task_class.tolerations, _CORDONED):
            cordoned[:] = False
        for reason, mask in ((_UNSCHEDULABLE_REASON, cordoned), (_NOT_READY_REASON, refused & ~cordoned)):
            if mask.any():
                yield reason, np.flatnonzero(mask)


def _cordoned(nodes: NodeTable) -> Mask:
    known: Mask = nodes.remember("cordoned nodes", lambda table: table.where(lambda node: node.unschedulable))
    return known


def _unready(nodes: NodeTable) -> Mask:
    known: Mask = nodes.remember("unready nodes", lambda table: table.where(lambda node: not node.ready))
    return known


_MESSAGE = "node(s) didn't match Pod's node affinity/selector"
_SELECTOR_REASON = Reason(Code.NODE_SELECTOR, _MESSAGE)
_AFFINITY_REASON = Reason(Code.NODE_AFFINITY, _MESSAGE)


class NodeAffinity(NodeFilter):
    """Both must hold: every label of the selector, and at least one term of the affinity."""

    locality = Locality.STATIC

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return bool(task_class.node_selector) or task_class.required_node_terms is not None

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        return chosen_nodes(ledger.nodes, task_class)

    def refusals(self, task_class: TaskClass, ledger: Ledger, refused: Mask) -> Iterable[tuple[Reason, Index]]:
        """Both reasons have kube-scheduler's message; the code identifies the one to change."""
        unselected = refused & ~selected_nodes(ledger.nodes, task_class.node_selector)
        for reason, mask in ((_SELECTOR_REASON, unselected), (_AFFINITY_REASON, refused & ~unselected)):
            if mask.any():
                yield reason, np.flatnonzero(mask)


class Taints(NodeFilter):
    """Every taint with effect NoSchedule or NoExecute must be tolerated."""

    locality = Locality.STATIC

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return taint_lists(ledger.nodes).has_effect(*REPELLING_EFFECTS)

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        return tolerated_nodes(ledger.nodes, task_class.tolerations)

    def refusals(self, task_class: TaskClass, ledger: Ledger, refused: Mask) -> Iterable[tuple[Reason, Index]]:
        """One group per untolerated taint: the first of each node, as kube-scheduler reports it."""
        distinct, rows = taint_lists(ledger.nodes), np.flatnonzero(refused)
        codes, tolerance = distinct.codes[rows], Tolerance(task_class.tolerations)
        groups: dict[str, list[Index]] = {}
        for code in np.flatnonzero(np.bincount(codes)).tolist():
            taint = tolerance.first_uncovered(distinct.lists[code])
            groups.setdefault(str(taint), []).append(rows[codes == code])
        for taint_text, parts in groups.items():
            short = f"untolerated taint {taint_text.strip('{}').replace(': ', '=').rstrip('=')}"
            reason = Reason(Code.TAINT, f"node(s) had untolerated taint {taint_text}", short=short)
            yield reason, np.sort(np.concatenate(parts)) if len(parts) > 1 else parts[0]


_PORT_REASON = Reason(Code.HOST_PORT, "node(s) didn't have free ports for the requested pod ports")


class HostPorts(NodeFilter):
    """No pod of the node may hold a port that conflicts with one the class requests."""

    locality = Locality.ROW

    def __init__(self) -> None:
        self._excluding = ClassCache(_excluding)

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return bool(task_class.ports)

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        """A class excludes itself, so a node that would have a copy of it does not take another one."""
        free = np.ones(len(rows), dtype=np.bool_) if rows.copies is None else rows.copies == 0
        for number in self._excluding.of(task_class, ledger):
            pods = ledger.tally(number)
            if pods is not None:
                free &= (pods if rows.index is None else pods[rows.index]) == 0
        return free

    def refusal(self, task_class: TaskClass) -> Reason:
        return _PORT_REASON


def _excluding(task_class: TaskClass, ledger: Ledger) -> list[int]:
    """Return the tallies of the pods whose ports conflict with those of the class, its own included."""
    number = ledger.terms.find(task_class.ports)
    return [] if number is None else ledger.terms.ports.excluding(number)
