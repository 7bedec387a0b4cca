"""The fairshare plugin: the order of queues, of users inside them and of victims, and the weights of shares."""

from __future__ import annotations

from collections.abc import Sequence

from stromboli.core.config.plugin import Allowance, Event, Key, Plugin, Victims
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.queues.queue import Queue
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.model.usage.weighting import UsageWeighting
from stromboli.core.plugins.fairshare.arguments import FairShareArguments
from stromboli.core.plugins.fairshare.measure import UsageMeasure
from stromboli.core.plugins.fairshare.queue_levels import QueueLevels
from stromboli.core.plugins.fairshare.shares import ShareReport
from stromboli.core.plugins.fairshare.user_limits import UserLimits
from stromboli.core.plugins.fairshare.user_order import UserOrder
from stromboli.core.plugins.fairshare.user_preemption import UserPreemption
from stromboli.core.session.session import Session

#: The plugins that divide resources among queues.
_DIVIDING = ("proportion", "capacity")


class FairSharePlugin(Plugin):
    name = "fairshare"
    arguments = FairShareArguments()
    reads_past_usage = True
    queue_order_only_grows = True

    def unused_extension_points(self) -> frozenset[str]:
        of_users = () if self.arguments.per_user else ("job_order",)
        of_limits = () if self.arguments.limits_users else ("allocatable",)
        of_preemption = () if self._users_preempt else ("preemptable",)
        counted = () if self.arguments.limits_users or self._users_preempt else ("on_allocate", "on_deallocate")
        return frozenset((*of_users, *of_limits, *of_preemption, *counted))

    @property
    def _users_preempt(self) -> bool:
        return self.arguments.per_user and self.arguments.preempt_users

    def open(self, session: Session) -> None:
        measure = UsageMeasure(session, self.arguments)
        self._levels = QueueLevels(session, measure)
        self._queue_keys = self._levels.keys
        session.fair_shares = ShareReport(session, self.arguments, measure, self._levels)
        self.queue_order_reaches_others = self._levels.has_tree
        if self.arguments.strength:
            self._warn_of_order(session)
            levels = self._levels
            session.usage_weighting = UsageWeighting(self.arguments.strength, levels.used, levels.used_of_cluster)
        if self.arguments.per_user:
            self._places = UserOrder(session, measure).places
        self.distinguishes_users = self._users_preempt
        if self.arguments.preempt_users and not self.arguments.per_user:
            session.warnings.append("plugin fairshare: preemptUsers has no effect without perUser")
        self._preemption = UserPreemption(session, measure) if self._users_preempt else None
        self._limits = UserLimits(session, self.arguments.groups) if self.arguments.limits_users else None
        self._session = session

    def _warn_of_order(self, session: Session) -> None:
        """Plugins before this one in the file have divided the resources already."""
        for name in session.program.plugins:
            if name == self.name:
                return
            if name in _DIVIDING:
                session.warnings.append(
                    f"plugin fairshare is listed after {name}, so past usage does not change what queues deserve; "
                    f"list it before {name}"
                )

    def queue_order(self, queue: Queue) -> Key:
        """The smallest usage for its weight comes first, level by level."""
        return self._queue_keys[queue.name]()

    def victim_queue_order(self, queue: Queue, preemptor: Queue) -> Key:
        """The largest usage for its weight loses first."""
        return tuple(-level for level in self._levels.key(queue)[1:])

    def job_order(self, job: Job) -> Key:
        """The users of a queue advance together."""
        return self._places.get(job.spec.key, 0.0)

    # -- users --------------------------------------------------------------------------------------------------

    def allocatable(self, queue: Queue, task_class: TaskClass, wanted: int) -> Allowance | None:
        """The job that is served stays within the limits of its user."""
        limits = self._limits
        return None if limits is None else limits.allowance(self._session.served, queue, task_class, wanted)

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        """The pods of users who hold more than a fair part of the queue. Members of one job are equal."""
        if self._preemption is None or candidates[0].job == preemptor.job:
            return None
        return self._preemption.victims(preemptor, candidates)

    def justification(self, preemptor: Task, victim: Task) -> str:
        return self._preemption.justification(preemptor, victim) if self._preemption is not None else ""

    def veto(self, preemptor: Task, victim: Task) -> str:
        return self._preemption.veto(preemptor, victim) if self._preemption is not None else ""

    def on_allocate(self, event: Event) -> None:
        self._count(event, 1)

    def on_deallocate(self, event: Event) -> None:
        self._count(event, -1)

    def _count(self, event: Event, sign: int) -> None:
        for counted in (self._limits, self._preemption):
            if counted is not None:
                counted.count(event.tasks, sign)
