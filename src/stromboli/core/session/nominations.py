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
        self._by_job: dict[str, list[Nomination]] = {}
        #: No job with nominated capacity has a lower priority.
        self._lowest_priority = 0
        #: Pairs of preemptor and victim jobs from recent cycles.
        self._preempted_by: set[tuple[str, str]] = set()
        nominated = [nomination for job in session.waiting for nomination in self._nominations_of(job)]
        if nominated:
            self._preempted_by = {(past.preemptor, past.victim) for past in session.snapshot.eviction_history}
            self._nominate_all(nominated)

    def __bool__(self) -> bool:
        return bool(self._by_job)

    def has_nominations_for(self, job: Job) -> bool:
        """Report whether some of it belongs to the job."""
        return job.key in self._by_job

    def _nominations_of(self, job: Job) -> Iterator[Nomination]:
        if job.phase == "Pending":
            return
        index, codes = self._session.nodes.index, self._session.ledger.codes
        for task in job.tasks.values():
            if task.nominated_node and not codes[task.row] and not task.held_back:
                row = index.get(task.nominated_node)
                if row is not None:
                    yield Nomination(task, row)

    def _nominate_all(self, nominations: Sequence[Nomination]) -> None:
        """Nominate the capacity of all jobs that may be served, highest priority first."""
        session = self._session
        jobs = {nomination.task.job: session.jobs[nomination.task.job] for nomination in nominations}
        self._lowest_priority = min(job.priority for job in jobs.values())
        served = {name: not session.is_overused(session.queues[name]) for name in {job.queue for job in jobs.values()}}
        ranks = {key: (-job.priority, job.spec.created, key) for key, job in jobs.items()}
        for nomination in sorted(
            nominations, key=lambda nomination: (ranks[nomination.task.job], nomination.task.order)
        ):
            if served[jobs[nomination.task.job].queue]:
                self._nominate(nomination)

    def _nominate(self, nomination: Nomination) -> None:
        session, task_class = self._session, nomination.task.task_class
        queue = session.queue_of(session.jobs[nomination.task.job])
        if session.allocatable(queue, task_class, 1) is None and session.search.accepts(
            nomination.task, nomination.row
        ):
            session.ledger.nominate(nomination.task, nomination.row)
            for plugin in session.program.plugins.values():
                plugin.on_reserve(nomination.task, session.nodes.names[nomination.row])
            self._by_job.setdefault(nomination.task.job, []).append(nomination)

    def _release(self, key: str) -> list[Nomination]:
        nominations = self._by_job.pop(key, [])
        for nomination in nominations:
            self._session.ledger.release_nomination(nomination.task, nomination.row)
            for plugin in self._session.program.plugins.values():
                plugin.on_release(nomination.task, self._session.nodes.names[nomination.row])
        return nominations

    @contextmanager
    def released_to(self, job: Job) -> Iterator[None]:
        """Release the job's own nominated capacity while it is served, and that of lower-priority jobs of its queue,
        unless the job was recently evicted for them: otherwise they would evict it again and again.

        What the job leaves is nominated again for the others, and for itself if it can start.
        """
        session, own = self._session, self._release(job.key)
        others = [nomination for key in self._below(job) for nomination in self._release(key)]
        try:
            yield
            if own and (session.job_ready(job) or session.job_pipelined(job)):
                others += own
        finally:
            for nomination in others:
                if session.ledger.is_pending(nomination.task):
                    self._nominate(nomination)

    def _below(self, job: Job) -> list[str]:
        if job.priority <= self._lowest_priority:
            return []
        jobs = self._session.jobs
        less_important = (key for key in self._by_job if jobs[key].priority < job.priority)
        return [
            key for key in less_important if jobs[key].queue == job.queue and (key, job.key) not in self._preempted_by
        ]
