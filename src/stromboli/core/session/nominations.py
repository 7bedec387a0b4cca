"""Nominated capacity: kept for its pods from earlier cycles until their job is served.

A pod is nominated for a node while others are still terminating there. Without this, the first job in the order would
take the capacity they release, and the eviction would be useless. Nominated capacity counts for nodes only, not for
jobs and queues, so it does not change the job order. It is released when its pod or node is gone, when its job or queue
may not be served, and when its job was served and could not use it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.tasks.task import Task

if TYPE_CHECKING:
    from stromboli.core.session.session import Session


class Nomination(NamedTuple):
    task: Task
    row: int


class NominatedCapacity:
    """The capacity nominated at this moment, by job. False if there is none."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._held: dict[str, list[Nomination]] = {}
        #: Pairs of preemptor and victim jobs from recent cycles.
        self._preempted_by = {(taking.preemptor, taking.victim) for taking in session.snapshot.eviction_history}
        nominated = [room for job in session.waiting for room in self._promised_to(job)]
        if nominated:
            self._hold_first(nominated)

    def __bool__(self) -> bool:
        return bool(self._held)

    def has_nominations_for(self, job: Job) -> bool:
        """Report whether some of it belongs to the job."""
        return job.key in self._held

    def _promised_to(self, job: Job) -> Iterator[Nomination]:
        if job.phase == "Pending":
            return
        index, codes = self._session.nodes.index, self._session.ledger.codes
        for task in job.tasks.values():
            if task.nominated_node and not codes[task.row] and not task.held_back and not task.task_class.best_effort:
                row = index.get(task.nominated_node)
                if row is not None:
                    yield Nomination(task, row)

    def _hold_first(self, rooms: Sequence[Nomination]) -> None:
        """Nominate the capacity of all jobs that may be served, highest priority first."""
        session = self._session
        jobs = {room.task.job: session.jobs[room.task.job] for room in rooms}
        served = {name: not session.is_overused(session.queues[name]) for name in {job.queue for job in jobs.values()}}
        ranks = {key: (-job.priority, job.spec.created, key) for key, job in jobs.items()}
        for room in sorted(rooms, key=lambda room: (ranks[room.task.job], room.task.order)):
            if served[jobs[room.task.job].queue]:
                self._hold(room)

    def _hold(self, room: Nomination) -> None:
        session, task_class = self._session, room.task.task_class
        queue = session.queue_of(session.jobs[room.task.job])
        if session.allocatable(queue, task_class, 1) is None and session.search.filter(room.task, room.row):
            session.ledger.nominate(room.task, room.row)
            for plugin in session.program.plugins.values():
                plugin.on_reserve(room.task, session.nodes.names[room.row])
            self._held.setdefault(room.task.job, []).append(room)

    def _let_go(self, key: str) -> list[Nomination]:
        rooms = self._held.pop(key, [])
        for room in rooms:
            self._session.ledger.release_nomination(room.task, room.row)
            for plugin in self._session.program.plugins.values():
                plugin.on_release(room.task, self._session.nodes.names[room.row])
        return rooms

    @contextmanager
    def released_to(self, job: Job) -> Iterator[None]:
        """Release the job's own nominated capacity while it is served, and that of lower-priority jobs of its queue,
        unless the job was recently evicted for them: otherwise they would evict it again and again.

        What the job leaves is nominated again for the others, and for itself if it can start.
        """
        session, own = self._session, self._let_go(job.key)
        others = [room for key in self._below(job) for room in self._let_go(key)]
        try:
            yield
            if own and (session.job_ready(job) or session.job_pipelined(job)):
                others += own
        finally:
            for room in others:
                if session.ledger.is_pending(room.task):
                    self._hold(room)

    def _below(self, job: Job) -> list[str]:
        jobs = self._session.jobs
        less_important = (key for key in self._held if jobs[key].priority < job.priority)
        return [
            key for key in less_important if jobs[key].queue == job.queue and (key, job.key) not in self._preempted_by
        ]
