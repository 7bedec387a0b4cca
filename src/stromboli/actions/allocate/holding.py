"""Rooms that pods were promised in an earlier cycle: nobody else gets them before it is the turn of their job.

A pod is nominated for a node while others are still leaving it. Without this, whoever is served first would take what
they leave behind.
"""

from __future__ import annotations

from collections.abc import Iterable

from stromboli.framework.session import Session
from stromboli.model.job import Job
from stromboli.model.task import Task, TaskStatus


class HeldRooms:
    def __init__(self, session: Session, tasks: Iterable[Task]) -> None:
        self._session = session
        self._held: dict[str, list[Task]] = {}
        for task in tasks:
            row = session.nodes.index.get(task.nominated_node, -1)
            if row >= 0 and session.search.admits(task, row):
                with session.statement() as statement:
                    statement.pipeline(task, row)
                    statement.commit()
                self._held.setdefault(task.job, []).append(task)

    def open_for(self, job: Job) -> None:
        """It is the job's turn: its own rooms are its to take, and so are those of less important jobs of its queue."""
        if not self._held:
            return
        for key in list(self._held):
            holder = self._session.jobs[key]
            if key == job.key or (holder.queue == job.queue and holder.priority < job.priority):
                self._release(self._held.pop(key))

    def _release(self, tasks: list[Task]) -> None:
        for task in tasks:
            if self._session.ledger.status_of(task) is TaskStatus.PIPELINED:
                with self._session.statement() as statement:
                    statement.unpipeline(task)
                    statement.commit()
