"""Strict queues: a job that waits for capacity holds back later jobs of its queue on the nodes that both may use.

The pool of a job are the nodes that its pending tasks could use if these were empty. A later job is not delayed on
other nodes, and a job that cannot start however long it waits holds back none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.ledger.future import idle_after_releases
from stromboli.core.model.nodes.table import Index, Mask
from stromboli.core.model.queues.queue import Queue
from stromboli.core.model.reasons import Code, Reason, Remedy
from stromboli.core.model.resources.resources import BASE_RESOURCES, UNLIMITED
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.reservations.options import OF_QUEUE, AllocateArguments
from stromboli.core.session.waiting_reasons import gates_block

if TYPE_CHECKING:
    from stromboli.core.session.session import Session


def strict_order_of(session: Session) -> StrictOrder | None:
    """Return the strict order of the queues that have one; None if no queue has."""
    arguments = session.program.configuration.arguments_of("allocate")
    everywhere = isinstance(arguments, AllocateArguments) and arguments.strict
    if not everywhere and not any(queue.strict for queue in session.queues.values()):
        return None
    return StrictOrder(session, everywhere=everywhere)


def copies_when_empty(session: Session, task_class: TaskClass) -> Index:
    """Return how many tasks of a class each node could take if no pod ran on it; 0 for nodes that do not accept it."""
    static, allocatable = session.search.view(task_class).static, session.ledger.all_rows.allocatable
    copies = np.full(len(session.nodes), UNLIMITED)
    for dimension, amount in task_class.request:
        # plugins account for the amounts of shared devices
        if amount and (task_class.devices is None or dimension < len(BASE_RESOURCES)):
            np.minimum(copies, allocatable(dimension) // amount, out=copies)
    copies[~static.admitted | (copies < 0)] = 0
    return copies


def pool_of(session: Session, classes: Iterable[TaskClass]) -> Mask:
    """Return the nodes that tasks of some class could use if no pod ran on them."""
    pool: Mask = np.zeros(len(session.nodes), dtype=np.bool_)
    for task_class in classes:
        pool |= copies_when_empty(session, task_class) > 0
    return pool


@dataclass(slots=True, eq=False)
class _Waiting:
    """A job that waits, and its pool."""

    job: str
    nodes: Mask


class StrictOrder:
    """The jobs that wait in the strict queues, in the order in which one action serves them."""

    def __init__(self, session: Session, *, everywhere: bool) -> None:
        self._session = session
        self._everywhere = everywhere
        self._waiting: dict[str, list[_Waiting]] = {}
        #: The nodes of all these jobs, by queue.
        self._held: dict[str, Mask] = {}
        #: The first job that holds back all of a pool, by the classes that make it; valid until another job waits.
        self._known: dict[str, dict[frozenset[int], _Waiting | None]] = {}

    def applies_to(self, queue: Queue) -> bool:
        return self._everywhere or queue.strict

    def serve(self, job: Job, tasks: Sequence[Task], serve: Callable[[], bool]) -> bool:
        """Serve a job beside those that wait before it. Without nodes of its own it is held back at once."""
        classes = Counter(task.task_class for task in tasks)
        first = self._first_on_all(job, classes)
        if first is not None:
            self._hold_back(job, first)
            return False
        held = self._held.get(job.queue)
        if held is None:
            again = serve()
        else:
            with self._withheld(held):
                again = serve()
        if not self._has_started(job):
            self._wait(job, self._pool_of(job, classes), held)
        return again

    def _pool_of(self, job: Job, classes: Mapping[TaskClass, int]) -> Mask:
        """Return the nodes that the job waits for: none, if it would not fit even if these were empty."""
        session = self._session
        copies = [(number, copies_when_empty(session, task_class)) for task_class, number in classes.items()]
        if sum(min(number, int(each.sum())) for number, each in copies) < session.tasks_until_ready(job):
            return np.zeros(len(session.nodes), dtype=np.bool_)
        return np.any([each > 0 for _, each in copies], axis=0)

    def _first_on_all(self, job: Job, classes: Iterable[TaskClass]) -> str | None:
        """Return the first job that waits for nodes of this pool, if jobs that wait hold all of its nodes."""
        held = self._held.get(job.queue)
        if held is None:
            return None
        known, key = self._known.setdefault(job.queue, {}), frozenset(each.number for each in classes)
        if key not in known:
            pool = pool_of(self._session, classes)
            known[key] = None if (pool & ~held).any() else self._first_on(pool, job.queue)
        found = known[key]
        return found.job if found else None

    def _hold_back(self, job: Job, first: str) -> None:
        detail = f"{first} is before it in the strict order of queue {job.queue}, and waits for nodes that both may use"
        self._session.refusals.add(job, Reason(Code.QUEUE_ORDER, detail, short=f"waits behind {first} (strict queue)"))

    def holds_back_admission(self, job: Job) -> bool:
        """Report whether the job may not be admitted yet, as others wait for admission before it."""
        held = self._held.get(job.queue)
        first = None if held is None else self._first_on(self._pool_before_admission(job) & held, job.queue)
        if first is not None:
            self._hold_back(job, first.job)
        return first is not None

    def wait_for_admission(self, job: Job) -> None:
        """Hold back the admission of later jobs for this one, which is not admitted."""
        self._wait(job, self._pool_before_admission(job), self._held.get(job.queue))

    def _pool_before_admission(self, job: Job) -> Mask:
        """Return the nodes of the job; all nodes as long as it has no pods."""
        if not job.classes:
            return np.ones(len(self._session.nodes), dtype=np.bool_)
        return pool_of(self._session, job.classes)

    def _has_started(self, job: Job) -> bool:
        """Report whether the job is ready, or will be when terminating pods are gone."""
        session = self._session
        return session.job_ready(job) or session.job_pipelined(job)

    def _wait(self, job: Job, pool: Mask, held: Mask | None) -> None:
        """Hold back later jobs on the nodes of this one, and report what holds it back itself."""
        if held is not None and (first := self._first_on(pool & held, job.queue)):
            self._hold_back(job, first.job)
        if not pool.any() or not self._may_start_later(job):
            return
        self._waiting.setdefault(job.queue, []).append(_Waiting(job.key, pool))
        if held is None or (pool & ~held).any():
            self._held[job.queue] = pool if held is None else held | pool
            self._known.pop(job.queue, None)

    def _first_on(self, pool: Mask, queue: str) -> _Waiting | None:
        return next((each for each in self._waiting.get(queue, ()) if (each.nodes & pool).any()), None)

    def _may_start_later(self, job: Job) -> bool:
        """Report whether the job waits for capacity: not for its owner or an administrator, and not in vain."""
        session = self._session
        if gates_block(job) or session.impossible.rules_out(job):
            return False
        refusal = session.refusals.get(job.key)
        if refusal is None:
            return True
        reasons = (*refusal.reasons, *(each.reason for each in refusal.tasks.values() if each.nodes is None))
        return all(each.remedy is Remedy.WAIT or each.code in OF_QUEUE for each in reasons)

    @contextmanager
    def _withheld(self, held: Mask) -> Iterator[None]:
        """Withhold all that is idle, or becomes so, on these nodes."""
        ledger = self._session.ledger
        kept = np.where(held, np.maximum(idle_after_releases(ledger), 0), 0)
        ledger.reserve_capacity(kept)
        try:
            yield
        finally:
            ledger.reserve_capacity(kept, -1)
