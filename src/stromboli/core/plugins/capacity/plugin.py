"""The capacity plugin: what queues deserve, may borrow and must return."""

from __future__ import annotations

from collections.abc import Sequence

from stromboli.core.config.combining import Vote
from stromboli.core.config.plugin import Allowance, Event, EvictionContext, Key, Plugin, QueueFacts, Victims
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.queues.limit_reasons import (
    ClusterUse,
    Excess,
    Fit,
    cluster_admitted,
    cluster_used,
    limit_admitted,
    limit_used,
)
from stromboli.core.model.queues.queue import Queue
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.resources.resources import PODS, Request, add_request
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.plugins.capacity.arguments import COUNTS_DEVICES, CapacityArguments
from stromboli.core.plugins.capacity.device_quota import DeviceQuota, warn_of_device_classes
from stromboli.core.plugins.capacity.fair_reclaim import FairReclaimRules
from stromboli.core.plugins.capacity.non_preemptable import NonPreemptableJobs
from stromboli.core.plugins.capacity.queue_share import QueueShare
from stromboli.core.plugins.capacity.queue_shares import flat_queue_shares, tree_queue_shares
from stromboli.core.plugins.capacity.reclaim import ReclaimRules
from stromboli.core.plugins.capacity.surplus import SurplusSharing
from stromboli.core.plugins.capacity.undeserved import UndeservedResources
from stromboli.core.session.session import Session


