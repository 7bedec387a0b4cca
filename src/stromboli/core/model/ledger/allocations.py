"""Volumes and devices of placed tasks: allocated with a placement, and released when it is undone."""

from collections.abc import Sequence

from stromboli.core.model.devices.claim_allocator import ClaimAllocator
from stromboli.core.model.ledger.entry import LedgerEntry
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.model.volumes.allocator import VolumeAllocator


class Allocations:
    """The volumes and the claimed devices of one cycle."""

    def __init__(self, volumes: VolumeAllocator, claims: ClaimAllocator) -> None:
        self.volumes = volumes
        self.claims = claims

    def take(self, tasks: Sequence[Task], rows: Sequence[int], *, later: bool) -> str:
        """Allocate the volumes and devices of all tasks of a class, or of none; return what is missing, if anything."""
        task_class = tasks[0].task_class
        if task_class.volumes is not None and not _take_all(self.volumes, tasks, rows, later=later):
            return "volumes"
        if task_class.claims is not None and not _take_all(self.claims, tasks, rows, later=later):
            if task_class.volumes is not None:
                _give_back_all(self.volumes, tasks, rows)
            return "devices"
        return ""

    def evict(self, entry: LedgerEntry) -> None:
        """Release the volumes and devices of evicted tasks of one class."""
        needs = entry.tasks[0].task_class.volumes
        if needs is not None:
            for row in entry.rows:
                self.volumes.count(needs, row, -1)
        for task in entry.tasks:
            if task.resource_claims:
                self.claims.leave(task)

    def unpipeline(self, entry: LedgerEntry) -> None:
        """Release the allocation of a pipelined task, and keep it in the entry."""
        task, row = entry.tasks[0], entry.rows[0]
        if task.task_class.volumes is not None:
            entry.saved_volumes = self.volumes.kept(task)
            self.volumes.give_back(task, row)
        if task.task_class.claims is not None:
            entry.saved_claims = self.claims.kept(task)
            self.claims.give_back(task, row)

    def relocate(self, entry: LedgerEntry) -> None:
        """Count the volumes and take the devices of a successor."""
        task, row = entry.successors[0], entry.rows[0]
        if task.task_class.volumes is not None:
            self.volumes.count(task.task_class.volumes, row, 1)
        if task.task_class.claims is not None:
            self.claims.take(task, row, later=True)

    def nominate(self, task: Task, row: int) -> None:
        """Reserve the volumes and devices of a nominated task on its node, as far as they are available."""
        needs = task.task_class.volumes
        if needs is not None and not self.volumes.take(task, row, later=True):
            self.volumes.count(needs, row, 1)
        if task.task_class.claims is not None:
            self.claims.take(task, row, later=True)

    def release(self, task: Task, row: int) -> None:
        """Release what `nominate` reserved."""
        if task.task_class.volumes is not None:
            self.volumes.give_back(task, row)
        if task.task_class.claims is not None:
            self.claims.give_back(task, row)

    def undo(self, entry: LedgerEntry) -> None:
        if entry.tasks[0].task_class.volumes is not None:
            self._undo_volumes(entry)
        if entry.after is TaskStatus.RELEASING and not entry.successors:
            for task in reversed(entry.tasks):
                if task.resource_claims:
                    self.claims.leave(task, -1)
        elif entry.tasks[0].resource_claims:
            self._undo_claims(entry)

    def _undo_volumes(self, entry: LedgerEntry) -> None:
        for task, row in zip(reversed(entry.tasks), reversed(entry.rows), strict=True):
            if entry.successors or entry.before is TaskStatus.PENDING:
                self.volumes.give_back(task, row)
            else:
                self.volumes.restore(task, row, entry.saved_volumes)

    def _undo_claims(self, entry: LedgerEntry) -> None:
        tasks = entry.successors or entry.tasks
        for task, row in zip(reversed(tasks), reversed(entry.rows), strict=True):
            if entry.successors or entry.before is TaskStatus.PENDING:
                self.claims.give_back(task, row)
            else:
                self.claims.restore(task, row, entry.saved_claims)


def _take_all(
    allocator: VolumeAllocator | ClaimAllocator, tasks: Sequence[Task], rows: Sequence[int], *, later: bool
) -> bool:
    for number, (task, row) in enumerate(zip(tasks, rows, strict=True)):
        if not allocator.take(task, row, later=later):
            _give_back_all(allocator, tasks[:number], rows[:number])
            return False
    return True


def _give_back_all(allocator: VolumeAllocator | ClaimAllocator, tasks: Sequence[Task], rows: Sequence[int]) -> None:
    for task, row in zip(reversed(tasks), reversed(rows), strict=True):
        allocator.give_back(task, row)
