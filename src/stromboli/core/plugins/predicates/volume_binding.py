"""Claims that wait for their first pod, and claims that only one pod may use."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Index, Mask
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.model.volumes.volumes import NO_NEEDS
from stromboli.core.search.node_rules import Locality, NodeFilter

_NO_VOLUME = Reason(Code.NO_VOLUME, "node(s) didn't find available persistent volumes to bind")
_NO_STORAGE = Reason(Code.NO_STORAGE, "node(s) did not have enough free storage")
_IN_USE = Reason(
    Code.VOLUME_IN_USE,
    "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode",
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
