"""Who has a home stays near it; who has none at the moment is tried first where it was, or was promised room."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from stromboli.core.config.plugin import Domain
from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.resources.resources import Request
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.topology.hypernodes import HyperNodeTree
from stromboli.core.plugins.network_topology_aware.constraints import Reach
from stromboli.core.plugins.network_topology_aware.gradients import Gradients
from stromboli.core.topology.domain_group import DomainGroup, group_of
from stromboli.core.topology.previous_domains import enclosing_domain


class PreviousDomainFirst:
    """Groups of domains in the order in which a job or a sub-job looks at them."""

    def __init__(self, tree: HyperNodeTree, ledger: Ledger, gradients: Gradients, rows: Mapping[str, int]) -> None:
        """`rows` are those of the nodes, by name."""
        self._tree = tree
        self._ledger = ledger
        self._gradients = gradients
        self._rows = rows

    def groups(
        self, root: Domain, reach: Reach, tasks: Collection[Task], last: str, minimum: Request | None = None
    ) -> Sequence[DomainGroup]:
        """Domains within reach; `last` is the name of the one in which the tasks were."""
        home = enclosing_domain(self._tree, self._ledger, tasks)
        groups = self._gradients.groups(root, reach, home, minimum)
        if home is not None:
            return self._around(home, groups)
        return groups if root.evictions_allowed_inside else self._beginning_with(self._last(tasks, last), groups)

    def _around(self, home: int, groups: Sequence[DomainGroup]) -> Sequence[DomainGroup]:
        """The home and what is around it: with anything else the tasks are as far apart as with the smallest domain
        around both, in which the parts that are in use come first anyway.
        """
        marked = np.zeros(len(self._tree.hyper_nodes), dtype=np.bool_)
        marked[list(self._tree.around[home])] = True
        return [near for group in groups if (near := group.where(marked))] or groups

    def _last(self, tasks: Collection[Task], last: str) -> int | None:
        """The smallest domain around the rooms that were promised to tasks; where nothing was, the last home."""
        promised = {self._rows.get(task.nominated_node, -1) for task in tasks if task.nominated_node} - {-1}
        place = self._tree.around_nodes(promised) if promised else self._tree.index.get(last)
        return None if place == self._tree.top else place

    def _beginning_with(self, last: int | None, groups: Sequence[DomainGroup]) -> Sequence[DomainGroup]:
        """The closest domain around the last home that is on offer comes first; then everything else as always."""
        around = () if last is None else self._tree.around[last][:-1]
        kept = next((place for place in around if any(place in group.places for group in groups)), None)
        if kept is None:
            return groups
        others = np.arange(len(self._tree.hyper_nodes)) != kept
        first = group_of([replace(self._gradients.domain(kept), kept=True)])
        return [first, *(rest for group in groups if (rest := group.where(others)))]
