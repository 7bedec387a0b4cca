"""cpu and memory of a class as scorers count them, ready for arithmetic with columns."""

from __future__ import annotations

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Amount
from stromboli.core.model.nodes.table import Vector
from stromboli.core.model.resources.resources import CPU, MEMORY
from stromboli.core.model.tasks.task_class import TaskClass

#: An array without dimensions: NumPy takes it faster than a Python number.
NOTHING: Amount = np.array(0, dtype=np.int64)
ALL: Vector = np.array(1.0)


def scored_request(task_class: TaskClass, ledger: Ledger) -> tuple[Amount, Amount]:
    """Return the request, with defaults for pods that request nothing."""
    cpu, memory = task_class.scored_request[CPU], task_class.scored_request[MEMORY]
    return np.array(cpu, dtype=np.int64), np.array(memory, dtype=np.int64)
