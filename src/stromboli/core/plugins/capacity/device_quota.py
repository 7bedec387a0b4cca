"""Limits of queues on claimed devices: `deviceclass/<class>`, and `<capacity>.deviceclass/<class>` for shares of them.

A claim that several pods share counts once per queue while one of them is there. A class without a limit is unlimited;
where shares are counted, a limited class allows only the capacities that the queue names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from stromboli.core.model.devices.claims import NO_CLAIMS, Costs
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.queues.queue import Queue
from stromboli.core.model.resources.quantity import format_quantity
from stromboli.core.model.tasks.task import ALLOCATED_STATUSES, Task, TaskStatus
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.plugins.capacity.queue_share import QueueShare
from stromboli.core.session.session import Session

DEVICE_CLASS = "deviceclass/"
#: The tasks that count: placed ones, and ones with nominated capacity.
_COUNTED = (*ALLOCATED_STATUSES, TaskStatus.PIPELINED)
_UNLIMITED = 1 << 62


class _Account:
    """The limit and the use of one queue."""

    def __init__(self, queue_share: QueueShare, session: Session, *, counts_parts: bool) -> None:
        names = session.axis.names
        limits = {names[d]: amount for d, amount in queue_share.queue.capability if DEVICE_CLASS in names[d]}
        self.title = queue_share.title
        self.limits = {name: limit for name, limit in limits.items() if counts_parts or _class_of(name) == name}
        self._limited_classes = {_class_of(name) for name in self.limits}
        self._counts_parts = counts_parts
        self.used: dict[str, int] = {}
        self._reserved: dict[str, int] = {}
        #: By shared claim, how many of its pods are counted.
        self._users: dict[str, int] = {}

    def limit(self, name: str) -> int:
        if name in self.limits:
            return self.limits[name]
        is_part = _class_of(name) != name
        return 0 if is_part and self._counts_parts and _class_of(name) in self._limited_classes else _UNLIMITED

    def count(self, costs: Costs, shared: str, sign: int) -> None:
        if shared:
            before = self._users.get(shared, 0)
            self._users[shared] = before + sign
            if (before > 0) == (before + sign > 0):
                return
        for name, amount in costs:
            self.used[name] = self.used.get(name, 0) + sign * amount

    def promise(self, costs: Costs) -> None:
        for name, amount in costs:
            self._reserved[name] = self._reserved.get(name, 0) + amount

    def reserved(self, name: str) -> int:
        return self.used.get(name, 0) + self._reserved.get(name, 0)

    def headroom(self, task_class: TaskClass, wanted: int) -> tuple[int, str]:
        """Return how many more tasks of a class fit, and the resource that is exhausted after them."""
        once, often = self._added(task_class)
        number, tightest = wanted, ""
        for name in dict.fromkeys([*once, *often]):
            left = self.limit(name) - self.used.get(name, 0) - once.get(name, 0)
            step = often.get(name, 0)
            most = 0 if left < 0 else left // step if step else wanted
            if most < number:
                number, tightest = most, name
        return number, tightest

    def _added(self, task_class: TaskClass) -> tuple[dict[str, int], dict[str, int]]:
        """Return what tasks of a class would add: once for all of them, and for each."""
        once: dict[str, int] = {}
        often: dict[str, int] = {}
        for cost in (task_class.claims or NO_CLAIMS).costs:
            if cost.shared and self._users.get(cost.shared, 0):
                continue
            target = once if cost.shared else often
            for name, amount in cost.costs:
                target[name] = target.get(name, 0) + amount
        return once, often


def _class_of(name: str) -> str:
    """`deviceclass/a` of `memory.deviceclass/a`."""
    return name[name.index(DEVICE_CLASS) :]


class DeviceQuota:
    """The accounts of all queues that limit devices, and of those above them."""

    def __init__(self, session: Session, queue_shares: Iterable[QueueShare], *, counts_parts: bool) -> None:
        self._session = session
        self._accounts = {
            queue_share.name: [_Account(queue_share, session, counts_parts=counts_parts)]
            for queue_share in queue_shares
        }

    @classmethod
    def of(cls, session: Session, queue_shares: dict[str, QueueShare], *, counts_parts: bool) -> DeviceQuota | None:
        """Build the quota; None if no queue limits devices."""
        names = session.axis.names
        dimensions = {d for d, name in enumerate(names) if DEVICE_CLASS in name}
        limited = any(d in dimensions for queue in session.queues.values() for d, _ in queue.capability)
        if not dimensions or not limited:
            return None
        return cls._counted(session, queue_shares, counts_parts=counts_parts)

    @classmethod
    def _counted(cls, session: Session, queue_shares: dict[str, QueueShare], *, counts_parts: bool) -> DeviceQuota:
        quota = cls(session, queue_shares.values(), counts_parts=counts_parts)
        single = {name: accounts[0] for name, accounts in quota._accounts.items()}
        for name, queue_share in queue_shares.items():
            above = [single[holder.name] for _, holder in queue_share.steps if holder.name in single]
            quota._accounts[name] = list(dict.fromkeys([single[name], *above]))
        for job in session.jobs.values():
            quota._count_job(job)
        return quota

    def _count_job(self, job: Job) -> None:
        codes = self._session.ledger.codes
        for task in job.tasks.values():
            if task.resource_claims and codes[task.row] in _COUNTED:
                self.count(task, 1)
        if job.phase == "Inqueue":
            self.promise(job)

    def _accounts_of(self, job: str) -> Sequence[_Account]:
        return self._accounts.get(self._session.jobs[job].queue, ())

    def count(self, task: Task, sign: int) -> None:
        """Count a task that was placed, or that lost its placement."""
        for cost in (task.task_class.claims or NO_CLAIMS).costs:
            for account in self._accounts_of(task.job):
                account.count(cost.costs, cost.shared, sign)

    def promise(self, job: Job) -> None:
        """Reserve what an admitted job needs to start and does not have yet."""
        for account in self._accounts_of(job.key):
            account.promise(self._minimum(job))

    def _minimum(self, job: Job) -> Costs:
        """Return what the missing members of the minimum need; a claim that they share counts once."""
        codes = self._session.ledger.codes
        lacking = max(job.min_available - job.ready_count, 0)
        waiting = sorted((task for task in job.tasks.values() if not codes[task.row]), key=lambda task: task.order)
        total: dict[str, int] = {}
        seen: set[str] = set()
        for task in waiting[:lacking]:
            for cost in (task.task_class.claims or NO_CLAIMS).costs:
                if cost.shared in seen:
                    continue
                seen |= {cost.shared} - {""}
                for name, amount in cost.costs:
                    total[name] = total.get(name, 0) + amount
        return tuple(sorted(total.items()))

    def short_for(self, job: Job) -> Iterator[tuple[str, list[str]]]:
        """Return the queues that cannot admit a job, each with the resources it lacks."""
        minimum = self._minimum(job)
        for account in self._accounts_of(job.key) if minimum else ():
            short = [name for name, amount in minimum if account.reserved(name) + amount > account.limit(name)]
            if short:
                yield account.title, short

    def headroom(self, queue: Queue, task_class: TaskClass, wanted: int) -> tuple[int, str]:
        """Return how many more tasks of a class a queue may hold, and the reason for the limit."""
        number, shortage = wanted, ""
        for account in self._accounts.get(queue.name, ()):
            most, name = account.headroom(task_class, number)
            if most < number:
                limit, has = (format_quantity(each, milli=True) for each in
                              (account.limit(name), account.used.get(name, 0)))  # fmt: skip
                number, shortage = most, f"{account.title} may have {name} {limit} and has {has}"
        return number, shortage


def warn_of_device_classes(session: Session, why_not_counted: str) -> None:
    """Warn of guaranteed or deserved devices, which have no effect, and of limits while devices are not counted."""
    classes = {d for d, name in enumerate(session.axis.names) if DEVICE_CLASS in name}
    for queue in session.queues.values() if classes else ():
        limits = [(*each, why_not_counted) for each in queue.capability] if why_not_counted else ()
        promises = (*queue.deserved, *queue.guarantee)
        for dimension, _, why in (
            *limits,
            *((*each, "devices can be limited, not guaranteed or deserved") for each in promises),
        ):
            if dimension in classes:
                name = session.axis.names[dimension]
                session.warnings.append(f"Queue {queue.name}: {name} has no effect: {why}")
