"""Claims of whole gangs: room for all of a gang at once, inside of one domain.

First members go that other gangs can spare. Where these are not enough, gangs go whole, as few as it takes of those
whose end gives most. Every plan is tried out on the statement; what it can do without is spared in the end.
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
from stromboli.core.preemption.attempt import Attempt, Mark
from stromboli.core.preemption.candidates import Pool
from stromboli.core.preemption.domains import MAX_DOMAINS, Domains, place_in_cheapest
from stromboli.core.preemption.failure_report import FailureReport
from stromboli.core.preemption.job_preemption import Claims
from stromboli.core.preemption.pruning import prune
from stromboli.core.preemption.rules import Terms
from stromboli.core.preemption.running_tasks import has_spare_members
from stromboli.core.preemption.thrash_guard import ThrashGuard, ThrashGuardArguments
from stromboli.core.preemption.units import Unit, UnitBuilder
from stromboli.core.preemption.whole_gangs import Need, WholeGangs, need_of
from stromboli.core.session.decision_records import PreemptionFailure
from stromboli.core.session.session import Session
from stromboli.core.session.statement import Kind
from stromboli.core.topology.sub_jobs import sub_jobs_by_need

#: What a PodGroup says of itself, by label or annotation.
_PREEMPTABLE = "volcano.sh/preemptable"


class GangArguments(ThrashGuardArguments):
    max_domains: int = Argument(
        "maxDomains", MAX_DOMAINS, "How many fitting domains are compared for a job; 0 or less for 8."
    )
    allow_whole_bundle: bool = Argument("allowWholeBundle", True, "Whether whole gangs may be evicted.")


def _is_protected(spec: JobSpec) -> bool:
    return "false" in (spec.annotations.get(_PREEMPTABLE), spec.labels.get(_PREEMPTABLE))


def _is_less_important(preemptor: Job, victim: Job) -> bool:
    return victim.priority < preemptor.priority


def _is_elsewhere(preemptor: Job, victim: Job) -> bool:
    return victim.queue != preemptor.queue


class GangPreemption:
    """Makes room for whole gangs, for as long as one action lasts."""

    def __init__(self, session: Session, action: str, kind: str, arguments: GangArguments) -> None:
        """`kind` is what plugins are told it is for: `preempt`, within queues, or `reclaim`, between them."""
        self._session = session
        self._kind = kind
        self._domain = CLUSTER
        self._terms = self._terms_of(action, arguments)
        jobs = [job for job in session.jobs.values() if not _is_protected(job.spec)]
        self._pool = Pool(session, self._terms, jobs)
        self._maker = UnitBuilder(session, self._terms, self._pool)
        most = arguments.max_domains
        self._domains = Domains(session, self._pool, most if most > 0 else MAX_DOMAINS)
        self._failures = FailureReport(session, self._terms, self._pool, self._maker)
        self._bundles = WholeGangs(session, self._pool, self._maker, whole=arguments.allow_whole_bundle)
        #: Members that gangs can spare.
        self._spare = Claims(
            session, replace(self._terms, evicts_whole_gangs=False), [job for job in jobs if has_spare_members(job)]
        )

    def _terms_of(self, action: str, arguments: GangArguments) -> Terms:
        preempts = self._kind == "preempt"
        return Terms(
            action=action,
            question="evictable",
            own_queue=preempts,
            statuses=(TaskStatus.BOUND, TaskStatus.RUNNING) if preempts else (TaskStatus.RUNNING,),
            allowed=lambda preemptor, candidates: self._session.evictable(self._context(preemptor), candidates),
            reaches=_is_less_important if preempts else _is_elsewhere,
            thrash_guard=ThrashGuard(self._session, arguments.thrashing_window),
            may_preempt=self._may_preempt,
            subject=self._context,
        )

    def _context(self, preemptor: Task) -> EvictionContext:
        return EvictionContext(self._kind, self._session.jobs[preemptor.job], self._domain)

    def _may_preempt(self, task: Task) -> Reason | None:
        if self._kind == "preempt":
            return None
        return self._session.preemptive(self._session.queue_of(self._session.jobs[task.job]), [task])

    # -- jobs ---------------------------------------------------------------------------------------------------

    def claim(self, job: Job) -> bool:
        """Make room for what the job must have next. If it does not get all of it, nobody is evicted."""
        session, tasks = self._session, self._wanted(job)
        if not tasks:
            return False
        with session.serving(job), session.statement() as statement:
            attempt = self._spare.begin(job, statement)
            attempt.refusal = self._refusal(tasks)
            if attempt.refusal is None and self._in_a_domain(attempt, tasks):
                return self._spare.conclude(attempt)
        self._spare.give_up(attempt)
        return False

    def _wanted(self, job: Job) -> list[Task]:
        """All tasks of a gang that cannot start yet; of one that can, those of the next sub-job."""
        session, pending = self._session, self._session.pending(job)
        if session.job_ready(job):
            for sub_job in sub_jobs_by_need(session, job, session.sub_job_pipelined):
                waiting = [task for task in pending if task.sub_job == sub_job.key]
                if waiting:
                    return waiting
        return pending

    def _refusal(self, tasks: Sequence[Task]) -> PreemptionFailure | None:
        """Why nothing is claimed for these at all."""
        never = next((task for task in tasks if task.never_preempts), None)
        return None if never is None else self._failures.refusal(never)

    def _in_a_domain(self, attempt: Attempt, tasks: Sequence[Task]) -> bool:
        domains = self._domains.of_job(attempt.job, tasks)
        if not domains:
            attempt.refusal = self._failures.no_domain(tasks[0])
        serve = partial(self._serve, attempt, tasks)
        most, comparison = self._domains.most, self._terms.comparison
        return place_in_cheapest(self._session, attempt, domains, most, comparison, serve, self._spare.forget)

    # -- one domain ---------------------------------------------------------------------------------------------

    def _serve(self, attempt: Attempt, tasks: Sequence[Task]) -> bool:
        """Let as few gangs go as it takes, and then spare whom the plan can do without."""
        self._domain = attempt.domain
        need = need_of(self._session, attempt.job, tasks, attempt.domain)
        gangs, mark = self._bundles.in_order(need), attempt.mark
        least = self._least(need, gangs)
        will_do = partial(self._will_do, attempt, mark, tasks, gangs)
        number = None if least is None else fewest(least, len(gangs), will_do)
        if number is None:
            stuck = attempt.stuck or tasks[0]
            attempt.return_to(mark)  # whoever was let go in vain is there again, and is spoken of
            attempt.refusal = attempt.refusal or self._failures.refusal(stuck)
            return False
        will_do(number)
        if attempt.places:
            prune(self._session, attempt.statement, attempt.choice, attempt.units)
            self._promise(attempt)
        return True

    def _least(self, need: Need, gangs: Sequence[Unit]) -> int | None:
        """How many gangs it takes at least, if all go that can be spared; None when all are too few."""
        have = self._bundles.free(need)
        spare = self._spare.releasable(need.job, list(need.amounts))
        for place, dimension in enumerate(need.amounts):
            have[dimension] += int(spare[place][need.useful].sum())
        for number in range(len(gangs) + 1):
            if all(have[dimension] >= amount for dimension, amount in need.amounts.items()):
                return number
            for dimension, amount in self._bundles.gain(need, gangs[number]).items() if number < len(gangs) else ():
                if dimension in have:
                    have[dimension] += amount
        return None

    def _will_do(self, attempt: Attempt, mark: Mark, tasks: Sequence[Task], gangs: Sequence[Unit], number: int) -> bool:
        """Whether the first so many gangs are enough. What was done to find out stands."""
        attempt.return_to(mark)
        self._spare.forget()
        for gang in gangs[:number]:
            self._let_go(attempt, tasks[0], gang)
        attempt.units.reverse()
        was_ready = self._session.job_ready(attempt.job)
        if not self._spare.serve(attempt, tasks):
            return False
        return not was_ready or not any(self._session.ledger.is_pending(task) for task in tasks)

    def _let_go(self, attempt: Attempt, preemptor: Task, gang: Unit) -> None:
        """Evict a gang, unless those before it have changed what the plugins or its budgets say."""
        if not self._maker.may_evict_all(preemptor, gang.tasks):
            return
        if not self._session.ledger.budgets.may_spend([task.uid for task in gang.tasks]):
            return
        attempt.accounts |= self._spare.accounts_of(preemptor, gang)
        for task in gang.tasks:
            attempt.statement.evict(task, self._terms.action, attempt.job.key)
        attempt.units.append(gang)
        attempt.places += 1

    def _promise(self, attempt: Attempt) -> None:
        """All of the gang wait for those who leave: all their rooms are promised to them."""
        kinds = {operation.kind for operation in attempt.statement.operations}
        attempt.places = attempt.places if Kind.EVICT in kinds else 0
        for operation in attempt.statement.operations:
            operation.after_eviction = operation.kind is Kind.PIPELINE
        if attempt.accounts:
            self._record_capacity_receivers(attempt)

    def _record_capacity_receivers(self, attempt: Attempt) -> None:
        """Complete the accounts of gangs: who gets the room of a member, or, if nobody does, who gets any."""
        operations, names = attempt.statement.operations, self._session.nodes.names
        rooms = {each.entry.rows[0]: each.entry.tasks[0] for each in operations if each.kind is Kind.PIPELINE}
        for entry in [each.entry for each in operations if each.kind is Kind.EVICT]:
            uid, row = entry.tasks[0].uid, entry.rows[0]
            account = attempt.accounts[uid]
            if not account.preemptor_pod:
                row = row if row in rooms else next(iter(rooms))
                attempt.accounts[uid] = replace(account, preemptor_pod=rooms[row].key, preemptor_node=names[row])


def fewest(first: int, last: int, will_do: Callable[[int], bool]) -> int | None:
    """The smallest number that will do, where more never do worse; None when even the last will not."""
    below, number, step = first - 1, first, 1
    while not will_do(number):
        if number == last:
            return None
        below, number, step = number, min(number + step, last), 2 * step
    while number - below > 1:
        middle = (below + number) // 2
        if will_do(middle):
            number = middle
        else:
            below = middle
    return number
