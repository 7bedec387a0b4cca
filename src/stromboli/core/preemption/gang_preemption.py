"""Preemption for whole gangs: capacity for all of a gang at once, inside one domain.

Spare members of other gangs are evicted first. Where these do not suffice, whole gangs are evicted, as few as possible
of those with the highest return. Every plan is tried on the statement; units that it does not need are taken back. With
`priorityFirst` the least important victims are evicted first, spare or not, and as few as possible.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from stromboli.core.config.arguments import Argument
from stromboli.core.config.plugin import CLUSTER, EvictionContext
from stromboli.core.model.jobs.job import Job, JobSpec
from stromboli.core.model.reasons import Reason
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.preemption.attempt import Mark, PreemptionAttempt
from stromboli.core.preemption.candidates import CandidatePool
from stromboli.core.preemption.domains import MAX_DOMAINS, DomainRanking, place_in_cheapest
from stromboli.core.preemption.exchange import PlanExchange
from stromboli.core.preemption.failure_report import FailureReport
from stromboli.core.preemption.history.rate_limits import PreemptionRateArguments, PreemptionRates
from stromboli.core.preemption.history.thrash_guard import ThrashGuard
from stromboli.core.preemption.job_preemption import Preemption
from stromboli.core.preemption.pruning import prune
from stromboli.core.preemption.rules import ON_NODE, PreemptionRules, VictimOrderArguments, reclaim_refusal
from stromboli.core.preemption.running_tasks import has_spare_members
from stromboli.core.preemption.units import EvictionUnit, UnitBuilder
from stromboli.core.preemption.whole_gangs import Need, WholeGangs, need_of
from stromboli.core.session.decision_records import PreemptionFailure
from stromboli.core.session.session import Session
from stromboli.core.session.statement import OperationKind, Statement
from stromboli.core.topology.sub_jobs import sub_jobs_by_need

#: How many gangs are tried to be spared, at most.
MAX_SPARED = 8
#: The label or annotation of a PodGroup.
_PREEMPTABLE = "volcano.sh/preemptable"


class GangArguments(VictimOrderArguments, PreemptionRateArguments):
    max_domains: int = Argument("maxDomains", MAX_DOMAINS, "How many fitting domains are compared; 0 or less for 8.")
    allow_whole_bundle: bool = Argument("allowWholeBundle", True, "Whether whole gangs may be evicted.")
    priority_first: bool = Argument(
        "priorityFirst",
        False,
        "Whether less important gangs are evicted before spare members of more important ones.",
    )


def _is_protected(spec: JobSpec) -> bool:
    return "false" in (spec.annotations.get(_PREEMPTABLE), spec.labels.get(_PREEMPTABLE))


def _is_less_important(preemptor: Job, victim: Job) -> bool:
    return victim.priority < preemptor.priority


class GangPreemption:
    """Preempts for whole gangs, during one action."""

    def __init__(self, session: Session, action: str, kind: str, arguments: GangArguments) -> None:
        """`kind` is what plugins receive: `preempt`, within queues, or `reclaim`, between them."""
        self._session = session
        self._kind = kind
        self._domain = CLUSTER
        self._rates = PreemptionRates(session, action, arguments)
        self._rules = self._rules_of(action, arguments)
        jobs = [job for job in session.jobs.values() if not _is_protected(job.spec)]
        self._pool = CandidatePool(session, self._rules, jobs)
        self._builder = UnitBuilder(session, self._rules, self._pool)
        max_domains = arguments.max_domains
        self._domains = DomainRanking(session, self._pool, max_domains if max_domains > 0 else MAX_DOMAINS)
        self._failures = FailureReport(session, self._rules, self._pool, self._builder)
        self._bundles = WholeGangs(session, self._pool, self._builder, whole=arguments.allow_whole_bundle)
        self._priority_first = arguments.priority_first
        #: Preempts spare members of gangs; with `priorityFirst` also whole gangs, the least important victims first.
        whole = arguments.priority_first and arguments.allow_whole_bundle
        rules = replace(self._rules, evicts_whole_gangs=whole, exchanges=False)
        targets = jobs if whole else [job for job in jobs if has_spare_members(job)]
        self._single = Preemption(session, rules, targets)
        exchanging = replace(rules, exchanges=arguments.priority_first)
        self._exchange = PlanExchange(session, exchanging, self._pool, self._builder)

    def _rules_of(self, action: str, arguments: GangArguments) -> PreemptionRules:
        preempts = self._kind == "preempt"
        rules = PreemptionRules(
            action=action,
            question="evictable",
            own_queue=preempts,
            statuses=ON_NODE if preempts else (TaskStatus.RUNNING,),
            allowed=lambda preemptor, candidates: self._session.evictable(self._context(preemptor), candidates),
            may_target=_is_less_important if preempts else None,
            thrash_guard=ThrashGuard(self._session, arguments),
            may_preempt=self._may_preempt,
            subject=self._context,
        )
        return arguments.applied_to(rules, self._session)

    def _context(self, preemptor: Task) -> EvictionContext:
        return EvictionContext(self._kind, self._session.jobs[preemptor.job], self._domain)

    def _may_preempt(self, task: Task) -> Reason | None:
        limit = self._rates.refusal(task)
        if limit is not None or self._kind == "preempt":
            return limit
        return reclaim_refusal(self._session, self._rules.action, task)

    # -- jobs ---------------------------------------------------------------------------------------------------

    def preempt_for(self, job: Job) -> bool:
        """Preempt for what the job needs next. If it does not get all of it, nothing is evicted."""
        session, tasks = self._session, self._wanted(job)
        if not tasks:
            return False
        self._pool.refresh(job)
        with session.serving(job), session.statement() as statement:
            attempt = self._single.begin(job, statement)
            attempt.refusal = self._refusal(tasks)
            placed = attempt.refusal is None and (self._place_in_domain(attempt, tasks) or self._find(attempt, tasks))
            if placed and not self._single.is_postponed(attempt):
                return self._single.conclude(attempt)
        self._single.give_up(attempt)
        return False

    def try_for(self, job: Job, statement: Statement) -> bool:
        """Evict pods for the job on a statement that the caller rolls back; report whether there is a plan."""
        tasks = self._wanted(job)
        self._pool.refresh(job)
        attempt = self._single.begin(job, statement)
        found = bool(tasks) and self._refusal(tasks) is None
        found = found and (self._place_in_domain(attempt, tasks) or self._find(attempt, tasks)) and attempt.places > 0
        if not found:
            statement.rollback(0)
        self._single.forget()
        return found

    def _find(self, attempt: PreemptionAttempt, tasks: Sequence[Task]) -> bool:
        """Plan for all tasks at once, after no plan was found for them one by one."""
        found = self._single.find_together(attempt, tasks, self._exchange)
        if found:
            self._complete(attempt)
        return found

    def _wanted(self, job: Job) -> list[Task]:
        """Return all tasks of a gang that cannot start yet; of a ready gang, those of the next sub-job."""
        session, pending = self._session, self._session.pending(job)
        if session.job_ready(job):
            for sub_job in sub_jobs_by_need(session, job, session.sub_job_pipelined):
                waiting = [task for task in pending if task.sub_job == sub_job.key]
                if waiting:
                    return waiting
        return pending

    def _refusal(self, tasks: Sequence[Task]) -> PreemptionFailure | None:
        """Return why no preemption is attempted for these tasks."""
        never = next((task for task in tasks if task.never_preempts), None)
        return None if never is None else self._failures.refusal(never)

    def _place_in_domain(self, attempt: PreemptionAttempt, tasks: Sequence[Task]) -> bool:
        domains = self._domains.of_job(attempt.job, tasks)
        if not domains:
            attempt.refusal = self._failures.no_domain(tasks[0])
        serve = partial(self._serve, attempt, tasks)
        max_domains, comparison = self._domains.max_domains, self._rules.comparison
        return place_in_cheapest(self._session, attempt, domains, max_domains, comparison, serve, self._single.forget)

    # -- one domain ---------------------------------------------------------------------------------------------

    def _serve(self, attempt: PreemptionAttempt, tasks: Sequence[Task]) -> bool:
        """Evict the victims that the gang needs in this domain; report whether there are enough."""
        self._domain = attempt.domain
        if self._priority_first:
            mark = attempt.mark
            if self._suffices(attempt, mark, tasks, ()):
                self._complete(attempt)
                return True
            attempt.return_to(mark)
        return self._evict_gangs(attempt, tasks)

    def _evict_gangs(self, attempt: PreemptionAttempt, tasks: Sequence[Task]) -> bool:
        """Evict as few gangs as possible, and take back the units that the plan does not need."""
        need = need_of(self._session, attempt.job, tasks, attempt.domain)
        gangs, mark = self._bundles.in_order(need), attempt.mark
        min_gangs = self._min_gangs(need, gangs)
        suffices = partial(self._suffices, attempt, mark, tasks)
        number = None
        if min_gangs is not None:
            number = smallest_sufficient(min_gangs, len(gangs), lambda number: suffices(gangs[:number]))
        if number is None:
            failed_task = attempt.failed_task or tasks[0]
            attempt.return_to(mark)  # gangs whose eviction does not suffice are candidates again for the report
            attempt.refusal = attempt.refusal or self._failures.refusal(failed_task)
            return False
        suffices(self._needed(need, gangs[:number], suffices))
        self._complete(attempt)
        return True

    def _complete(self, attempt: PreemptionAttempt) -> None:
        if attempt.places:
            prune(self._session, attempt.statement, attempt.selection, attempt.units)
            self._exchange.improve(attempt, self._single.records_of)
            self._nominate(attempt)

    def _needed(
        self, need: Need, gangs: Sequence[EvictionUnit], suffices: Callable[[Sequence[EvictionUnit]], bool]
    ) -> Sequence[EvictionUnit]:
        """Return the gangs without those that are not needed because a later one is large."""
        for gang in gangs[:-1][:MAX_SPARED]:
            others = [each for each in gangs if each is not gang]
            if self._min_gangs(need, others) is not None and suffices(others):
                gangs = others
        return gangs

    def _min_gangs(self, need: Need, gangs: Sequence[EvictionUnit]) -> int | None:
        """Return how many gangs it takes at least, if all spare members are evicted; None when all are too few."""
        have = self._bundles.free(need)
        spare = self._single.releasable(need.job, list(need.amounts))
        for place, dimension in enumerate(need.amounts):
            have[dimension] += int(spare[place][need.useful].sum())
        for number in range(len(gangs) + 1):
            if all(have[dimension] >= amount for dimension, amount in need.amounts.items()):
                return number
            for dimension, amount in self._bundles.gain(need, gangs[number]).items() if number < len(gangs) else ():
                if dimension in have:
                    have[dimension] += amount
        return None

    def _suffices(
        self, attempt: PreemptionAttempt, mark: Mark, tasks: Sequence[Task], gangs: Sequence[EvictionUnit]
    ) -> bool:
        """Report whether these gangs suffice. The operations of the trial remain on the statement."""
        attempt.return_to(mark)
        self._single.forget()
        for gang in gangs:
            self._evict_unit(attempt, tasks[0], gang)
        attempt.units.reverse()
        was_ready = self._session.job_ready(attempt.job)
        if not self._single.serve(attempt, tasks):
            return False
        return not was_ready or not any(self._session.ledger.is_pending(task) for task in tasks)

    def _evict_unit(self, attempt: PreemptionAttempt, preemptor: Task, gang: EvictionUnit) -> None:
        """Evict a gang, unless plugins, budgets or guarantees protect it after the earlier evictions."""
        if not self._builder.may_evict_all(preemptor, gang.tasks):
            return
        attempt.records |= self._single.records_of(preemptor, gang)
        attempt.statement.evict_all(gang.tasks, self._rules.action, attempt.job.key)
        attempt.units.append(gang)
        attempt.places += 1

    def _nominate(self, attempt: PreemptionAttempt) -> None:
        """Nominate all pods of the gang for the capacity of the victims."""
        kinds = {operation.kind for operation in attempt.statement.operations}
        attempt.places = attempt.places if OperationKind.EVICT in kinds else 0
        for operation in attempt.statement.operations:
            operation.after_eviction = operation.kind is OperationKind.PIPELINE
        if attempt.records:
            self._record_capacity_receivers(attempt)

    def _record_capacity_receivers(self, attempt: PreemptionAttempt) -> None:
        """Complete the records of gangs: the pod that gets the capacity of a member, or any pod of the preemptor."""
        operations, names = attempt.statement.operations, self._session.nodes.names
        receivers = {
            each.entry.rows[0]: each.entry.tasks[0] for each in operations if each.kind is OperationKind.PIPELINE
        }
        evicted = [each.entry for each in operations if each.kind is OperationKind.EVICT]
        for task, row in [pair for entry in evicted for pair in zip(entry.tasks, entry.rows, strict=True)]:
            record = attempt.records[task.uid]
            if not record.preemptor_pod:
                there = row if row in receivers else next(iter(receivers))
                pod, node = receivers[there].key, names[there]
                attempt.records[task.uid] = replace(record, preemptor_pod=pod, preemptor_node=node)


def smallest_sufficient(first: int, last: int, suffices: Callable[[int], bool]) -> int | None:
    """Return the smallest number for which the monotonic `suffices` holds; None if it fails even for `last`."""
    below, number, step = first - 1, first, 1
    while not suffices(number):
        if number == last:
            return None
        below, number, step = number, min(number + step, last), 2 * step
    while number - below > 1:
        middle = (below + number) // 2
        if suffices(middle):
            number = middle
        else:
            below = middle
    return number
