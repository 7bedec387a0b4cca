"""New places for those who have to move."""

from __future__ import annotations

import numpy as np

from stromboli.framework.session import Session
from stromboli.model.nodes import Mask, Vector
from stromboli.model.task import Task


class Housing:
    """Finds the node that is filled best by a task, so that as much as possible stays free in one place."""

    def __init__(self, session: Session) -> None:
        self._search = session.search
        self._ledger = session.ledger

    def row_for(self, task: Task, *, elsewhere: bool) -> int:
        """The row of the new place, with `elsewhere` on another node than the one it leaves; -1 when there is none."""
        fits = self._fitting(task)
        if elsewhere:
            fits[self._ledger.row_of(task)] = False
        if not fits.any():
            return -1
        return int(np.where(fits, self._left_over(task), np.inf).argmin())

    def _fitting(self, task: Task) -> Mask:
        """Nodes that every rule allows and that will have the room once those who leave are gone."""
        view, ledger = self._search.view(task.task_class), self._ledger
        fits = view.fits_later(ledger.later_rows)
        for rule in (*view.row_filters, *view.cluster_filters):
            if fits.any():
                fits &= rule.admits(task.task_class, ledger.later_rows, ledger)
        return fits

    def _left_over(self, task: Task) -> Vector:
        """What would be left free of what the task asks for, as parts of each node."""
        rows = self._ledger.later_rows
        left: Vector = np.zeros(len(rows))
        for dimension, amount in task.task_class.request:
            left += (rows.future_idle(dimension) - amount) / rows.capacity(dimension)
        return left
