"""How many volumes of a storage driver a node can hold."""

from __future__ import annotations

from stromboli.framework.node_rules import Locality, NodeFilter
from stromboli.model.books import Rows
from stromboli.model.ledger import Ledger
from stromboli.model.nodes import Mask
from stromboli.model.reasons import Code, Reason
from stromboli.model.task_class import TaskClass
from stromboli.model.volumes import NO_NEEDS

_REASON = Reason(Code.VOLUME_LIMIT, "node(s) exceed max volume count")


class VolumeLimits(NodeFilter):
    """With the volumes of one more pod the node stays within what its CSINode says of each driver.

    A volume counts once on a node, however many pods use it.
    """

    locality = Locality.CLUSTER

    def concerns(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return bool((task_class.volumes or NO_NEEDS).attachments)

    def admits(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        return ledger.volumes.within_limits(task_class.volumes or NO_NEEDS, later=rows.later)

    def refusal(self, task_class: TaskClass) -> Reason:
        return _REASON
