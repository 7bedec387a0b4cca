"""Small actions that evaluate one extension point and act on the answer.

Some extension points serve actions that evict pods. These actions replace them, so that the answers of the plugins
become visible in the plan.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from stromboli.core.config.action import Action
from stromboli.core.config.plugin import EvictionContext
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.session.session import Session


def tasks_of(session: Session, status: TaskStatus) -> list[Task]:
    tasks = (task for job in session.jobs.values() for task in job.tasks.values())
    return sorted((task for task in tasks if session.ledger.status_of(task) is status), key=lambda task: task.key)


def pending(session: Session) -> list[Task]:
    return tasks_of(session, TaskStatus.PENDING)


def running(session: Session) -> list[Task]:
    return tasks_of(session, TaskStatus.RUNNING)


class EvictingAction(Action):
    """Evicts the tasks that `victims` returns, for the first pending task."""

    def victims(self, session: Session, preemptor: Task) -> Iterable[Task]:
        return ()

    def execute(self, session: Session) -> None:
        for victim in list(self.victims(session, pending(session)[0])):
            session.evict(victim, self.name)


class EvictPreemptable(EvictingAction):
    name: ClassVar[str] = "evict-preemptable"

    def victims(self, session: Session, preemptor: Task) -> Iterable[Task]:
        return session.preemptable(preemptor, running(session))


class EvictReclaimable(EvictingAction):
    name: ClassVar[str] = "evict-reclaimable"

    def victims(self, session: Session, preemptor: Task) -> Iterable[Task]:
        return session.reclaimable(preemptor, running(session))


class EvictForPreemption(EvictingAction):
    name: ClassVar[str] = "evict-for-preemption"
    kind: ClassVar[str] = "preempt"

    def victims(self, session: Session, preemptor: Task) -> Iterable[Task]:
        return session.evictable(EvictionContext(self.kind, session.jobs[preemptor.job]), running(session))


class EvictForReclaim(EvictForPreemption):
    name: ClassVar[str] = "evict-for-reclaim"
    kind: ClassVar[str] = "reclaim"


class EvictFirst(EvictingAction):
    """Evicts the first victim."""

    name: ClassVar[str] = "evict-first"

    def victims(self, session: Session, preemptor: Task) -> Iterable[Task]:
        return session.victims_in_order(running(session), session.jobs[preemptor.job])[:1]


class EvictVictims(EvictingAction):
    """Evicts the tasks that plugins want to move, without a preemptor."""

    name: ClassVar[str] = "evict-victims"

    def victims(self, session: Session, preemptor: Task) -> Iterable[Task]:
        return session.victim_tasks(running(session))


class EvictForStarving(EvictingAction):
    """Evicts all running tasks for a starving job."""

    name: ClassVar[str] = "evict-for-starving"

    def victims(self, session: Session, preemptor: Task) -> Iterable[Task]:
        return running(session) if session.job_starving(session.jobs[preemptor.job]) else ()


class EvictForQueue(EvictingAction):
    """Evicts all running tasks for a queue that may reclaim."""

    name: ClassVar[str] = "evict-for-queue"

    def victims(self, session: Session, preemptor: Task) -> Iterable[Task]:
        queue = session.queue_of(session.jobs[preemptor.job])
        return running(session) if session.preemptive(queue, [preemptor]) is None else ()


PROBE_ACTIONS = (
    EvictFirst,
    EvictForPreemption,
    EvictForQueue,
    EvictForReclaim,
    EvictForStarving,
    EvictPreemptable,
    EvictReclaimable,
    EvictVictims,
)
