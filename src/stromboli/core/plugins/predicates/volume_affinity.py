"""Volumes that claims have already: which nodes reach them, and in which zones they are."""

from __future__ import annotations

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Mask, NodeTable
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.selectors import Requirement
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.model.volumes.volume_table import reachable
from stromboli.core.model.volumes.volumes import NO_NEEDS, ZONE_LABELS, BoundVolume
from stromboli.core.search.node_rules import Locality, NodeFilter

_AFFINITY_REASON = Reason(Code.VOLUME_AFFINITY, "node(s) didn't match PersistentVolume's node affinity")
_ZONE_REASON = Reason(Code.VOLUME_ZONE, "node(s) had no available volume zone")


class VolumeAffinity(NodeFilter):
    """The node affinity of every volume holds."""

    locality = Locality.STATIC

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return any(volume.terms is not None for volume in _bound(task_class))

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        mask = np.ones(len(ledger.nodes), dtype=np.bool_)
        for volume in _bound(task_class):
            mask &= reachable(ledger.nodes, volume.terms)
        return mask

    def refusal(self, task_class: TaskClass) -> Reason:
        return _AFFINITY_REASON


class VolumeZone(NodeFilter):
    """The node is in a zone and region of every volume with zone labels.

    A node without any zone label passes: the cluster may have only one zone.
    """

    locality = Locality.STATIC

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return any(volume.zones for volume in _bound(task_class))

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        nodes = ledger.nodes
        mask = np.ones(len(nodes), dtype=np.bool_)
        for label, values in {zone for volume in _bound(task_class) for zone in volume.zones}:
            mask &= nodes.holding(Requirement(label, "In", values)) | _by_old_label(nodes, label, values)
        return mask | ~_has_zone_label(nodes)

    def refusal(self, task_class: TaskClass) -> Reason:
        return _ZONE_REASON


def _by_old_label(nodes: NodeTable, label: str, values: tuple[str, ...]) -> Mask:
    """Return nodes that have the deprecated label and not the current one."""
    old = nodes.holding(Requirement(ZONE_LABELS[label], "In", values))
    return old & nodes.holding(Requirement(label, "DoesNotExist"))


def _bound(task_class: TaskClass) -> tuple[BoundVolume, ...]:
    return (task_class.volumes or NO_NEEDS).bound


def _has_zone_label(nodes: NodeTable) -> Mask:
    labels = (*ZONE_LABELS, *ZONE_LABELS.values())
    known: Mask = nodes.remember(
        "nodes with zones", lambda table: table.where(lambda node: any(label in node.labels for label in labels))
    )
    return known
