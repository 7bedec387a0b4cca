"""Rules about volumes: node affinity and zones of bound ones, volumes for claims, and limits of drivers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Index, Mask, NodeTable
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


_NO_VOLUME = Reason(Code.NO_VOLUME, "node(s) didn't find available persistent volumes to bind")
_NO_STORAGE = Reason(Code.NO_STORAGE, "node(s) did not have enough free storage")
_IN_USE = Reason(
    Code.VOLUME_IN_USE,
    "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode",
    short="claim in use by another pod",
)


class VolumeBinding(NodeFilter):
    """Every claim that waits gets a volume on the node: one that is free, or one that can be made there."""

    locality = Locality.CLUSTER

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        needs = task_class.volumes or NO_NEEDS
        return bool(needs.waiting or needs.exclusive)

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        return ledger.volumes.satisfiable(task_class.volumes or NO_NEEDS, later=rows.later)

    def refusals(self, task_class: TaskClass, ledger: Ledger, refused: Mask) -> Iterable[tuple[Reason, Index]]:
        """Report missing storage where only that is lacking; elsewhere a missing volume."""
        needs, volumes = task_class.volumes or NO_NEEDS, ledger.volumes
        if volumes.is_in_use(needs):
            yield _IN_USE, np.flatnonzero(refused)
            return
        possible = np.full(len(ledger.nodes), any(claim.checks_capacity for claim in needs.waiting))
        for claim in needs.waiting:
            possible &= (volumes.free(claim) > 0) | volumes.provisionable(claim)
        for reason, mask in ((_NO_STORAGE, refused & possible), (_NO_VOLUME, refused & ~possible)):
            if mask.any():
                yield reason, np.flatnonzero(mask)


_LIMIT_REASON = Reason(Code.VOLUME_LIMIT, "node(s) exceed max volume count")


class VolumeLimits(NodeFilter):
    """With the volumes of one more pod the node stays within the limits of its CSINode.

    A volume counts once on a node, however many pods use it.
    """

    locality = Locality.CLUSTER

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return bool((task_class.volumes or NO_NEEDS).attachments)

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        return ledger.volumes.within_limits(task_class.volumes or NO_NEEDS, later=rows.later)

    def refusal(self, task_class: TaskClass) -> Reason:
        return _LIMIT_REASON