class Capacity(Plugin):
    name = "capacity"
    #: The deserved resources of a queue are protected, whatever plugins in other tiers decide.
    vetoes_in_every_tier = True
    arguments = CapacityArguments()

    def __init__(self, arguments: CapacityArguments, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy)
        self._level = max(arguments.reclaim_level, 0) if hierarchy else 0
        self.queue_order_reaches_others = hierarchy
        self.queue_order_only_grows = hierarchy and not arguments.shares_surplus
        self.serves_beyond_minimum = arguments.shares_surplus or arguments.serves_members

    def unused_extension_points(self) -> frozenset[str]:
        """Without a hierarchy or shares of the surplus, the plugin does not order victim queues."""
        orders_victims = self.hierarchy or self.arguments.shares_surplus
        return frozenset() if orders_victims else frozenset(("victim_queue_order",))

    def open(self, session: Session) -> None:
        self._session = session
        self._axis = session.axis
        self._jobs = session.jobs
        shares_surplus = self.arguments.shares_surplus
        queue_shares = tree_queue_shares if self.hierarchy else flat_queue_shares
        self._queue_shares = queue_shares(session, as_quotas=shares_surplus)
        self._undeserved = UndeservedResources(session, self._level)
        self._surplus = SurplusSharing(session, self._queue_shares) if shares_surplus else None
        self._non_preemptable = self._protect_non_preemptable(session)
        self._devices = None
        if self.arguments.counts_devices:
            self._devices = DeviceQuota.of(session, self._queue_shares, counts_parts=self.arguments.counts_shares)
        warn_of_device_classes(session, "" if self.arguments.counts_devices else f"{COUNTS_DEVICES} is off")

    def _protect_non_preemptable(self, session: Session) -> NonPreemptableJobs | None:
        limits, priority = self.arguments.limits_non_preemptable, self.arguments.non_preemptable_priority
        if not limits and not priority:
            return None
        jobs = NonPreemptableJobs(session, self._queue_shares, priority)
        session.protected_jobs |= jobs.keys
        return jobs if limits else None

    def queue_facts(self, queue: Queue) -> QueueFacts | None:
        queue_share = self._queue_shares[queue.name]
        deserved, share = queue_share.deserved, queue_share.share
        if self._surplus is not None:
            deserved, share = self._surplus.fair_share(queue_share), self._surplus.used_part(queue_share)
        return QueueFacts(deserved, share, by_weight=False, limit=queue_share.limit)

    def _queue_share_of(self, job: Job) -> QueueShare:
        return self._queue_shares[job.queue]

    # -- events -------------------------------------------------------------------------------------------------

    def on_allocate(self, event: Event) -> None:
        self._count(event, 1)

    def on_deallocate(self, event: Event) -> None:
        self._count(event, -1)

    def _count(self, event: Event, sign: int) -> None:
        self._warn_of_reserves(event.tasks[0].job)
        self._count_devices(event, sign)
        if self._non_preemptable is not None:
            self._non_preemptable.count(event.tasks, sign)

    def job_enqueued(self, job: Job) -> None:
        if self._devices is not None:
            self._devices.promise(job)

    def _count_devices(self, event: Event, sign: int) -> None:
        if self._devices is not None and event.tasks[0].task_class.claims is not None:
            for task in event.tasks:
                self._devices.count(task, sign)

    def _warn_of_reserves(self, job: str) -> None:
        """Mark the reserves of the job's queue and its ancestors as changed."""
        queue_share = self._queue_shares.get(self._jobs[job].queue)
        if queue_share is not None:
            for member, holder in queue_share.steps:
                if holder.reserve is not None:
                    holder.reserve.changed(member)

    # -- order --------------------------------------------------------------------------------------------------

    def queue_order(self, queue: Queue) -> Key:
        """Where paths diverge, the subtree with the smaller share comes first; one that deserves nothing comes last."""
        queue_share = self._queue_shares[queue.name]
        if self._surplus is not None:
            return self._surplus.order(queue_share)
        if len(queue_share.chain) == 1:
            return -queue.priority, (queue_share.share, not queue_share.parts)
        path = [(each.share, not each.parts, each.queue.created, each.name) for each in reversed(queue_share.chain[1:])]
        return -queue.priority, *path, (queue_share.share, not queue_share.parts)

    def victim_queue_order(self, queue: Queue, preemptor: Queue) -> Key:
        """Queues nearest to the preemptor in the tree lose first; with shares of the surplus, those served last."""
        if self._surplus is not None:
            return self._surplus.victim_order(self._queue_shares[queue.name])
        above = {each.name for each in self._queue_shares[preemptor.name].chain[1:]}
        return -sum(each.name in above for each in self._queue_shares[queue.name].chain[1:])

    # -- admission ----------------------------------------------------------------------------------------------

    def job_enqueueable(self, job: Job) -> Vote | Reason:
        """Permit what fits below every limit. A queue within its deserved resources may reclaim them, however full its
        ancestors are.
        """
        queue_share = self._queue_share_of(job)
        if queue_share.refusal is not None:
            return queue_share.refusal
        for _, each in queue_share.steps:
            after = each.reserved(job.min_resources or ())
            if any(amount > each.ceiling[d] for d, amount in after):
                return self._not_admitted(each, job)
            if all(amount <= each.deserved[d] for d, amount in after):
                break
        for title, names in self._devices.short_for(job) if self._devices is not None else ():
            shortage = ", ".join(f"insufficient {name}" for name in names)
            return Reason(Code.QUEUE_CAPABILITY, f"{title} resource quota insufficient: {shortage}")
        return Vote.PERMIT

    def _not_admitted(self, holder: QueueShare, job: Job) -> Reason:
        wanted = holder.reserved(job.min_resources or ())
        holder = next(holder.origin(d, holder.ceiling[d]) for d, amount in wanted if amount > holder.ceiling[d])
        minimum, ceiling = dict(job.min_resources or ()), holder.ceiling
        excesses = [
            Excess(d, minimum[d], amount - minimum[d], ceiling[d])
            for d, amount in holder.reserved(job.min_resources or ())
            if amount > ceiling[d]
        ]
        if any(each.limit < self._session.total[each.dimension] for each in excesses):
            return limit_admitted(self._axis, f"queue {holder.name}", holder.name, excesses)
        never = ((each.dimension, each.needed) for each in excesses if each.needed > each.limit)
        return self._session.impossible.exceeded_by(never) or cluster_admitted(self._axis, excesses)

    # -- use ----------------------------------------------------------------------------------------------------

    def allocatable(self, queue: Queue, task_class: TaskClass, wanted: int) -> Allowance | None:
        queue_share = self._queue_shares[queue.name]
        if queue_share.refusal is not None:
            return Allowance(0, queue_share.refusal)
        if self._non_preemptable is not None:
            served = self._session.served
            beyond = self._non_preemptable.beyond_deserved(served, queue_share, task_class.request, wanted)
            if beyond is not None:
                return beyond
        number, tightest = wanted, None
        for dimension, amount in task_class.request:
            if dimension == PODS:
                continue
            for member, holder in queue_share.steps:
                free = holder.free(dimension, member)
                if free < number * amount:
                    number, tightest = max(free // amount, 0), (dimension, holder, member)
        if self._devices is not None and task_class.claims is not None:
            most, shortage = self._devices.headroom(queue, task_class, number)
            if most < number:
                shortage += f": capacity for {most} of {wanted} pods" if most else ""
                return Allowance(most, Reason(Code.QUEUE_CAPABILITY, shortage))
        if tightest is None:
            return None
        needed = wanted * dict(task_class.request)[tightest[0]]
        return Allowance(number, self._no_more(*tightest, needed, Fit(number, wanted)))

    def _no_more(self, dimension: int, holder: QueueShare, member: QueueShare, needed: int, fit: Fit) -> Reason:
        """Return the limit that binds: the whole cluster, or a capability or guarantees."""
        limit, kept = holder.limit[dimension], holder.kept_from(dimension, member)
        if not kept:
            holder = holder.origin(dimension, limit)
        used = holder.usage.allocated[dimension]
        total = self._session.total[dimension]
        if kept or limit < self._session.shareable[dimension] or holder.ceiling[dimension] <= limit < total:
            return limit_used(self._axis, holder.title, dimension, limit, used, fit, kept)
        use = ClusterUse(total, self._session.snapshot.unqueued[dimension], used)
        return cluster_used(self._axis, dimension, use, needed, fit)

    def preemptive(self, queue: Queue, tasks: Sequence[Task]) -> Reason | None:
        """Report whether the queue stays below its limit, and it or one of its nearest ancestors within its deserved
        resources; what exceeds them must be idle.
        """
        queue_share = self._queue_shares[queue.name]
        if queue_share.refusal is not None:
            return queue_share.refusal
        request = [0] * self._session.snapshot.size
        for task in tasks:
            add_request(request, task.task_class.request)
        wanted = tuple((d, amount) for d, amount in enumerate(request) if amount and d != PODS)
        for dimension, amount in wanted:
            if amount + queue_share.usage.allocated[dimension] > queue_share.limit[dimension]:
                return self._no_more(dimension, queue_share, queue_share, amount, Fit(0, len(tasks)))
        if self._surplus is not None:
            refusal = self._surplus.refusal(queue_share, wanted)
        else:
            refusal = self._undeserved.refusal(queue_share, tasks, wanted)
        return None if refusal is None else Reason(Code.QUEUE_SHARE, refusal)

    # -- victims ------------------------------------------------------------------------------------------------

    def reclaimable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        job = self._jobs[preemptor.job]
        own = self._queue_share_of(job)
        if self._surplus is None:
            candidates = self._undeserved.without_protected(own, preemptor, candidates)
        known = [task for task in candidates if self._jobs[task.job].queue in self._queue_shares]
        rules = self._reclaim_rules(job, preemptor.task_class.request)
        return self._accepted(rules, self._session.victims_in_order(known, job))

    def _reclaim_rules(self, job: Job, request: Request | None) -> ReclaimRules:
        own = self._queue_share_of(job)
        if self._surplus is not None:
            return FairReclaimRules(self._surplus, own, request, self._surplus.next_request(job))
        return ReclaimRules(own, request, self._level)

    def evictable(self, context: EvictionContext, candidates: Sequence[Task]) -> Victims:
        """Within a queue every candidate is evictable; between queues, candidates of queues above their deserved
        resources.
        """
        if context.kind != "reclaim":
            return candidates
        own = self._queue_share_of(context.job)
        if self._surplus is None:
            candidates = self._undeserved.without_protected_from(own, context.job, candidates)
        return self._accepted(self._reclaim_rules(context.job, None), candidates)

    def _accepted(self, reclaiming: ReclaimRules, candidates: Sequence[Task]) -> list[Task]:
        queue_shares = [(task, self._queue_shares.get(self._jobs[task.job].queue)) for task in candidates]
        return reclaiming.accepted([(task, each) for task, each in queue_shares if each and not each.is_detached])

    def justification(self, preemptor: Task, victim: Task) -> str:
        queue_share, request = self._queue_shares[self._jobs[victim.job].queue], victim.task_class.request
        allocated, deserved = queue_share.usage.allocated, queue_share.deserved
        above = [d for d, _ in request if d != PODS and allocated[d] > deserved[d]]
        return self._compared(queue_share, above[0]) if above else ""

    def veto(self, preemptor: Task, victim: Task) -> str:
        queue_share = self._queue_shares.get(self._jobs[victim.job].queue)
        if queue_share is None or queue_share.is_detached:
            return f"queue {self._jobs[victim.job].queue} has no place in the tree of queues"
        mine = self._queue_share_of(self._jobs[preemptor.job])
        if self._surplus is None and not self._undeserved.without_protected(mine, preemptor, [victim]):
            return self._undeserved.veto(mine, preemptor)
        rules = self._reclaim_rules(self._jobs[preemptor.job], preemptor.task_class.request)
        objection = rules.veto(victim, queue_share)
        compared = self._compared(queue_share, self._dimension_of(victim))
        if objection is None:
            return f"{compared}: other pods of the queue are evicted first, and then it holds no more than that"
        return f"{objection.value}: {compared}"

    @staticmethod
    def _dimension_of(task: Task) -> int:
        return next((dimension for dimension, _ in task.task_class.request if dimension != PODS), PODS)

    def _compared(self, queue_share: QueueShare, dimension: int) -> str:
        if self._surplus is not None:
            return self._surplus.compared(queue_share, dimension)
        name, amount = self._axis.names[dimension], self._axis.format
        has, deserved = queue_share.usage.allocated[dimension], queue_share.deserved[dimension]
        return f"{queue_share.title} has {name} {amount(dimension, has)}, deserves {amount(dimension, deserved)}"
