"""Sharing of the surplus: what queues do not use of what they deserve goes to others, by priority and weight.

The fair shares of all queues are computed at the start of a cycle, level by level: the queues below a queue divide its
fair share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from math import inf

from stromboli.core.config.combining import Descending
from stromboli.core.config.plugin import Key
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.queues.queue import ROOT, Queue
from stromboli.core.model.resources.resources import (
    CPU,
    MEMORY,
    PODS,
    Amounts,
    Request,
    add_request,
    exceeding,
    is_bytes,
)
from stromboli.core.plugins.capacity.fair_shares import Demand, fair_shares
from stromboli.core.plugins.capacity.queue_share import QueueShare
from stromboli.core.plugins.capacity.quota_units import QuotaUnits
from stromboli.core.session.job_order import JobOrder
from stromboli.core.session.session import Session

#: The annotation of a queue with its weight in the surplus, instead of `spec.weight`.
WEIGHT = "scheduling.stromboli.dev/over-quota-weight"
#: Weights count in thousandths.
_WEIGHT_UNIT = 1000
_MAX_WEIGHT = 1_000_000
#: Other resources than cpu and bytes are divided in whole units.
_WHOLE = 1000


class SurplusSharing:
    """The fair shares of a cycle, and the rules that follow from them."""

    def __init__(self, session: Session, queue_shares: Mapping[str, QueueShare]) -> None:
        self._session = session
        self._axis = session.axis
        self._weighting = session.usage_weighting
        #: By job and the number of its tasks with a node, what it needs next.
        self._next: dict[tuple[str, int], Request] = {}
        #: By queue, what its next job needs; valid for one version of the order of jobs.
        self._wanted: dict[str, Request] = {}
        self._order: JobOrder | None = None
        self._version = 0
        self._queues = [share for share in queue_shares.values() if share.chain and share.name != ROOT]
        self._weights = {share.name: self._weights_of(session, share.queue) for share in self._queues}
        self._units = [1 if d in (CPU, MEMORY) or is_bytes(n) else _WHOLE for d, n in enumerate(self._axis.names)]
        #: The resources that decide whether a queue is above its fair share.
        self._divided = sorted({CPU, MEMORY, *(d for share in self._queues for d, _ in share.queue.deserved)} - {PODS})
        self.units = QuotaUnits(session.axis)
        self._requested = {share.name: self.units.amounts(share.usage.request) for share in self._queues}
        self._limits = {share.name: self._limit_of(share) for share in self._queues}
        self._fair: dict[str, Amounts] = {name: [0] * session.snapshot.size for name in queue_shares}
        root = queue_shares.get(ROOT)
        self._children: dict[str, list[QueueShare]] = {}
        for share in self._queues:
            self._children.setdefault(share.chain[1].name if len(share.chain) > 1 else ROOT, []).append(share)
        amounts = session.shareable if root is None or root.chain else root.limit
        usable = exceeding(session.shareable, _amounts_of_unready_nodes(session))
        self._divide_among(ROOT, self.units.amounts(list(map(min, amounts, usable))))

    def _limit_of(self, share: QueueShare) -> Sequence[int]:
        limit, named = self.units.amounts(share.limit), dict(share.queue.capability)
        return [min(amount, named.get(dimension, amount)) for dimension, amount in enumerate(limit)]

    @staticmethod
    def _weights_of(session: Session, queue: Queue) -> Mapping[int | None, int]:
        """Return the weights of resources with one of their own, and with the key None that of all others."""
        text = queue.annotations.get(WEIGHT)
        stated = {} if text is None else _parse_weights(text)
        if text is not None and stated is None:
            session.warnings.append(
                f"Queue {queue.name}: annotation {WEIGHT}: expected a number from 0 to {_MAX_WEIGHT}, or such numbers "
                f"by resource, as in nvidia.com/gpu=3,cpu=1, got {text[:64]!r}; spec.weight {queue.weight} counts"
            )
        stated = stated or {}
        weights: dict[int | None, int] = {None: stated.pop("", queue.weight * _WEIGHT_UNIT)}
        return weights | {d: weight for name, weight in stated.items() if (d := session.axis.find(name)) is not None}

    def _divide_among(self, parent: str, amounts: Sequence[int]) -> None:
        """Divide amounts among the queues below a parent, and then among the queues below each of them."""
        children = self._children.get(parent, ())
        for dimension, amount in enumerate(amounts):
            if dimension != PODS and any(self._requested[each.name][dimension] for each in children):
                demands = [self._demand(each, dimension, amount) for each in children]
                strength = 0.0 if self._weighting is None else self._weighting.strength
                shares = fair_shares(amount, demands, self._units[dimension], strength)
                for child, share in zip(children, shares, strict=True):
                    self._fair[child.name][dimension] = share
        for child in children:
            self._divide_among(child.name, self._fair[child.name])

    def _demand(self, share: QueueShare, dimension: int, amount: int) -> Demand:
        queue, deserved = share.queue, share.deserved[dimension]
        if not any(named == dimension for named, _ in queue.deserved):
            deserved = min(deserved, amount)
        usable = min(self._requested[share.name][dimension], self._limits[share.name][dimension])
        weights = self._weights[queue.name]
        weight = weights.get(dimension, weights[None])
        used, place = self._used(share, dimension), (queue.created, queue.name)
        return Demand(deserved, usable, weight, queue.priority, place, used)

    def _used(self, share: QueueShare, dimension: int) -> float:
        """Return the used fraction of what a queue divides with others: of the cluster, or of its parent's share."""
        if self._weighting is None:
            return 0.0
        used = self._weighting.used if len(share.chain) > 1 else self._weighting.used_of_cluster
        return float(used(share.name)[dimension])

    # -- rules --------------------------------------------------------------------------------------------------

    def fair_share(self, share: QueueShare) -> Amounts:
        return self._fair[share.name]

    def used_part(self, share: QueueShare) -> float:
        return self._part(share, self.units.amounts(share.usage.allocated))

    def order(self, share: QueueShare) -> Key:
        """The place of a queue among those to serve, at each level of the tree, with the next job there."""
        order = self._session.job_order
        if order is not None and (order is not self._order or order.version != self._version):
            self._order, self._version = order, order.version
            self._wanted.clear()
        return tuple(self.place(each, self._next_of(each)) for each in reversed(share.chain))

    def victim_order(self, share: QueueShare) -> Key:
        """The place of a queue among those to reclaim from: the reversed order, for what it holds."""
        return Descending(tuple(self.place(each, ()) for each in reversed(share.chain)))

    def _next_of(self, share: QueueShare) -> Request:
        """Return what the next job in a queue or below it needs."""
        known = self._wanted.get(share.name)
        if known is None:
            known = self._wanted[share.name] = self._next_below(share)
        return known

    def _next_below(self, share: QueueShare) -> Request:
        children, order = self._children.get(share.name), self._session.job_order
        if not children:
            job = None if order is None else order.first_job(share.name)
            return () if job is None else self.next_request(job)
        wanting = [(self.place(each, wanted), wanted) for each in children if (wanted := self._next_of(each))]
        return min(wanting)[1] if wanting else ()

    def place(self, share: QueueShare, wanted: Request, left: Sequence[int] | None = None) -> Key:
        """Above its fair share last, within its deserved amounts first; then by priority, and by the used part of the
        share. `left` is what the queue holds, if it is not what the ledger has.
        """
        allocated = self.units.amounts(share.usage.allocated if left is None else left)
        fair = self._fair[share.name]
        above = all(allocated[d] > fair[d] for d in self._divided)
        after = list(allocated)
        add_request(after, self.units.request(wanted))
        beyond = any(after[d] > share.deserved[d] for d in self._divided)
        queue = share.queue
        return (
            *(above, beyond, -queue.priority, self._part(share, after), self._part(share, allocated)),
            *(queue.created, queue.name),
        )

    def _part(self, share: QueueShare, amounts: Sequence[int]) -> float:
        """Return the largest part of what the queue may have before others; infinite for a resource with none."""
        fair, part = self._fair[share.name], 0.0
        for dimension in self._divided:
            entitled = max(fair[dimension], share.deserved[dimension])
            if amounts[dimension]:
                part = max(part, amounts[dimension] / entitled if entitled else inf)
        return part

    def next_request(self, job: Job) -> Request:
        """Return what a job needs next: its minimum, or one more member."""
        key = job.key, job.ready_count + job.pipelined_count
        known = self._next.get(key)
        if known is None:
            amounts = [0] * len(self._units)
            tasks = (task for task in job.tasks.values() if self._session.ledger.is_pending(task))
            for task in islice(tasks, self._session.tasks_until_ready(job)):
                add_request(amounts, task.task_class.request)
            known = self._next[key] = tuple((d, amount) for d, amount in enumerate(amounts) if amount)
        return known

    def beyond(self, share: QueueShare, wanted: Request) -> Request:
        """Return what would exceed the fair share of the queue."""
        allocated, fair = self.units.amounts(share.usage.allocated), self._fair[share.name]
        return tuple(
            (d, amount) for d, amount in self.units.request(wanted) if d != PODS and allocated[d] + amount > fair[d]
        )

    def refusal(self, share: QueueShare, wanted: Request) -> str | None:
        """Return why nothing is reclaimed for this request; None if it is within the fair share of the queue."""
        beyond = self.beyond(share, wanted)
        if not beyond:
            return None
        return f"{self.compared(share, beyond[0][0])}: {self._axis.describe(beyond)} more is not reclaimed for it"

    def compared(self, share: QueueShare, dimension: int) -> str:
        amount, name = self._axis.format, self._axis.names[dimension]
        has, fair = self.units.amounts(share.usage.allocated)[dimension], self._fair[share.name][dimension]
        return f"{share.title} has {name} {amount(dimension, has)}, its fair share is {amount(dimension, fair)}"


def _amounts_of_unready_nodes(session: Session) -> Amounts:
    """Return what the nodes offer that are not ready, which no queue can use."""
    nodes, ledger = session.nodes, session.ledger
    unready = nodes.remember("unready nodes", lambda table: table.where(lambda node: not node.ready))
    size = len(session.total)
    return [int(ledger.all_rows.allocatable(dimension)[unready].sum()) for dimension in range(size)]


def _parse_weights(text: str) -> dict[str, int] | None:
    """Return weights by resource, with an empty name for all others; None if the text is invalid."""
    weights = dict[str, int]()
    for part in text.split(","):
        named, is_named, number = part.rpartition("=")
        name = named.strip()
        try:
            weight = float(number)
        except ValueError:
            return None
        if not 0 <= weight <= _MAX_WEIGHT or (is_named and not name) or "=" in name or name in weights:
            return None
        weights[name] = round(weight * _WEIGHT_UNIT)
    return weights
