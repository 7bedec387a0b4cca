"""Entry of the ledger: one operation, with everything it overwrote."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stromboli.core.model.devices.claim_allocator import DeviceAllocation
from stromboli.core.model.jobs.job import Counts
from stromboli.core.model.nodes.table import Index
from stromboli.core.model.resources.resources import Amounts
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.model.volumes.allocator import VolumeAllocation


class LedgerInconsistency(AssertionError):
    """An operation would make the ledger inconsistent. An internal error, never the user's."""


@dataclass(slots=True)
class LedgerEntry:
    """One operation, with what it overwrote."""

    tasks: Sequence[Task]
    #: Node row of each task.
    rows: Sequence[int]
    before: TaskStatus
    after: TaskStatus
    saved_counts: list[tuple[Counts, Counts]]
    saved_sums: list[tuple[Amounts, Amounts]]
    columns: Index | int
    saved_columns: NDArray[np.int64]
    #: What the operation added to the tallies of the class, per row.
    fed: int = 0
    #: For a relocation: copies of the tasks that stand for their successors. The tasks themselves do not change.
    successors: Sequence[Task] = ()
    #: The volumes of a pipelined task that was unpipelined.
    saved_volumes: tuple[VolumeAllocation, ...] = ()
    #: The devices of its claims.
    saved_claims: DeviceAllocation | None = None
