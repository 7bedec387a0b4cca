"""New places for moved tasks."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from stromboli.core.model.nodes.table import Mask, Vector
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.session.session import Session


class RelocationTargets:
    """Finds places that leave as much as possible free for the preemptors: on a node that is unsuitable for them, if
    there is one, and otherwise on the one that is filled best.
    """

    def __init__(self, session: Session, preemptors: Iterable[TaskClass]) -> None:
        self._search = session.search
        self._ledger = session.ledger
        #: The extra cost of a node that a preemptor could use: more than any node that is left empty.
        self._worth = np.zeros(len(session.nodes))
        for task_class in preemptors:
            self._worth[self._large_enough(task_class)] = len(task_class.request) + len(session.axis.names)

    def _large_enough(self, task_class: TaskClass) -> Mask:
        """Nodes that could take a task of the class if they were empty."""
        large = self._search.view(task_class).static.admitted.copy()
        for dimension, amount in task_class.request:
            large &= self._ledger.all_rows.allocatable(dimension) >= amount
        return large

    def row_for(self, task: Task, *, elsewhere: bool) -> int:
        """The row of the new place, with `elsewhere` on another node than the current one; -1 when there is none."""
        fits = self._fitting(task)
        if elsewhere:
            fits[self._ledger.row_of(task)] = False
        if not fits.any():
            return -1
        return int(np.where(fits, self._left_over(task), np.inf).argmin())

    def _fitting(self, task: Task) -> Mask:
        """Nodes that pass every filter and have enough capacity once releasing tasks are gone."""
        view, ledger = self._search.view(task.task_class), self._ledger
        fits = view.fits_later(ledger.future_rows)
        for rule in (*view.row_filters, *view.cluster_filters):
            if fits.any():
                fits &= rule.filter(task.task_class, ledger.future_rows, ledger)
        return fits

    def _left_over(self, task: Task) -> Vector:
        """What would be left free of the requested resources, as fractions of each node, plus the extra cost of the
        node.
        """
        rows = self._ledger.future_rows
        left = self._worth.copy()
        for dimension, amount in task.task_class.request:
            left += (rows.future_idle(dimension) - amount) / rows.capacity(dimension)
        return left
