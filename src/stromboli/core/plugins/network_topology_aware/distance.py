"""Scores of single nodes: near the running tasks of a job, or in domains that are filling up."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import TYPE_CHECKING

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Mask, Vector
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.model.topology.hypernodes import HyperNodeTree
from stromboli.core.search.node_rules import Locality, NodeScorer

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

#: The score of each node for a task, between 0 and 1; None without an opinion.
DistanceScore = Callable[[Task], Vector | None]


class DomainDistance(NodeScorer):
    """Asks about the task at hand, for classes that have such tasks."""

    locality = Locality.CLUSTER

    def __init__(self, top: float, opinion: DistanceScore) -> None:
        self._top = top
        self._opinion = opinion
        self._session: Session | None = None
        self._classes: Set[int] = frozenset()

    def open(self, session: Session, classes: Set[int]) -> None:
        self._session, self._classes = session, classes

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return task_class.number in self._classes

    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        task = self._session.search.asking if self._session else None
        opinion = self._opinion(task) if task is not None else None
        return np.zeros(len(rows)) if opinion is None else opinion * self._top


def near_previous_domain(tree: HyperNodeTree, own_domain: int, members: Vector, candidates: int) -> Vector:
    """Return 1 for nodes in the domain of the job, less with the tier of the smallest domain around both. The best
    nodes get more for job members in their closest domain.
    """
    lowest, highest = min(tree.tiers), tree.tiers[tree.top]
    by_domain = np.ones(tree.top + 1)
    for place in range(tree.top + 1):
        if place != own_domain and highest > lowest:
            by_domain[place] = (highest - tree.tiers[tree.common((place, own_domain))]) / (highest - lowest)
    scores: Vector = by_domain[tree.lowest]
    best = scores == scores.max(initial=0.0)
    return np.where(best, scores + members[tree.lowest] / max(candidates, 1), scores)
