"""minruntime: protect a started job from eviction for a minimum run time.

Queues set the time for their jobs; a queue without a value inherits its parent's. Only the minimum of a job is
protected: members above it may be evicted at any time, so that an elastic job does not become unevictable by growing.
"""

from __future__ import annotations

from collections.abc import Sequence

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.config.plugin import EvictionContext, Plugin, Victims
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.queues.queue import ROOT, Queue
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.model.values.times import duration_or_nothing
from stromboli.core.preemption.units import SpareMembers
from stromboli.core.session.session import Session

PREEMPT_ANNOTATION = "scheduling.stromboli.dev/preempt-min-runtime"
RECLAIM_ANNOTATION = "scheduling.stromboli.dev/reclaim-min-runtime"
_PLACED = frozenset((TaskStatus.BOUND.value, TaskStatus.RUNNING.value))
_BY_COMMON_ANCESTOR, _BY_OWN_QUEUE = "lca", "queue"


class MinRuntimeArguments(Arguments):
    preempt: float = Argument("defaultPreemptMinRuntime", "0s", "Default within a queue.", parse=duration_or_nothing)
    reclaim: float = Argument("defaultReclaimMinRuntime", "0s", "Default between queues.", parse=duration_or_nothing)
    resolve_method: str = Argument(
        "reclaimResolveMethod",
        _BY_COMMON_ANCESTOR,
        "Which queue of the victim is used first when another queue reclaims.",
        choices=(_BY_COMMON_ANCESTOR, _BY_OWN_QUEUE),
    )


class MinRuntime(Plugin):
    name = "minruntime"
    arguments = MinRuntimeArguments()
    guards_victims = True

    def open(self, session: Session) -> None:
        self._session = session
        self._began: dict[str, float] = {}
        self._runtimes: dict[tuple[str, str], float] = {}
        self._reported: set[str] = set()

    # -- extension points ---------------------------------------------------------------------------------------

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        return self._unprotected(self._session.jobs[preemptor.job], candidates)

    def reclaimable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        return self._unprotected(self._session.jobs[preemptor.job], candidates)

    def evictable(self, context: EvictionContext, candidates: Sequence[Task]) -> Victims:
        return self._unprotected(context.job, candidates)

    def veto(self, preemptor: Task, victim: Task) -> str:
        job, asking = self._session.jobs[victim.job], self._session.jobs[preemptor.job]
        has_run = self._session.now - self._began_at(job)
        runtime = self._runtime_of(job.queue, asking.queue)
        return f"PodGroup {job.key} has run for {has_run:.0f} s and is left alone for {runtime:.0f} s"

    def _unprotected(self, preemptor: Job, candidates: Sequence[Task]) -> list[Task]:
        jobs = self._session.jobs
        protected: dict[str, _Surplus | None] = {}
        victims = []
        for task in candidates:
            if task.job not in protected:
                job = jobs[task.job]
                protected[task.job] = _Surplus(job) if self._is_protected(job, preemptor) else None
            surplus = protected[task.job]
            if surplus is None or surplus.take(task):
                victims.append(task)
        return victims

    def _is_protected(self, job: Job, preemptor: Job) -> bool:
        """Report whether the task is protected. A member may always replace another member of its own job."""
        if job.key == preemptor.key:
            return False
        runtime = self._runtime_of(job.queue, preemptor.queue)
        return runtime > 0 and self._session.now < self._began_at(job) + runtime

    def _began_at(self, job: Job) -> float:
        """Return when the first placed member got its node; the creation time where the placement time is unknown."""
        known = self._began.get(job.key)
        if known is None:
            codes = self._session.ledger.codes
            placed = (task for task in job.tasks.values() if codes[task.row] in _PLACED)
            known = min((task.placed_at or task.created for task in placed), default=0.0)
            self._began[job.key] = known
        return known

    # -- queue settings -----------------------------------------------------------------------------------------

    def _runtime_of(self, victim: str, preemptor: str) -> float:
        """Return how long jobs of a queue are protected from jobs of another queue, or of the same."""
        known = self._runtimes.get((victim, preemptor))
        if known is None:
            known = self._runtimes[victim, preemptor] = self._look_up(victim, preemptor)
        return known

    def _look_up(self, victim: str, preemptor: str) -> float:
        annotation = PREEMPT_ANNOTATION if victim == preemptor else RECLAIM_ANNOTATION
        line = self._line(victim)
        if annotation is RECLAIM_ANNOTATION and self.arguments.resolve_method == _BY_COMMON_ANCESTOR:
            line = _from_divergence(line, self._line(preemptor))
        for queue in line:
            runtime = self._own_runtime(queue, annotation)
            if runtime is not None:
                return runtime
        arguments = self.arguments
        return arguments.preempt if annotation is PREEMPT_ANNOTATION else arguments.reclaim

    def _line(self, name: str) -> Sequence[Queue]:
        """Return a queue and its ancestors, the root last."""
        queues, line = self._session.queues, dict[str, Queue]()
        while name in queues and name not in line:
            line[name] = queues[name]
            name = queues[name].parent
        if ROOT in queues:
            line.setdefault(ROOT, queues[ROOT])
        return list(line.values())

    def _own_runtime(self, queue: Queue, annotation: str) -> float | None:
        """Return the time that the queue itself sets; None if it is missing or invalid."""
        text = queue.annotations.get(annotation)
        if text is None:
            return None
        try:
            return duration_or_nothing(text)
        except ValueError as error:
            warning = f"Queue {queue.name}: annotation {annotation}: {error}; it is ignored"
            if warning not in self._reported:
                self._reported.add(warning)
                self._session.warnings.append(warning)
            return None


class _Surplus:
    """The members that a job can lose; it always keeps one."""

    def __init__(self, job: Job) -> None:
        self._spare = SpareMembers(job)
        self._left = job.ready_count - 1

    def take(self, task: Task) -> bool:
        if self._left <= 0 or not self._spare.take(task):
            return False
        self._left -= 1
        return True


def _from_divergence(line: Sequence[Queue], other: Sequence[Queue]) -> Sequence[Queue]:
    """Return the ancestors of the victim's queue, upwards from where its path and the preemptor's diverge: the value of
    the queue just below the common ancestor applies between the two.
    """
    shared = {queue.name for queue in other}
    common = next((place for place, queue in enumerate(line) if queue.name in shared), len(line))
    return line[max(common - 1, 0) :]
