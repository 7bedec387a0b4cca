"""Dominant resource fairness: the job with the smaller dominant share comes first."""

from collections.abc import Sequence
from contextlib import ExitStack

from stromboli.core.config.plugin import Event, EvictionContext, Key, Plugin, Victims
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.queues.queue import Queue
from stromboli.core.model.resources.resources import Amounts
from stromboli.core.model.tasks.task import Task
from stromboli.core.plugins.drf.tree import ShareTree
from stromboli.core.session.session import Session

#: Shares that differ by less are equal.
_CLOSE = 1e-6


def dominant_share(allocated: Sequence[float], total: Sequence[float]) -> float:
    """Return the largest held fraction of the cluster's resources."""
    share = 0.0
    for amount, whole in zip(allocated, total, strict=True):
        if amount:
            share = max(share, amount / whole if whole else 1.0)
    return share


class Drf(Plugin):
    name = "drf"

    def unused_extension_points(self) -> frozenset[str]:
        """Without a hierarchy, drf has no opinion about queues."""
        return (
            frozenset()
            if self.hierarchy
            else frozenset(("queue_order", "reclaimable", "evictable", "on_allocate", "on_deallocate"))
        )

    def open(self, session: Session) -> None:
        self._session = session
        self._total = session.total
        self._jobs = session.jobs
        self.queue_order_reaches_others = self.hierarchy
        if self.hierarchy:
            self._tree = ShareTree(session)

    # -- jobs ---------------------------------------------------------------------------------------------------

    def job_order(self, job: Job) -> Key:
        return dominant_share(job.allocated, self._total)

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        """Victims whose job keeps at least the share that the preemptor's job would get."""
        gained = self._jobs[preemptor.job].allocated[:]
        _add(gained, preemptor, 1)
        mine = dominant_share(gained, self._total)
        left: dict[str, Amounts] = {}
        victims = []
        for task in candidates:
            allocated = left.setdefault(task.job, self._jobs[task.job].allocated[:])
            _add(allocated, task, -1)
            theirs = dominant_share(allocated, self._total)
            if mine < theirs or abs(mine - theirs) <= _CLOSE:
                victims.append(task)
        return victims

    def justification(self, preemptor: Task, victim: Task) -> str:
        mine, theirs = self._shares(preemptor, victim)
        if self._jobs[victim.job].queue != self._jobs[preemptor.job].queue:
            return (
                f"queue {self._jobs[victim.job].queue} comes after queue {self._jobs[preemptor.job].queue}, also then"
            )
        return f"PodGroup {victim.job} would keep a share of {theirs:.0%}, {preemptor.job} would have {mine:.0%}"

    def veto(self, preemptor: Task, victim: Task) -> str:
        mine, theirs = self._shares(preemptor, victim)
        if self._jobs[victim.job].queue != self._jobs[preemptor.job].queue:
            return (
                f"queue {self._jobs[victim.job].queue} would then come before queue {self._jobs[preemptor.job].queue}"
            )
        return f"PodGroup {victim.job} would keep a share of {theirs:.0%} only, {preemptor.job} would have {mine:.0%}"

    def _shares(self, preemptor: Task, victim: Task) -> tuple[float, float]:
        """Return the share of the preemptor's job with it, and of the victim's job without it."""
        gained, left = self._jobs[preemptor.job].allocated[:], self._jobs[victim.job].allocated[:]
        _add(gained, preemptor, 1)
        _add(left, victim, -1)
        return dominant_share(gained, self._total), dominant_share(left, self._total)

    # -- queues in a tree ---------------------------------------------------------------------------------------

    def queue_order(self, queue: Queue) -> Key:
        return self._tree.key(queue)

    def reclaimable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        """Victims whose queue, without them, still comes after the preemptor's queue with the preemptor."""
        with self._tree.supposing(preemptor, 1):
            return self._of_queues_after(self._jobs[preemptor.job], candidates)

    def evictable(self, context: EvictionContext, candidates: Sequence[Task]) -> Victims:
        """The same for a job with all tasks that it needs to start; within a queue every candidate is evictable."""
        if context.kind != "reclaim":
            return candidates
        waiting = [task for task in context.job.tasks.values() if self._session.ledger.is_pending(task)]
        with ExitStack() as supposed:
            for task in waiting[: max(1, context.job.tasks_missing)]:
                supposed.enter_context(self._tree.supposing(task, 1))
            return self._of_queues_after(context.job, candidates)

    def _of_queues_after(self, job: Job, candidates: Sequence[Task]) -> list[Task]:
        """Return victims whose queue, without them, comes after the queue of a job."""
        mine = self._session.queue_of(job)
        victims = []
        for task in candidates:
            theirs = self._session.queue_of(self._jobs[task.job])
            with self._tree.supposing(task, -1):
                if self._tree.key(mine) < self._tree.key(theirs):
                    victims.append(task)
        return victims

    def on_allocate(self, event: Event) -> None:
        self._tree.changed(event.tasks[0].job)

    def on_deallocate(self, event: Event) -> None:
        self._tree.changed(event.tasks[0].job)


def _add(amounts: Amounts, task: Task, sign: int) -> None:
    for dimension, amount in task.task_class.request:
        amounts[dimension] += sign * amount
