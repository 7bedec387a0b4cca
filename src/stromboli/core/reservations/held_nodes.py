"""Protection from starvation: nodes that become free are held for a job that has waited too long.

Without run times the start of a large job is unknown, and small ones take every part of a node that becomes free.
After `starvationTime` a job gets nodes of its own: those that lack least, found by placing it as if the pods of all
jobs had ended. What is idle there, now or later, is withheld from other jobs until it starts, there or elsewhere. In
case pods on these nodes never end, it gets as many nodes again after every further `starvationTime`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stromboli.core.model.jobs.carryover import Reservation
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.ledger.future import idle_after_releases, projected
from stromboli.core.model.nodes.amounts import Block
from stromboli.core.model.nodes.table import Index, Mask
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.resources.resources import Amounts
from stromboli.core.model.tasks.task import ALLOCATED_STATUSES, Task
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.model.values.times import format_timestamp
from stromboli.core.reservations.copies import copies_on
from stromboli.core.reservations.options import OF_QUEUE, AllocateArguments
from stromboli.core.session.refusals import TaskRefusal
from stromboli.core.session.statement import SavedStatement
from stromboli.core.session.waiting_reasons import gates_block

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

#: Finds places for the tasks of a job on some nodes, or on any, in the current ledger, and leaves no trace.
PlanPlaces = Callable[["Session", Job, Sequence[Task], Mask | None], SavedStatement | None]

#: Searches for nodes in a cycle: each takes about as long as a snapshot of a large cluster.
_MAX_SEARCHES = 4
_STANDING = frozenset(status.value for status in ALLOCATED_STATUSES)


def held_nodes_of(session: Session, plan: PlanPlaces) -> HeldNodes | None:
    """Return the nodes that are held in this cycle; None without a `starvationTime`."""
    arguments = session.program.configuration.arguments_of("allocate")
    if not isinstance(arguments, AllocateArguments) or arguments.starvation_time == np.inf:
        return None
    return HeldNodes(session, plan, arguments.starvation_time, arguments.max_starving_jobs)


@dataclass(slots=True, eq=False)
class _Hold:
    """The capacity of one job: a place for each of its tasks, or several when it has waited for longer."""

    job: str
    places: list[tuple[Task, int]]
    #: By resource and node.
    amounts: Block

    @property
    def times(self) -> int:
        """How many times the job has places for all its tasks."""
        return max(Counter(task.uid for task, _ in self.places).values())

    @property
    def rows(self) -> list[int]:
        return sorted({row for _, row in self.places})


class HeldNodes:
    """The holds of this cycle, by job: at most `maximum` in a queue."""

    def __init__(self, session: Session, plan: PlanPlaces, starvation_time: float, maximum: int) -> None:
        self._session = session
        self._plan = plan
        self._starvation_time = starvation_time
        self._maximum = maximum
        self._holds: dict[str, _Hold] = {}
        #: What found no nodes in this cycle, by classes and minimum, and how many searches are left.
        self._failed: set[tuple[object, ...]] = set()
        self._searches_left = _MAX_SEARCHES
        #: Nodes on which capacity is nominated for pods of others: evictions made it for them.
        self._nominated: Mask = np.zeros(len(session.nodes), dtype=np.bool_)
        if session.nominations:
            self._nominated = session.ledger.nominated.max(axis=0) > 0
        kept = {key: each for key, each in session.snapshot.reservations.items() if each.start == np.inf}
        waiting = {job.key for job in session.waiting} if kept else set()
        for key in sorted(waiting.intersection(kept)):
            self._read(session.jobs[key], kept[key])

    def _read(self, job: Job, reservation: Reservation) -> None:
        """Hold what an earlier cycle has held, if the same tasks wait, and the nodes accept them."""
        session, index = self._session, self._session.nodes.index
        found = [(job.tasks.get(uid), index.get(node, -1)) for uid, node in reservation.places]
        places = [(task, row) for task, row in found if task is not None and row >= 0 and self._accepts(task, row)]
        if len(places) == len(found) and all(session.ledger.is_pending(task) for task, _ in places):
            self._hold(job, places)

    def _accepts(self, task: Task, row: int) -> bool:
        return bool(self._session.search.view(task.task_class).static.admitted[row]) and not self._nominated[row]

    # -- serving ------------------------------------------------------------------------------------------------

    def serve(self, job: Job, tasks: Sequence[Task], serve: Callable[[], bool]) -> bool:
        """Serve a job beside the nodes that are held for others. If it waits for nodes for too long, hold some."""
        own, below = self._release(job.key), [self._release(key) for key in self._below(job)]
        try:
            again = serve()
        except Exception:
            self._restore(own)
            raise
        finally:
            for hold in below:
                self._restore(hold)
        session = self._session
        if session.job_ready(job) or session.job_pipelined(job):
            return again
        self._explain(job)
        if self._is_passed_over(job, tasks):
            self._hold_for(job, tasks, own)
        return again

    def _below(self, job: Job) -> list[str]:
        """Return the jobs of its queue with a lower priority: it takes precedence over what is held for them."""
        jobs = self._session.jobs
        return [key for key in self._holds if jobs[key].queue == job.queue and jobs[key].priority < job.priority]

    def _is_passed_over(self, job: Job, tasks: Sequence[Task]) -> bool:
        """Report whether the job has waited too long, and lacks only nodes: not its queue, its owner or its start."""
        session = self._session
        refusal = session.refusals.get(job.key)
        if self._waited(job, tasks) < self._starvation_time or refusal is None:
            return False
        if job.key in session.decisions.reservations or gates_block(job) or session.impossible.rules_out(job):
            return False
        if sum(1 for key in self._holds if session.jobs[key].queue == job.queue) >= self._maximum:
            return False
        limited = any(cause.code in OF_QUEUE for cause in refusal.causes())
        return not limited and any(map(_lacks_nodes, refusal.tasks.values()))

    def _waited(self, job: Job, tasks: Sequence[Task]) -> float:
        return self._session.now - _since(self._session, job, tasks)

    def _explain(self, job: Job) -> None:
        """Report for which job the nodes are held that the job could have had."""
        refusal, jobs = self._session.refusals.get(job.key), self._session.jobs
        refused = [task.nodes for task in refusal.tasks.values() if task.nodes] if refusal and self._holds else []
        groups = [rows for nodes in refused for reason, rows in nodes.groups if reason.code is Code.CAPACITY_NOMINATED]
        rows = {int(row) for group in groups for row in group}
        hold = next((each for each in self._holds.values() if not rows.isdisjoint(each.rows)), None)
        if hold is not None:
            since = format_timestamp(_since(self._session, jobs[hold.job], [task for task, _ in hold.places]))
            detail = f"capacity that it needs is reserved for {hold.job}, which has waited since {since}"
            short = f"reserved for {jobs[hold.job].key}"
            self._session.refusals.add(job, Reason(Code.CAPACITY_RESERVED, detail, short=short))

    # -- holds --------------------------------------------------------------------------------------------------

    def _hold_for(self, job: Job, tasks: Sequence[Task], own: _Hold | None) -> None:
        """Hold the nodes of an earlier cycle, more after a further `starvationTime`, or the first ones."""
        wanted = int(self._waited(job, tasks) // self._starvation_time)
        places = list(own.places) if own is not None else []
        if own is None or own.times < wanted:
            places += self._new_places(job, tasks, own) if self._may_search(job, own) else []
        if not places:
            return
        self._hold(job, places)
        nodes, since = len(self._holds[job.key].rows), format_timestamp(_since(self._session, job, tasks))
        detail = f"it has waited since {since}: what is free, or becomes free, on {nodes} node(s) is reserved for it"
        short = f"{nodes} node(s) are reserved for it as they become free"
        self._session.refusals.add(job, Reason(Code.NODES_RESERVED, detail, short=short))

    def _hold(self, job: Job, places: list[tuple[Task, int]]) -> None:
        ledger = self._session.ledger
        amounts = np.zeros((ledger.layout.resources, len(ledger.nodes)), dtype=np.int64)
        for task, row in places:
            for dimension, amount in task.task_class.request:
                amounts[dimension, row] += amount
        self._restore(_Hold(job.key, places, amounts))

    def _restore(self, hold: _Hold | None) -> None:
        if hold is not None:
            self._holds[hold.job] = hold
            self._session.ledger.reserve_capacity(hold.amounts)

    def _release(self, key: str) -> _Hold | None:
        hold = self._holds.pop(key, None)
        if hold is not None:
            self._session.ledger.reserve_capacity(hold.amounts, -1)
        return hold

    def close(self) -> None:
        """Release all in the ledger, for later actions, and keep it for the next cycle; not for a queue that is not
        served: its jobs could not use it.
        """
        session, names = self._session, self._session.nodes.names
        for key in list(self._holds):
            hold = self._release(key)
            if hold is not None and session.jobs[key].queue not in session.refusals.queues:
                places = tuple((task.uid, names[row]) for task, row in hold.places)
                session.decisions.reservations.setdefault(key, Reservation(key, np.inf, np.inf, places))

    # -- search -------------------------------------------------------------------------------------------------

    def _may_search(self, job: Job, own: _Hold | None) -> bool:
        """Report whether a search is left in this cycle, and none has failed for an equal job."""
        self._searches_left -= 1
        return self._searches_left >= 0 and (own is not None or _likeness(job) not in self._failed)

    def _new_places(self, job: Job, tasks: Sequence[Task], own: _Hold | None) -> list[tuple[Task, int]]:
        """Return places for what the job needs to start, as if the pods of all jobs had ended, beside all holds."""
        session = self._session
        idle = idle_after_releases(session.ledger) - (own.amounts if own is not None else 0)
        absent, released = self._running()
        free = idle.copy()
        for task_class, counts in absent.items():
            for dimension, amount in task_class.request:
                free[dimension] += amount * counts
        free[:, self._nominated] = 0
        with session.refusals.discarded(job), projected(session.ledger, free, absent.items(), released):
            plans = (self._plan(session, job, tasks, each) for each in self._candidates(job, tasks, free, idle))
            plan = next(filter(None, plans), None)
        if plan is None:
            self._failed.add(_likeness(job))
        operations = plan.operations if plan is not None else ()
        return [place for each in operations for place in zip(each.tasks, each.rows, strict=True)]

    def _running(self) -> tuple[dict[TaskClass, Index], dict[str, Amounts]]:
        """Return how many tasks of each class are on each node, and what those of each queue hold."""
        session, ledger = self._session, self._session.ledger
        absent: dict[TaskClass, Index] = {}
        released: dict[str, Amounts] = {}
        for job in session.jobs.values():
            running = [task for task in job.tasks.values() if ledger.codes[task.row] in _STANDING]
            for task in running:
                row = ledger.row_of(task)
                if row >= 0:
                    counts = absent.setdefault(task.task_class, np.zeros(len(ledger.nodes), dtype=np.int64))
                    counts[row] += 1
                    sums = released.setdefault(job.queue, [0] * ledger.layout.resources)
                    for dimension, amount in task.task_class.request:
                        sums[dimension] += amount
        return absent, released

    def _candidates(self, job: Job, tasks: Sequence[Task], free: Block, idle: Block) -> Iterator[Mask | None]:
        """Yield the nodes to try: first those on which least has to end. A topology chooses its domain among all."""
        if not (job.spec.policies or job.spec.topology):
            yield self._least_lacking(job, tasks, free, idle)
        yield None

    def _least_lacking(self, job: Job, tasks: Sequence[Task], free: Block, idle: Block) -> Mask:
        session, classes, limit = self._session, Counter(task.task_class for task in tasks), len(tasks)
        now = np.sum([copies_on(session, each, idle, limit) for each in classes], axis=0)
        used = (np.maximum(free - idle, 0) / np.maximum(free, 1)).max(axis=0)
        order = np.lexsort((used, -now))
        found = np.zeros(len(order), dtype=np.int64)
        for task_class, number in classes.items():
            found += np.minimum(copies_on(session, task_class, free, limit)[order].cumsum(), number)
        chosen: Mask = np.zeros(len(order), dtype=np.bool_)
        chosen[order[: int(np.searchsorted(found, session.tasks_until_ready(job))) + 1]] = True
        return chosen


def _lacks_nodes(refusal: TaskRefusal) -> bool:
    """Report whether a class found no node, or was not tried because the jobs use the whole cluster."""
    return refusal.nodes is not None or refusal.reason.code is Code.INSUFFICIENT_RESOURCE


def _likeness(job: Job) -> tuple[object, ...]:
    return (job.queue, job.classes, job.min_available, *job.counts)


def _since(session: Session, job: Job, tasks: Sequence[Task]) -> float:
    """Return when the first of the tasks was created: the job has waited since."""
    otherwise = job.spec.created or session.now
    return min((task.created or otherwise for task in tasks), default=otherwise)
