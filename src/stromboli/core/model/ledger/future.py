"""Projection of the ledger to a later time.

The ledger's own amounts are overwritten and restored exactly, so that every rule is evaluated as usual.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Block
from stromboli.core.model.nodes.table import Index
from stromboli.core.model.resources.resources import Amounts
from stromboli.core.model.tasks.task import TaskStatus
from stromboli.core.model.tasks.task_class import TaskClass


def idle_after_releases(ledger: Ledger) -> Block:
    """Return what is idle on each node once all releasing pods are gone and all pipelined tasks are placed."""
    amounts, layout, size = ledger.amounts, ledger.layout, ledger.layout.resources
    return amounts[:size] + amounts[layout.releasing :][:size] - amounts[layout.pipelined :][:size]


@contextmanager
def projected(
    ledger: Ledger, idle: Block, absent: Iterable[tuple[TaskClass, Index]], released: Mapping[str, Amounts]
) -> Iterator[None]:
    """Set idle amounts, remove tasks of each class from nodes, and give amounts back to queues. Changes made inside the
    block must be undone inside it.
    """
    layout, freed = ledger.layout, ledger.freed
    changing = ledger.amounts[: layout.changing]
    saved = changing.copy()
    columns: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
    sums = [(queue.allocated, queue.allocated[:]) for queue in ledger.queues.values()]
    for task_class, counts in absent:
        effect = ledger.effect(task_class, TaskStatus.ALLOCATED)
        changing[: layout.releasing] -= effect[: layout.releasing, None] * counts
        for number in task_class.feeds:
            column = ledger.own_tally(number)
            columns.append((column, column.copy()))
            column -= counts.astype(np.int32)
    for name, amounts in released.items():
        _give_back(ledger, name, amounts)
    changing[: len(idle)] = idle
    changing[layout.releasing :] = 0
    ledger.fed = []
    ledger.invalidate()
    try:
        yield
    finally:
        changing[:] = saved
        for column, before in reversed(columns):
            column[:] = before
        for allocated, earlier in sums:
            allocated[:] = earlier
        ledger.fed = []
        ledger.invalidate()
        ledger.freed = freed


def _give_back(ledger: Ledger, name: str, amounts: Amounts) -> None:
    usage = ledger.queues.get(name)
    for queue in usage.chain if usage else ():
        for dimension, amount in enumerate(amounts):
            queue.allocated[dimension] -= amount
