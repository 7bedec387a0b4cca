"""How many tasks of a class the nodes could take, by amounts and node facts alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stromboli.core.model.nodes.amounts import Block
from stromboli.core.model.nodes.table import Index
from stromboli.core.model.tasks.task_class import TaskClass

if TYPE_CHECKING:
    from stromboli.core.session.session import Session


def copies_on(session: Session, task_class: TaskClass, free: Block, limit: int) -> Index:
    """Return how many tasks of a class each node could take, up to a limit; 0 for nodes that do not accept it."""
    admitted = session.search.view(task_class).static.admitted
    copies = np.full(len(admitted), limit)
    for dimension, amount in task_class.request:
        if amount:
            np.minimum(copies, free[dimension] // amount, out=copies)
    copies[~admitted | (copies < 0)] = 0
    return copies
