"""The plugin: its arguments, and the groups that count for each queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.config.plugin import Event, Plugin
from stromboli.core.model.queues.queue import NO_NODE_GROUPS, ROOT, NodeGroups, Queue
from stromboli.core.model.tasks.task_class import QUEUE
from stromboli.core.plugins.nodegroup.affinity import Belonging, Preference
from stromboli.core.plugins.nodegroup.limits import GroupLimitFilter, QueueGroupLimits
from stromboli.core.search.node_rules import NodeFilter, NodeScorer

if TYPE_CHECKING:
    from stromboli.core.session.session import Session


class NodeGroupArguments(Arguments):
    strict: bool = Argument("strict", True, "Whether queues without an affinity may not use nodes without a group.")
    preferred_order: bool = Argument(
        "enablePreferredOrder", False, "Whether preferred groups score by their order, the first best."
    )


class NodeGroup(Plugin):
    name = "nodegroup"
    arguments = NodeGroupArguments()
    reads_annotations = (QUEUE,)

    def __init__(self, arguments: NodeGroupArguments, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy)
        self._limits = QueueGroupLimits()
        self._belonging = Belonging(self._limits, strict=arguments.strict)
        self._preference = Preference(in_order=arguments.preferred_order)
        self._filters = (self._belonging, GroupLimitFilter(self._limits))

    def open(self, session: Session) -> None:
        self._limits.open(session)
        groups = {name: self._groups_of(queue, session.queues) for name, queue in session.queues.items()}
        self._belonging.groups = self._preference.groups = groups

    def _groups_of(self, queue: Queue, queues: Mapping[str, Queue]) -> NodeGroups:
        """Return the groups of a queue; in a hierarchy, otherwise those of its nearest ancestor with any."""
        seen: set[str] = set()
        above: Queue | None = queue
        while above is not None and not above.node_groups and self.hierarchy and above.name not in seen:
            seen.add(above.name)
            above = queues.get(above.parent or ROOT)
        return above.node_groups if above is not None else NO_NODE_GROUPS

    def node_filters(self) -> Sequence[NodeFilter]:
        return self._filters

    def node_scorers(self) -> Sequence[NodeScorer]:
        return [self._preference]

    def on_allocate(self, event: Event) -> None:
        self._limits.add(event, 1)

    def on_deallocate(self, event: Event) -> None:
        self._limits.add(event, -1)
