"""Rules about nodes: which may take a class of tasks, and which are better.

A rule says how far its answer reaches, and the framework keeps the answer fresh accordingly:

* STATIC: a function of the facts of nodes (labels, taints). Asked once per class and table of nodes.
* ROW: a function of a node's own amounts (idle, used, ports). The rule is given rows: all nodes, only those that
  changed, or nodes as they would be after more copies of the class. It must use operations that are exact entry by
  entry (+ - * / sqrt, comparisons), never sums or products over entries, so that all three agree to the last bit.
* CLUSTER: depends on what stands elsewhere (spreading, affinity between pods). Asked again after each placement.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from enum import Enum

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Index, Mask, Vector
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task_class import TaskClass


class Locality(Enum):
    STATIC = "static"
    ROW = "row"
    CLUSTER = "cluster"


class NodeFilter(ABC):
    """May tasks of a class run on these nodes?"""

    locality = Locality.ROW
    #: Named in explanations and metrics; the framework sets it to the plugin's name for rules of plugins.
    name = ""

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        """Whether the rule has anything to say about the class. Asked once per class and cycle."""
        return True

    @abstractmethod
    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        """True for every node that the rule accepts."""

    def refusal(self, task_class: TaskClass) -> Reason:
        """Why it refuses nodes, when there is one reason for all of them."""
        return Reason(Code.PLUGIN_REFUSED, f"node(s) were refused by {self.name}")

    def refusals(self, task_class: TaskClass, ledger: Ledger, refused: Mask) -> Iterable[tuple[Reason, Index]]:
        """Why it refused these nodes, grouped: each reason with its nodes. Asked when somebody wants to know."""
        yield self.refusal(task_class), np.flatnonzero(refused)


class NodeScorer(ABC):
    """How good are these nodes for tasks of a class? Higher is better."""

    locality = Locality.ROW
    name = ""

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return True

    @abstractmethod
    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        """A number per node.

        `candidates` are the nodes left to choose from, for rules that reach over the cluster, and the nodes that no
        static rule refuses, for static ones; rules of a row get None.
        """
