"""proportion: queues share the cluster by weight, and no queue gets more than it requests.

The cluster is divided by water-filling: each round divides the remainder by weight among the queues that are not
satisfied; each takes no more than it may hold and requests, and at least its guarantee.

Dividing every resource for itself may leave capacity idle while queues wait: one has its share of memory, the other of
cpu. With `lendIdle` they use it beyond their share; reclaim returns it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.config.combining import Vote
from stromboli.core.config.plugin import Allowance, EvictionContext, Key, Plugin, QueueFacts, Victims
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.queues.limit_reasons import (
    ClusterUse,
    Excess,
    Fit,
    cluster_admitted,
    cluster_used,
    limit_admitted,
    limit_used,
    share_used,
)
from stromboli.core.model.queues.queue import Queue, QueueUsage, real_capability
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.resources.resources import PODS, UNLIMITED, Amounts, Request, dense, exceeding
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.model.usage.weighting import UsageWeighting
from stromboli.core.model.usage.weighting import divide as divide_amount
from stromboli.core.session.session import Session

Table = NDArray[np.float64]

#: A share within this distance of a whole number is rounded to it, to remove errors of division.
_CRUMB = 1e-3


def divide(total: Table, weights: Table, requests: Table, limits: Table, guarantees: Table) -> NDArray[np.int64]:
    """Return what each queue deserves, in whole units. All tables have a row per queue and a column per resource."""
    deserved = np.zeros_like(requests)
    remaining = total.astype(np.float64)
    content = np.zeros(len(weights), dtype=np.bool_)
    while True:
        open_weight = weights[~content].sum()
        if open_weight == 0:
            break
        before, remaining_before = deserved.copy(), remaining.copy()
        portion = (weights * ~content / open_weight)[:, None] * remaining
        deserved = np.minimum(np.minimum(deserved + portion, limits), requests)
        deserved = np.where(content[:, None], before, np.maximum(deserved, guarantees))
        content |= (requests <= deserved + _CRUMB).all(axis=1) | (deserved == before).all(axis=1)
        remaining = np.maximum(remaining - (deserved - before).sum(axis=0), 0)
        if (remaining < _CRUMB).all() or (remaining == remaining_before).all():
            break
    return np.floor(deserved + _CRUMB).astype(np.int64)


def divide_by_usage(
    weighting: UsageWeighting, queues: Sequence[Queue], total: Table, requests: Table, limits: Table, guarantees: Table
) -> NDArray[np.int64]:
    """The same with weights that follow past usage. Every resource is divided for itself."""
    weights = np.array([queue.weight for queue in queues], dtype=np.float64)
    used = np.array([weighting.used_of_cluster(queue.name) for queue in queues])
    wanted, deserved = np.maximum(np.minimum(requests, limits), guarantees), np.zeros_like(requests)
    for dimension, amount in enumerate(total):
        columns = (used[:, dimension], weighting.strength, wanted[:, dimension], guarantees[:, dimension])
        deserved[:, dimension] = divide_amount(amount, weights, *columns)
    return np.floor(np.maximum(deserved, guarantees) + _CRUMB).astype(np.int64)


@dataclass(slots=True)
class ProportionShare:
    """The share of a queue in this cycle. Its use is read from the ledger."""

    usage: QueueUsage
    deserved: Amounts
    #: The most it may use: its capability, and what the guarantees of others and pods of no queue leave.
    limit: Amounts
    #: The most it may have admitted: the same, as if there were no pods of no queue.
    ceiling: Amounts
    #: The deserved amounts, without those that are 0.
    parts: Request = field(init=False)

    def __post_init__(self) -> None:
        self.parts = tuple((d, amount) for d, amount in enumerate(self.deserved) if amount)

    @property
    def share(self) -> float:
        """Return the largest used fraction of what it deserves."""
        allocated, share = self.usage.allocated, 0.0
        for dimension, amount in self.parts:
            share = max(share, allocated[dimension] / amount)
        return share


class QueueSharingArguments(Arguments):
    lends_idle: bool = Argument(
        "lendIdle", False, "Lend to queues beyond their share what would stay idle; reclaim returns it."
    )
    serves_members: bool = Argument(
        "reclaimBeyondMinimum", False, "Reclaim up to the share of a queue also for members above the minimum of a job."
    )


class Proportion(Plugin):
    name = "proportion"
    arguments = QueueSharingArguments()
    #: The deserved resources of a queue are protected, whatever plugins in other tiers decide.
    vetoes_in_every_tier = True

    def __init__(self, arguments: QueueSharingArguments, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy)
        self.lends_idle = arguments.lends_idle
        self.serves_beyond_minimum = arguments.serves_members

    def open(self, session: Session) -> None:
        self._axis = session.axis
        self._jobs = session.jobs
        self._queues = session.queues
        self._session = session
        self._impossible = session.impossible
        usage = session.ledger.queues
        queues = [queue for queue in session.queues.values() if usage[queue.name].jobs]
        limits = ceilings = self._limits(session, queues, session.shareable)
        if session.shareable != session.total:
            ceilings = self._limits(session, queues, session.total)
        self._queue_shares = {
            queue.name: ProportionShare(usage[queue.name], *amounts)
            for queue, *amounts in zip(queues, self._deserved(session, queues, limits), limits, ceilings, strict=True)
        }

        self._guaranteed = [
            (usage[queue.name], queue.guarantee) for queue in session.queues.values() if queue.guarantee
        ]

    @staticmethod
    def _limits(session: Session, queues: list[Queue], total: Amounts) -> list[Amounts]:
        unguaranteed = exceeding(total, session.total_guarantee)
        return [real_capability(queue, unguaranteed) for queue in queues]

    def _deserved(self, session: Session, queues: list[Queue], limits: list[Amounts]) -> list[Amounts]:
        if not queues:
            return []
        size = session.snapshot.size
        tables = (
            np.array([session.ledger.queues[queue.name].request for queue in queues], dtype=np.float64),
            np.array(limits, dtype=np.float64),
            np.array([dense(queue.guarantee, size) for queue in queues], dtype=np.float64),
        )
        total, weighting = np.array(session.shareable, dtype=np.float64), session.usage_weighting
        if weighting is not None:
            return divide_by_usage(weighting, queues, total, *tables).tolist()
        weights = np.array([queue.weight for queue in queues], dtype=np.float64)
        return divide(total, weights, *tables).tolist()

    def queue_facts(self, queue: Queue) -> QueueFacts | None:
        queue_share = self._queue_shares.get(queue.name)
        if queue_share is None:
            return None
        return QueueFacts(queue_share.deserved, queue_share.share, limit=queue_share.limit)

    # -- order --------------------------------------------------------------------------------------------------

    def queue_order(self, queue: Queue) -> Key:
        queue_share = self._queue_shares.get(queue.name)
        return -queue.priority, queue_share.share if queue_share else 0.0

    # -- admission ----------------------------------------------------------------------------------------------

    def job_enqueueable(self, job: Job) -> Vote | Reason:
        queue_share, queue = self._queue_shares.get(job.queue), self._queues[job.queue]
        if not queue.is_open:
            return Reason(Code.QUEUE_CLOSED, f"queue {queue.name} is {queue.state}, not Open")
        if queue_share is None or job.min_resources is None:
            return Vote.PERMIT
        excesses = self._beyond(queue_share, job.min_resources)
        if not excesses:
            return Vote.PERMIT
        if any(each.limit < self._session.total[each.dimension] for each in excesses):
            return limit_admitted(self._axis, "queue", queue.name, excesses)
        never = ((each.dimension, each.needed) for each in excesses if each.needed > each.limit)
        return self._impossible.exceeded_by(never) or cluster_admitted(self._axis, excesses)

    @staticmethod
    def _beyond(queue_share: ProportionShare, minimum: Request) -> list[Excess]:
        """Return the amounts of `minimum` that would exceed the queue's ceiling."""
        usage, limit = queue_share.usage, queue_share.ceiling
        return [
            Excess(d, amount, usage.allocated[d] + usage.inqueue[d] - usage.elastic[d], limit[d])
            for d, amount in minimum
            if d != PODS and amount + usage.allocated[d] + usage.inqueue[d] - usage.elastic[d] > limit[d]
        ]

    # -- use ----------------------------------------------------------------------------------------------------

    def overused(self, queue: Queue) -> Reason | None:
        queue_share = self._queue_shares.get(queue.name)
        if queue_share is None or self._session.lending:
            return None
        allocated = queue_share.usage.allocated
        for dimension, amount in queue_share.parts:
            if amount > allocated[dimension]:
                return None
        full = [d for d, amount in queue_share.parts if amount >= queue_share.limit[d] and d != PODS]
        if full and len(self._queue_shares) == 1:
            return self._no_more(queue, queue_share, full[0], 0, Fit(0, 0))
        have = self._axis.describe(queue_share.parts)
        detail = f"queue {queue.name} already has all it deserves ({have})"
        return Reason(Code.QUEUE_OVERUSED, detail, short=f"queue {queue.name} uses its share: {have}")

    def allocatable(self, queue: Queue, task_class: TaskClass, wanted: int) -> Allowance | None:
        queue_share = self._queue_shares.get(queue.name)
        if not queue.is_open:
            return Allowance(0, Reason(Code.QUEUE_CLOSED, f"queue {queue.name} is {queue.state}, not Open"))
        if queue_share is None:
            return None
        lending, number, tightest = self._session.lending, wanted, PODS
        allocated, deserved = queue_share.usage.allocated, queue_share.deserved
        for dimension, amount in task_class.request:
            if dimension != PODS:
                most = self._lendable(queue_share, dimension) if lending else deserved[dimension]
                headroom = (most - allocated[dimension]) // amount
                if headroom < number:
                    number, tightest = max(headroom, 0), dimension
        if number >= wanted:
            return None
        needed = wanted * dict(task_class.request)[tightest]
        return Allowance(number, self._no_more(queue, queue_share, tightest, needed, Fit(number, wanted)))

    def _lendable(self, queue_share: ProportionShare, dimension: int) -> int:
        """Return what a queue may use beyond its share: up to its limit, without unused guarantees of others."""
        if not self._guaranteed:
            return queue_share.limit[dimension]
        usage = self._session.ledger.queues
        used = sum(usage[name].allocated[dimension] for name in self._queue_shares if name != queue_share.usage.name)
        kept = sum(
            max(dict(guarantee).get(dimension, 0) - other.allocated[dimension], 0)
            for other, guarantee in self._guaranteed
            if other is not queue_share.usage
        )
        return min(queue_share.limit[dimension], self._session.shareable[dimension] - used - kept)

    def _no_more(self, queue: Queue, queue_share: ProportionShare, dimension: int, needed: int, fit: Fit) -> Reason:
        """Return the limit that binds: the share, or else the whole cluster, or a limit of the queue."""
        deserved, used = queue_share.deserved[dimension], queue_share.usage.allocated[dimension]
        title, shareable, total = (
            f"queue {queue.name}",
            self._session.shareable[dimension],
            self._session.total[dimension],
        )
        if deserved < queue_share.limit[dimension]:
            return share_used(self._axis, title, dimension, deserved, used, fit)
        if deserved >= shareable and not queue_share.ceiling[dimension] <= deserved < total:
            use = ClusterUse(total, self._session.snapshot.unqueued[dimension], used)
            return cluster_used(self._axis, dimension, use, needed, fit)
        kept = shareable - deserved if deserved < dict(queue.capability).get(dimension, UNLIMITED) else 0
        return limit_used(self._axis, title, dimension, deserved, used, fit, kept)

    def preemptive(self, queue: Queue, tasks: Sequence[Task]) -> Reason | None:
        for task in tasks:
            allowance = self.allocatable(queue, task.task_class, 1)
            if allowance is not None:
                return allowance.reason
        return None

    def reclaimable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        return self._above_deserved(candidates)

    def evictable(self, context: EvictionContext, candidates: Sequence[Task]) -> Victims:
        """Within a queue every candidate is evictable; between queues, candidates of queues above their deserved
        resources.
        """
        return self._above_deserved(candidates) if context.kind == "reclaim" else candidates

    def _above_deserved(self, candidates: Sequence[Task]) -> list[Task]:
        """Return victims whose queue holds more than it deserves, also without the victims before them."""
        left: dict[str, Amounts] = {}
        victims = []
        for task in candidates:
            queue_share = self._queue_shares.get(self._jobs[task.job].queue)
            if queue_share is None:
                continue
            allocated = left.setdefault(queue_share.usage.name, queue_share.usage.allocated[:])
            if any(allocated[d] > deserved for d, deserved in enumerate(queue_share.deserved)):
                victims.append(task)
                for dimension, amount in task.task_class.request:
                    allocated[dimension] -= amount
        return victims

    def justification(self, preemptor: Task, victim: Task) -> str:
        queue_share = self._queue_shares[self._jobs[victim.job].queue]
        allocated = queue_share.usage.allocated
        above = [d for d, deserved in enumerate(queue_share.deserved) if allocated[d] > deserved]
        requested = {dimension for dimension, _ in preemptor.task_class.request if dimension != PODS}
        return self._compared(queue_share, next((d for d in above if d in requested), above[0])) if above else ""

    def veto(self, preemptor: Task, victim: Task) -> str:
        queue_share = self._queue_shares.get(self._jobs[victim.job].queue)
        if queue_share is None:
            return f"the deserved resources of queue {self._jobs[victim.job].queue} are unknown"
        right = self.justification(preemptor, victim)
        if right:
            return f"{right}: other pods of the queue are evicted first, and then it holds no more than that"
        return self._compared(queue_share, victim.task_class.request[0][0])

    def _compared(self, queue_share: ProportionShare, dimension: int) -> str:
        name, amount = self._axis.names[dimension], self._axis.format
        has, deserved = queue_share.usage.allocated[dimension], queue_share.deserved[dimension]
        compared = f"has {name} {amount(dimension, has)}, deserves {amount(dimension, deserved)}"
        return f"queue {queue_share.usage.name} {compared}"
