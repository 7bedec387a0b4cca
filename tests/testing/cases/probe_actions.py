"""Small actions that ask the session one question and act on the answer.

Some questions are for actions that take room from others. These stand in for them: whatever the plugins answer
becomes visible in the plan.
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
    """Evicts whom `victims` names, for the first task that waits."""

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
    """Evicts the one that loses first."""

    name: ClassVar[str] = "evict-first"

    def victims(self, session: Session, preemptor: Task) -> Iterable[Task]:
        return session.victims_in_order(running(session), session.jobs[preemptor.job])[:1]


class EvictVictims(EvictingAction):
    """Evicts whom plugins want moved, for nobody in particular."""

    name: ClassVar[str] = "evict-victims"

    def victims(self, session: Session, preemptor: Task) -> Iterable[Task]:
        return session.victim_tasks(running(session))


class EvictForStarving(EvictingAction):
    """Evicts everybody for a job that starves."""

    name: ClassVar[str] = "evict-for-starving"

    def victims(self, session: Session, preemptor: Task) -> Iterable[Task]:
        return running(session) if session.job_starving(session.jobs[preemptor.job]) else ()


class EvictForQueue(EvictingAction):
    """Evicts everybody for a queue that may take room from others."""

    name: ClassVar[str] = "evict-for-queue"

    def victims(self, session: Session, preemptor: Task) -> Iterable[Task]:
        queue = session.queue_of(session.jobs[preemptor.job])
        return running(session) if session.preemptive(queue, [preemptor]) is None else ()


class Placing(Action):
    """Places the first task that waits on the node that `node` names."""

    def node(self, session: Session, task: Task) -> str | None:
        return None

    def execute(self, session: Session) -> None:
        task = pending(session)[0]
        name = self.node(session, task)
        if name is not None:
            session.allocate(task, session.nodes.index[name])


class PlaceInCluster(Placing):
    """Takes every node for a cluster, and the best of them."""

    name: ClassVar[str] = "place-in-cluster"

    def node(self, session: Session, task: Task) -> str | None:
        return min(session.nodes.names, key=session.cluster_order_key)


class PlaceIfAdded(Placing):
    name: ClassVar[str] = "place-if-added"

    def node(self, session: Session, task: Task) -> str | None:
        return "a" if session.simulate_add_task({}, task, "a") is None else None


class PlaceIfAdmitted(Placing):
    name: ClassVar[str] = "place-if-admitted"

    def node(self, session: Session, task: Task) -> str | None:
        return "a" if session.simulate_predicate({}, task, "a") is None else None


class PlaceIfAllocatable(Placing):
    name: ClassVar[str] = "place-if-allocatable"

    def node(self, session: Session, task: Task) -> str | None:
        queue = session.queue_of(session.jobs[task.job])
        return "a" if session.simulate_allocatable({}, queue, task) is None else None


class EvictIfRemoved(EvictingAction):
    name: ClassVar[str] = "evict-if-removed"

    def victims(self, session: Session, preemptor: Task) -> Iterable[Task]:
        return [task for task in running(session) if session.simulate_remove_task({}, task, "a") is None]


class PlaceTarget(Action):
    """Places the job for which room should be kept."""

    name: ClassVar[str] = "place-target"

    def execute(self, session: Session) -> None:
        target = session.target_job(session.waiting)
        for task in session.pending(target) if target is not None else ():
            session.allocate(task, 0)


class Reserve(Action):
    """Has nodes kept free."""

    name: ClassVar[str] = "reserve"

    def execute(self, session: Session) -> None:
        session.reserve_nodes()


PROBE_ACTIONS = (
    EvictFirst,
    EvictForPreemption,
    EvictForQueue,
    EvictForReclaim,
    EvictForStarving,
    EvictIfRemoved,
    EvictPreemptable,
    EvictReclaimable,
    EvictVictims,
    PlaceIfAdded,
    PlaceIfAdmitted,
    PlaceIfAllocatable,
    PlaceInCluster,
    PlaceTarget,
    Reserve,
)
