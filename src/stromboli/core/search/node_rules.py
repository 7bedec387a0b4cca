"""Rules about nodes: filters and scorers.

A rule declares the scope of its result, and the framework updates the result accordingly:

* STATIC: a function of node facts (labels, taints). Evaluated once per class and node table.
* ROW: a function of a node's own amounts (idle, used, ports). The rule gets rows: all nodes, only those that
  changed, or nodes as they would be after more copies of the class. It must use operations that are exact entry by
  entry (+ - * / sqrt, comparisons), never sums or products over entries, so that all three agree to the last bit.
* CLUSTER: depends on other nodes (topology spread, inter-pod affinity). Evaluated again after each placement, unless
  it is a `SiteScorer`, or steady for the class: its members do not change the result, as with the terms of other pods.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Index, Mask, Vector
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.model.topology.sites import Sites


class Locality(Enum):
    STATIC = "static"
    ROW = "row"
    CLUSTER = "cluster"


class NodeFilter(ABC):
    """Decides on which nodes tasks of a class may run."""

    locality = Locality.ROW
    #: Used in explanations and metrics; the framework sets it to the plugin's name for rules of plugins.
    name = ""

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        """Report whether the rule applies to the class. Called once per class and cycle."""
        return True

    @abstractmethod
    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        """Return True for every node that the rule accepts."""

    def is_steady(self, task_class: TaskClass, ledger: Ledger) -> bool:
        """Report whether placing members of the class leaves the result for it unchanged. For CLUSTER rules."""
        return False

    def is_neutral(self, task_class: TaskClass, ledger: Ledger) -> bool:
        """Report whether it accepts all nodes at present. For steady CLUSTER rules: then it is not evaluated."""
        return False

    def refusal(self, task_class: TaskClass) -> Reason:
        """Return why it refuses nodes, if all refusals have the same reason."""
        return Reason(Code.PLUGIN_REFUSED, f"node(s) were refused by {self.name}", short=f"refused by {self.name}")

    def refusals(self, task_class: TaskClass, ledger: Ledger, refused: Mask) -> Iterable[tuple[Reason, Index]]:
        """Return why it refused these nodes: each reason with its nodes. Called on demand."""
        yield self.refusal(task_class), np.flatnonzero(refused)


@dataclass(frozen=True, slots=True)
class FractionScore:
    """A score that is a weighted sum of the fractions that would be in use with the pod on the node."""

    #: The score of a node whose fractions are all 0.
    base: float = 0.0
    #: Points per fraction, by dimension.
    points: Mapping[int, float] = field(default_factory=dict)


class NodeScorer(ABC):
    """Scores nodes for tasks of a class. Higher is better."""

    locality = Locality.ROW
    name = ""

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return True

    @abstractmethod
    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        """Return a number per node.

        `candidates` are the remaining nodes for CLUSTER rules, and the nodes that no static rule refuses for STATIC
        rules; ROW rules get None.
        """

    def as_fractions(self, task_class: TaskClass, ledger: Ledger) -> FractionScore | None:
        """Return the score as a weighted sum of fractions, if it is one on all nodes with capacity for the class, as
        long as `ledger.is_scored_as_used` does not change. For ROW rules: their sums are added up once per class.
        """
        return None

    def is_steady(self, task_class: TaskClass, ledger: Ledger) -> bool:
        """Report whether placing members of the class leaves the scores for it unchanged as long as a candidate with
        the lowest score and one with the highest remain. For CLUSTER rules.
        """
        return False

    def is_neutral(self, task_class: TaskClass, ledger: Ledger) -> bool:
        """Report whether the score of all nodes is 0 at present. For steady CLUSTER rules: then it is not evaluated."""
        return False


class SiteScores(Protocol):
    """Scores by site, for copies of one class that are placed in one step. They belong to the view of the class."""

    @property
    def sites(self) -> Sites: ...

    def now(self) -> Vector:
        """Start a step, in which no copies are placed yet: return the score of each site. Read-only."""

    def of_one(self, site: int, copies: int) -> float:
        """Return the score of a site after `copies` more in it."""

    def with_copies(self, site: int, copies: int) -> Vector:
        """Return the scores of the sites near `site`, by site and number j < copies, after j more copies in `site`."""

    def only_grows(self, site: int, copies: int) -> bool:
        """Report whether copies in a site never lower its score, and raise that of no other site by more."""

    def add(self, site: int, copies: int) -> None:
        """Count copies in a site as placed."""


class SiteScorer(NodeScorer):
    """A CLUSTER scorer whose score is the same for all nodes of a site and depends on how much is used in which site:
    many copies are placed in one step.
    """

    locality = Locality.CLUSTER

    @abstractmethod
    def is_by_site(self, task: Task) -> bool:
        """Report whether the scores for a task are by site."""

    @abstractmethod
    def by_site(self, task_class: TaskClass) -> SiteScores:
        """Return the scores for such tasks of a class, with the changes of the cycle so far and later ones."""
