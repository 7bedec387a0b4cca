"""Resources of which a queue would exceed what it deserves: its preemptors use them where they are idle."""

from __future__ import annotations

from collections.abc import Sequence

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.nodes.table import Mask
from stromboli.core.model.resources.resources import Request
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.plugins.capacity.queue_share import QueueShare
from stromboli.core.session.session import Session


class UndeservedResources:
    """Finds the nodes on which a preemptor takes nothing that its queue does not deserve."""

    def __init__(self, session: Session, level: int) -> None:
        self._axis = session.axis
        self._search = session.search
        self._ledger = session.ledger
        #: The number of ancestors whose deserved amounts count as well.
        self._level = level
        self._classes: dict[str, list[TaskClass]] = {}

    def refusal(self, queue_share: QueueShare, tasks: Sequence[Task], wanted: Request) -> str | None:
        """Return why the queue may not preempt for these tasks, which want this much together; None if it may."""
        undeserved = self._of(queue_share, wanted)
        if undeserved is not None and (
            not undeserved or all(self._idle_rows(task.task_class, undeserved).any() for task in tasks)
        ):
            return None
        return self._message(queue_share, wanted, undeserved)

    def veto(self, queue_share: QueueShare, preemptor: Task) -> str:
        """Describe why victims on some nodes are protected from the preemptor."""
        request = preemptor.task_class.request
        return f"{self._message(queue_share, request, self._of(queue_share, request))}, and it is not idle there"

    def _message(self, queue_share: QueueShare, wanted: Request, undeserved: Sequence[int] | None) -> str:
        refused = [each for each in wanted if undeserved is None or each[0] in undeserved]
        return f"queue {queue_share.name} does not deserve {self._axis.describe(refused)} more"

    def _of(self, queue_share: QueueShare, wanted: Request) -> Sequence[int] | None:
        """Return the undeserved resources among those that are wanted; None if no resource is deserved."""
        near = queue_share.chain[: self._level + 1]
        found = [beyond for each in near if (beyond := each.beyond_deserved(wanted)) is not None]
        return min(found, key=len, default=None)

    def _idle_rows(self, task_class: TaskClass, resources: Sequence[int]) -> Mask:
        """Return the nodes on which these resources are idle for a task. What evicted tasks release is not idle."""
        rows, amounts = self._ledger.all_rows, dict(task_class.request)
        idle: Mask = self._search.view(task_class).static.admitted.copy()
        for dimension in resources:
            idle &= rows.idle(dimension) - rows.pipelined(dimension) >= amounts.get(dimension, 0)
        return idle

    def _allowed_rows(self, queue_share: QueueShare, task_class: TaskClass) -> Mask | None:
        """Return the nodes on which a task takes only what is deserved; None for all nodes."""
        undeserved = self._of(queue_share, task_class.request)
        return self._idle_rows(task_class, undeserved) if undeserved else None

    def without_protected(self, queue_share: QueueShare, preemptor: Task, victims: Sequence[Task]) -> Sequence[Task]:
        """Return the victims on nodes on which the preemptor takes only what is deserved."""
        return self._on(self._allowed_rows(queue_share, preemptor.task_class), victims)

    def without_protected_from(self, queue_share: QueueShare, job: Job, victims: Sequence[Task]) -> Sequence[Task]:
        """Return the victims on nodes on which some task of the job takes only what is deserved."""
        classes = self._classes.get(job.key)
        if classes is None:
            found = {task.task_class.number: task.task_class for task in job.tasks.values()}
            classes = self._classes[job.key] = list(found.values())
        together: Mask | None = None
        for task_class in classes:
            rows = self._allowed_rows(queue_share, task_class)
            if rows is None:
                return victims
            together = rows if together is None else together | rows
        return self._on(together, victims)

    def _on(self, rows: Mask | None, victims: Sequence[Task]) -> Sequence[Task]:
        row_of = self._ledger.row_of
        return victims if rows is None else [task for task in victims if rows[row_of(task)]]
