"""How many volumes of a storage driver a node can hold."""

from __future__ import annotations

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Mask
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.model.volumes.volumes import NO_NEEDS
from stromboli.core.search.node_rules import Locality, NodeFilter

_REASON = Reason(Code.VOLUME_LIMIT, "node(s) exceed max volume count")


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
        return _REASON
