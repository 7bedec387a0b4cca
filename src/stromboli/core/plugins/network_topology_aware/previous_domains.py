"""Jobs with running tasks stay near them; jobs without are tried first where they ran before, or have nominated
capacity.
"""

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
    """Groups of domains in the order in which they are tried for a job or a sub-job."""

    def __init__(self, tree: HyperNodeTree, ledger: Ledger, gradients: Gradients, rows: Mapping[str, int]) -> None:
        """`rows` are those of the nodes, by name."""
        self._tree = tree
        self._ledger = ledger
        self._gradients = gradients
        self._rows = rows

    def groups(
        self, root: Domain, reach: Reach, tasks: Collection[Task], last: str, minimum: Request | None = None
    ) -> Sequence[DomainGroup]:
        """The domains within reach; `last` names the previous domain of the tasks."""
        own_domain = enclosing_domain(self._tree, self._ledger, tasks)
        groups = self._gradients.groups(root, reach, own_domain, minimum)
        if own_domain is not None:
            return self._around(own_domain, groups)
        return groups if root.evictions_allowed_inside else self._beginning_with(self._last(tasks, last), groups)

    def _around(self, own_domain: int, groups: Sequence[DomainGroup]) -> Sequence[DomainGroup]:
        """Return the domain of the job and its ancestors: any other domain is as far away as the smallest domain around
        both, in which the used parts come first anyway.
        """
        marked = np.zeros(len(self._tree.hyper_nodes), dtype=np.bool_)
        marked[list(self._tree.around[own_domain])] = True
        return [near for group in groups if (near := group.where(marked))] or groups

    def _last(self, tasks: Collection[Task], last: str) -> int | None:
        """Return the smallest domain around nominated capacity; without any, the previous domain."""
        nominated = {self._rows.get(task.nominated_node, -1) for task in tasks if task.nominated_node} - {-1}
        place = self._tree.around_nodes(nominated) if nominated else self._tree.index.get(last)
        return None if place == self._tree.top else place

    def _beginning_with(self, last: int | None, groups: Sequence[DomainGroup]) -> Sequence[DomainGroup]:
        """Put the closest candidate around the previous domain first, then the others in their order."""
        around = () if last is None else self._tree.around[last][:-1]
        kept = next((place for place in around if any(place in group.places for group in groups)), None)
        if kept is None:
            return groups
        others = np.arange(len(self._tree.hyper_nodes)) != kept
        first = group_of([replace(self._gradients.domain(kept), kept=True)])
        return [first, *(rest for group in groups if (rest := group.where(others)))]
