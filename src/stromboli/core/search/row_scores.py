"""The sum of the ROW scores of a class.

Scorers whose scores are weighted sums of the same fractions are merged: per fraction one weight is left, or none. By
default, the preference for free nodes and that for full ones cancel out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Amount, Rows
from stromboli.core.model.nodes.table import Vector
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.search.node_rules import NodeScorer


class RowScores:
    """The merged scorers. Valid for nodes with capacity for the class, and as long as `ledger.is_scored_as_used` is as
    it was.
    """

    __slots__ = ("_base", "_fractions", "_scorers", "_task_class", "is_scored_as_used")

    def __init__(self, scorers: Sequence[NodeScorer], task_class: TaskClass, ledger: Ledger) -> None:
        self.is_scored_as_used = ledger.is_scored_as_used
        self._task_class = task_class
        #: Those that cannot be merged.
        self._scorers: list[NodeScorer] = []
        base, points = 0.0, defaultdict[int, float](float)
        for scorer in scorers:
            sum_of_fractions = scorer.as_fractions(task_class, ledger)
            if sum_of_fractions is None:
                self._scorers.append(scorer)
                continue
            base += sum_of_fractions.base
            for dimension, weight in sum_of_fractions.points.items():
                points[dimension] += weight
        # as 0-d arrays, which NumPy handles faster than Python numbers
        amounts = dict(task_class.request)
        self._base: Vector = np.array(base)
        self._fractions: list[tuple[int, Amount, Vector]] = [
            (dimension, np.array(amounts.get(dimension, 0), dtype=np.int64), np.array(weight))
            for dimension, weight in points.items()
            if weight
        ]

    def add_to(self, total: Vector, rows: Rows, ledger: Ledger) -> None:
        """Add the scores of these rows to `total`."""
        task_class = self._task_class
        total += self._base
        for dimension, amount, points in self._fractions:
            total += rows.fraction_with(dimension, amount) * points
        for scorer in self._scorers:
            total += scorer.scores(task_class, rows, ledger, None)
