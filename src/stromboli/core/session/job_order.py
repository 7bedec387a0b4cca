"""Job order: the best queue, and in it the best job, by keys computed when they are queued.

A queue's key changes only when the queue itself is served, so a heap is sufficient; a policy that makes queues depend
on each other declares it, and then all keys are computed again before each choice. If keys only grow, an old key is
never too large, and computing the key of the apparently best queue again is sufficient.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.queues.queue import Queue

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

_Entry = tuple[tuple[Any, ...], Job]


class JobLine:
    """The jobs of one queue by key: sorted once, and a heap of those that come back."""

    __slots__ = ("_returned", "_sorted")

    def __init__(self, entries: list[_Entry]) -> None:
        #: The next job is the last entry.
        self._sorted = entries
        self._sorted.sort(reverse=True)
        self._returned: list[_Entry] = []

    def __bool__(self) -> bool:
        return bool(self._sorted or self._returned)

    @property
    def first(self) -> Job:
        return (self._returned[0] if self._returns_first() else self._sorted[-1])[1]

    def _returns_first(self) -> bool:
        """Report whether the next job is one that came back."""
        return bool(self._returned) and not (self._sorted and self._sorted[-1] < self._returned[0])

    def push(self, entry: _Entry) -> None:
        heapq.heappush(self._returned, entry)

    def pop(self) -> Job:
        if not self._returned:
            return self._sorted.pop()[1]
        return (heapq.heappop(self._returned) if self._returns_first() else self._sorted.pop())[1]


class JobOrder:
    """Jobs in lines by queue."""

    def __init__(self, session: Session, jobs: Iterable[Job]) -> None:
        self._session = session
        self._budget = session.time_budget
        entries: dict[str, list[_Entry]] = {}
        for job in jobs:
            key = self._key_of_job(job)
            if key is not None:
                entries.setdefault(job.spec.queue, []).append((key, job))
        self._lines = {name: JobLine(line) for name, line in entries.items()}
        self._live = session.queue_order_reaches_others
        self._grows = self._live and session.queue_order_only_grows
        self._freed = session.ledger.freed
        session.job_order = self
        #: Changes with the first jobs of queues.
        self.version = 0
        self._queues = self._keyed(self._lines)

    def _keyed(self, names: Iterable[str]) -> list[tuple[tuple[Any, ...], str]]:
        """Return the queues with their keys."""
        keyed = [(key, name) for name in names if (key := self._key_of_queue(name)) is not None]
        heapq.heapify(keyed)
        return keyed

    def _key_of_queue(self, name: str) -> tuple[Any, ...] | None:
        """Return None for a queue whose key cannot be computed: it is no longer served."""
        queue = self._session.queues[name]
        try:
            return self._session.queue_order_key(queue)
        except Exception as error:
            self._session.refusals.report_queue_error(queue, error)
            return None

    def _key_of_job(self, job: Job) -> tuple[Any, ...] | None:
        """Return None for a job whose key cannot be computed: it is no longer served."""
        self._budget.current = job
        try:
            return self._session.job_order_key(job)
        except Exception as error:
            self._session.refusals.report_error(job, error)
            return None

    def first_job(self, queue: str) -> Job | None:
        """Return the best job of a queue, which stays in the order."""
        line = self._lines.get(queue)
        return line.first if line else None

    def next_queue(self) -> Queue | None:
        """Pop the best queue with jobs. It is out of the order until `return_queue`."""
        self.version += 1
        if self._budget.is_spent:
            return None
        if self._queues and self._is_outdated():
            self._queues = self._keyed([name for _, name in self._queues])
        while self._queues:
            _, name = heapq.heappop(self._queues)
            if self._lines[name] and not (self._grows and self._moves_back(name)):
                return self._session.queues[name]
        return None

    def _is_outdated(self) -> bool:
        """Report whether keys in the heap may be too large."""
        freed, self._freed = self._freed, self._session.ledger.freed
        return self._live and not (self._grows and freed == self._freed)

    def _moves_back(self, name: str) -> bool:
        """Report whether a popped queue now belongs behind another, or is no longer served."""
        key = self._key_of_queue(name) if self._queues else ()
        if key is not None and self._queues and key > self._queues[0][0]:
            heapq.heappush(self._queues, (key, name))
            return True
        return key is None

    def return_queue(self, queue: Queue) -> None:
        """Push a queue back. A single queue needs no key."""
        self.version += 1
        key = self._key_of_queue(queue.name) if self._queues else ()
        if key is not None:
            heapq.heappush(self._queues, (key, queue.name))

    def next_job(self, queue: Queue) -> Job | None:
        """Pop the best job of a queue with time left. It is out of the order until `return_job`."""
        line, budget = self._lines[queue.name], self._budget
        while line:
            job = line.pop()
            if job.spec.key not in budget.exceeded:
                budget.begin(job)
                return job
        return None

    def jobs_in_turn(self) -> Iterator[Job]:
        """Yield one job per turn of its queue, skipping overused queues."""
        while (queue := self.next_queue()) is not None:
            if not self._session.is_overused(queue):
                job = self.next_job(queue)
                if job is not None:
                    yield job
                self.return_queue(queue)

    def return_job(self, job: Job) -> None:
        key = self._key_of_job(job)
        if key is not None:
            self._lines[job.queue].push((key, job))
