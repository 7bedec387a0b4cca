"""Preemption for the tasks of jobs, one job after the other, each on a statement of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from stromboli.core.config.plugin import Domain
from stromboli.core.model.jobs.job import Job, SubJob
from stromboli.core.model.nodes.table import Mask
from stromboli.core.model.tasks.task import Task
from stromboli.core.preemption.attempt import PreemptionAttempt
from stromboli.core.preemption.candidates import CandidatePool
from stromboli.core.preemption.cost import Bound
from stromboli.core.preemption.domains import DomainRanking, RankedDomain, has_domains, need_key, place_in_cheapest
from stromboli.core.preemption.exchange import PlanExchange
from stromboli.core.preemption.failure_report import FailureReport
from stromboli.core.preemption.node_ranking import NodeRanking
from stromboli.core.preemption.pruning import prune
from stromboli.core.preemption.report import EvictionReport
from stromboli.core.preemption.rules import PreemptionRules
from stromboli.core.preemption.selection import NodePlan, VictimSelection
from stromboli.core.preemption.units import EvictionUnit, UnitBuilder
from stromboli.core.session.decision_records import EvictionRecord, PreemptionFailure, RuleObjection
from stromboli.core.session.job_order import JobOrder
from stromboli.core.session.session import Session
from stromboli.core.session.statement import OperationKind, Statement
from stromboli.core.topology.sub_jobs import sub_jobs_by_need

RankingKey = tuple[object, ...]


class Preemption:
    """Preempts by the rules of one action, during that action."""

    def __init__(self, session: Session, rules: PreemptionRules, jobs: Iterable[Job] | None = None) -> None:
        """Victims are selected in these jobs, or in all of them."""
        self._session = session
        self._rules = rules
        self._pool = CandidatePool(session, rules, session.jobs.values() if jobs is None else jobs)
        self._builder = UnitBuilder(session, rules, self._pool)
        self._domains = DomainRanking(session, self._pool)
        self._failures = FailureReport(session, rules, self._pool, self._builder)
        records = session.records
        self._report = None if records is None else EvictionReport(self._failures, records)
        self._exchange = PlanExchange(session, rules, self._pool, self._builder)
        self._distinguishes_users = session.distinguishes_users
        self._rankings: dict[RankingKey, NodeRanking] = {}
        self._used: set[RankingKey] = set()
        #: By kind of need, the smallest number of tasks that failed, and the failure.
        self._too_many: dict[RankingKey, tuple[int, PreemptionFailure | None]] = {}

    # -- jobs ---------------------------------------------------------------------------------------------------

    def preempt_for(self, job: Job, tasks: Sequence[Task]) -> bool:
        """Preempt for tasks of a job until it has enough. If it does not get there, nothing is evicted."""
        session = self._session
        known = self._too_many.get(self._need(job, tasks)) if self._too_many else None
        if known is not None and session.tasks_until_ready(job) >= known[0]:
            self._refuse(job, known[1])
            return False
        with session.serving(job), session.statement() as statement:
            attempt = self.begin(job, statement)
            placed = self._place_in_domain(attempt, tasks, partial(self._serve_job, attempt, tasks))
            placed = placed or self.find_together(attempt, tasks, self._exchange)
            if placed and not self.is_postponed(attempt):
                return self.conclude(attempt)
        self.give_up(attempt)
        self._too_many[self._need(job, tasks)] = session.tasks_until_ready(job), attempt.refusal
        return False

    def _need(self, job: Job, tasks: Sequence[Task]) -> RankingKey:
        return self._user_of(job), *need_key(job, tasks, is_own=bool(self._rules.thrash_guard))

    def _user_of(self, job: Job) -> str:
        return job.spec.user if self._distinguishes_users else ""

    def preempt_for_task(self, job: Job, task: Task) -> bool:
        """Preempt for one task of a job that runs without it."""
        with self._session.serving(job), self._session.statement() as statement:
            attempt = self.begin(job, statement)
            placed = self._place_in_domain(attempt, [task], partial(self._serve_alone, attempt, task))
            if placed and not self.is_postponed(attempt):
                return self.conclude(attempt)
        self.give_up(attempt)
        return False

    def serve_members(self, jobs: Iterable[Job]) -> None:
        """Preempt for waiting members of jobs that run without them: one per turn of their queue."""
        job_order = JobOrder(self._session, jobs)
        while (queue := job_order.next_queue()) is not None:
            job = None if self._session.is_overused(queue) else job_order.next_job(queue)
            if job is None:
                continue
            with self._session.refusals.isolate_errors(job):
                tasks = self._session.pending(job)
                if tasks and self.preempt_for_task(job, tasks[0]):
                    job_order.return_job(job)
            job_order.return_queue(queue)

    def try_for(self, job: Job, statement: Statement) -> bool:
        """Evict pods for the job on a statement that the caller rolls back; report whether there is a plan. Tasks
        without a request preempt only within their queue.
        """
        tasks = self._session.pending(job, best_effort=self._rules.own_queue)
        attempt = self.begin(job, statement)
        placed = self._place_in_domain(attempt, tasks, partial(self.serve, attempt, tasks))
        found = (placed or self.find_together(attempt, tasks, self._exchange)) and attempt.places > 0
        if not found:
            statement.rollback(0)
        self.forget()
        return found

    def find_together(self, attempt: PreemptionAttempt, tasks: Sequence[Task], exchange: PlanExchange) -> bool:
        """Plan for all tasks at once, after no plan was found for them one by one."""
        found = exchange.find(attempt, tasks, self.records_of)
        if found:
            self.forget()
        return found

    def records_of(self, preemptor: Task, gang: EvictionUnit) -> dict[str, EvictionRecord]:
        """The records of a gang that is about to be evicted, if the session records decisions."""
        return {} if self._report is None else self._report.gang(preemptor, gang)

    def releasable(self, job: Job, dimensions: list[int]) -> NDArray[np.int64]:
        """Return upper bounds of the amounts that evictions for a job could release, one row per dimension."""
        return self._pool.releasable(job, dimensions)

    def begin(self, job: Job, statement: Statement) -> PreemptionAttempt:
        for ranking_key in self._used:  # of an attempt that an error ended: incomplete
            self._rankings.pop(ranking_key, None)
        self._used.clear()
        if self._pool.refresh(job):
            self._rankings = {key: each for key, each in self._rankings.items() if key[0] != job.queue}
        return PreemptionAttempt(job, statement, VictimSelection(self._session, self._rules, self._builder, statement))

    def _has_enough(self, job: Job) -> bool:
        return not self._session.job_starving(job) and self._session.job_pipelined(job)

    def is_postponed(self, attempt: PreemptionAttempt) -> bool:
        """Report whether the plan waits for a moment at which its victims lose less, which is the reason then."""
        better_moment = self._rules.better_moment
        if better_moment is None or not attempt.places:
            return False
        prune(self._session, attempt.statement, attempt.selection, attempt.units)
        operations, kinds = attempt.statement.operations, OperationKind
        victims = [task for each in operations if each.kind is kinds.EVICT for task in each.entry.tasks]
        moment = better_moment(victims)
        if moment is not None:
            served = next(each.entry.tasks[0] for each in operations if each.kind is kinds.PIPELINE)
            attempt.refusal = self._failures.postponement(served, victims, moment)
        return moment is not None

    def conclude(self, attempt: PreemptionAttempt) -> bool:
        """Commit if pods have to be evicted; otherwise the capacity is free or being released, for allocate."""
        if attempt.places:
            self._commit(attempt)
        else:
            self.forget()
        return bool(attempt.places)

    def _commit(self, attempt: PreemptionAttempt) -> None:
        if attempt.places > 1:
            prune(self._session, attempt.statement, attempt.selection, attempt.units)
        if self._exchange.improve(attempt, self.records_of):
            self.forget()
        if self._report is not None:
            evicted = {task.uid for operation in attempt.statement.operations for task in operation.entry.tasks}
            records = {uid: record for uid, record in attempt.records.items() if uid in evicted}
            self._report.records.evictions.update(records)
        attempt.statement.commit()
        for ranking_key in self._used:
            self._rankings[ranking_key].settle()
        self._used.clear()

    def forget(self) -> None:
        """Reset the rankings to the state before a plan that is not carried out."""
        for ranking_key in self._used:
            self._rankings[ranking_key].forget()
        self._used.clear()

    def _find_reason(self, attempt: PreemptionAttempt) -> None:
        """Determine the reason of a failure while all capacity it could have is still assumed."""
        if attempt.refusal is None and attempt.failed_task is not None:
            attempt.refusal = self._failures.refusal(attempt.failed_task, attempt.places)

    def give_up(self, attempt: PreemptionAttempt) -> None:
        self.forget()
        self._refuse(attempt.job, attempt.refusal)

    def _refuse(self, job: Job, refusal: PreemptionFailure | None) -> None:
        if refusal is not None:
            self._session.refusals.add(job, refusal.reason)
            if self._report is not None:
                self._report.records.refuse(job.key, refusal)

    # -- domains and sub-jobs -----------------------------------------------------------------------------------

    def _place_in_domain(self, attempt: PreemptionAttempt, tasks: Sequence[Task], serve: Callable[[], bool]) -> bool:
        """Serve the job in the cheapest domain."""
        if not has_domains(attempt.job):
            return serve()
        domains = self._domains.of_job(attempt.job, tasks)
        if not domains:
            attempt.refusal = self._failures.no_domain(tasks[0])
        return self._place_in_cheapest(attempt, domains, serve)

    def _place_in_cheapest(
        self, attempt: PreemptionAttempt, domains: Sequence[RankedDomain], serve: Callable[[], bool]
    ) -> bool:
        max_domains, comparison = self._domains.max_domains, self._rules.comparison
        return place_in_cheapest(self._session, attempt, domains, max_domains, comparison, serve, self.forget)

    def _serve_job(self, attempt: PreemptionAttempt, tasks: Sequence[Task]) -> bool:
        if self.serve(attempt, tasks):
            return True
        self._find_reason(attempt)
        return False

    def serve(self, attempt: PreemptionAttempt, tasks: Sequence[Task]) -> bool:
        """Find capacity for tasks until their job has enough; report whether it has."""
        job = attempt.job
        if job.spec.policies:
            self._serve_sub_jobs(attempt, tasks)
        else:
            for task in tasks:
                if self._has_enough(job):
                    break
                self._serve(attempt, task)
        return self._session.job_pipelined(job) and bool(attempt.statement.operations)

    def _serve_sub_jobs(self, attempt: PreemptionAttempt, tasks: Sequence[Task]) -> None:
        """Serve sub-jobs, the required ones first, for as long as one of them gets something."""
        session, job, done = self._session, attempt.job, -1
        while len(attempt.statement.operations) > done:
            done = len(attempt.statement.operations)
            for sub_job in sub_jobs_by_need(session, job, session.sub_job_pipelined):
                if self._has_enough(job):
                    return
                waiting = [each for each in tasks if each.sub_job == sub_job.key and session.ledger.is_pending(each)]
                if waiting:
                    serve = partial(self._serve_sub_job, attempt, sub_job, waiting)
                    self._place_in_sub_job_domain(sub_job, attempt, waiting, serve)

    def _place_in_sub_job_domain(
        self, sub_job: SubJob, attempt: PreemptionAttempt, tasks: Sequence[Task], serve: Callable[[], bool]
    ) -> bool:
        domains = self._domains.of_sub_job(sub_job, attempt.domain, tasks)
        if not domains:
            attempt.refusal = attempt.refusal or self._failures.no_domain(tasks[0])
        return self._place_in_cheapest(attempt, domains, serve)

    def _serve_sub_job(self, attempt: PreemptionAttempt, sub_job: SubJob, tasks: Sequence[Task]) -> bool:
        """Report whether the sub-job got something, and has enough with it."""
        return any(
            self._serve_task(attempt, task) and self._session.sub_job_pipelined(attempt.job, sub_job) for task in tasks
        )

    def _serve_alone(self, attempt: PreemptionAttempt, task: Task) -> bool:
        serve = partial(self._serve_task, attempt, task)
        if not attempt.job.spec.policies:
            return serve()
        return self._place_in_sub_job_domain(attempt.job.sub_jobs[task.sub_job], attempt, [task], serve)

    def _serve_task(self, attempt: PreemptionAttempt, task: Task) -> bool:
        self._serve(attempt, task)
        if not self._session.ledger.is_pending(task):
            return True
        self._find_reason(attempt)
        return False

    # -- tasks --------------------------------------------------------------------------------------------------

    def _serve(self, attempt: PreemptionAttempt, task: Task) -> None:
        """Find capacity for one task, if there is a way."""
        number, done = task.task_class.number, len(attempt.statement.operations)
        if attempt.failed_at.get(number) == done or not self._session.ledger.is_pending(task):
            return
        refusal = self._rules.may_preempt(task) or self._session.pre_predicate(task.task_class)
        if refusal is not None:
            objection = RuleObjection(refusal.code.value, refusal.detail, (task.key,))
            attempt.refusal = attempt.refusal or PreemptionFailure(self._rules.action, task.key, refusal, (objection,))
        elif self._find_capacity(attempt, task):
            return
        else:
            attempt.failed_task = attempt.failed_task or task
        if not task.never_preempts:
            attempt.failed_at[number] = done

    def _find_capacity(self, attempt: PreemptionAttempt, task: Task) -> bool:
        """Take free capacity, or evict for it."""
        allowed = attempt.selection.is_allowed(task)
        resources_suffice = allowed and attempt.selection.has_no_filters(task)
        rankings = self._rankings_for(task, attempt.domain, by_victims_alone=not resources_suffice)
        row = self._free_row(task, rankings, attempt.domain.inside, resources_suffice) if allowed else -1
        if row >= 0:
            attempt.statement.pipeline(task, row)
            return True
        if task.never_preempts:
            return False
        for ranking in rankings:
            plan = self._cheapest(attempt, task, ranking, resources_suffice)
            if plan is not None:
                if self._report is not None:
                    records = self._report.evictions(attempt.selection, task, plan, ranking, attempt.evaluated_nodes)
                    attempt.records.update(records)
                self._carry_out(attempt, task, plan)
                return True
        return False

    def _free_row(
        self, task: Task, rankings: Sequence[NodeRanking], within: Mask | None, resources_suffice: bool
    ) -> int:
        session, search = self._session, self._session.search
        nominated = session.nodes.index.get(task.nominated_node, -1) if task.nominated_node else -1
        if nominated >= 0 and (within is None or within[nominated]) and search.accepts(task, nominated):
            return nominated
        if resources_suffice:
            firsts = [ranking.first() for ranking in rankings]
            if all(first is None or first[0][1] > 0 for first in firsts):
                return -1
        rows = search.find_nodes(task, 1, within)
        return rows[0] if rows else search.find_future_node(task, within)

    def _rankings_for(self, task: Task, domain: Domain, *, by_victims_alone: bool) -> list[NodeRanking]:
        """A ranking for each group of nodes that comes before the next one."""
        groups = enumerate(self._session.search.groups(domain.inside))
        return [self._ranking(task, (domain.name, place, by_victims_alone), inside) for place, inside in groups]

    def _ranking(self, task: Task, where: tuple[str, int, bool], inside: Mask | None) -> NodeRanking:
        """The ranking for this kind of preemptor. Plugins may distinguish preemptors by queue, priorities, class, user,
        and what their job holds; each member of a job is ranked with what the job holds at the time.
        """
        job = self._session.jobs[task.job]
        spec = job.spec
        own = spec.key if len(job.tasks) > 1 or self._rules.thrash_guard else ""
        priorities = spec.priority, task.priority, task.priority_in_job
        ranking_key = spec.queue, *priorities, task.task_class.number, own, self._user_of(job), *where
        ranking = self._rankings.get(ranking_key)
        if ranking is None:
            ranking = NodeRanking(self._session, self._pool, task, inside, by_victims_alone=where[-1])
            self._rankings[ranking_key] = ranking
        else:
            ranking.refresh()
        self._used.add(ranking_key)
        return ranking

    def _cheapest(
        self, attempt: PreemptionAttempt, task: Task, ranking: NodeRanking, resources_suffice: bool
    ) -> NodePlan | None:
        """The cheapest plan over all nodes."""
        comparison = self._rules.comparison
        limit = comparison.limit(ranking.size)
        best: NodePlan | None = None
        attempt.evaluated_nodes = []
        compared: list[tuple[Bound, int]] = []
        while (first := ranking.first()) is not None:
            bound, row = first
            if best is not None and (len(compared) >= limit or not comparison.could_beat(bound, best.cost)):
                break
            ranking.take()
            plan = self._plan_on(attempt, task, row, ranking, resources_suffice)
            if self._report is not None:
                attempt.evaluated_nodes.append((row, plan))
            if plan is None:
                ranking.drop(row)
                continue
            compared.append((bound, row))
            if best is None or plan.cost < best.cost:
                best = plan
        for bound, row in compared:
            if best is not None and row == best.row:
                ranking.recompute(row)
            else:
                ranking.put_back(bound, row)
        return best

    def _plan_on(
        self, attempt: PreemptionAttempt, task: Task, row: int, ranking: NodeRanking, resources_suffice: bool
    ) -> NodePlan | None:
        candidates = ranking.candidates(attempt.job, row)
        if not candidates:
            return None
        candidates = attempt.selection.preferred(task, row, candidates, self._pool)
        asked = [each.task for each in candidates]
        allowed = self._rules.allowed(task, asked)
        if not allowed:
            ranking.refuse(asked)
            return None
        if len(allowed) < len(asked):
            uids = {victim.uid for victim in allowed}
            candidates = [each for each in candidates if each.task.uid in uids]
        return attempt.selection.on(task, row, candidates, resources_suffice)

    def _carry_out(self, attempt: PreemptionAttempt, task: Task, plan: NodePlan) -> None:
        statement = attempt.statement
        statement.evict_all(plan.victims, self._rules.action, attempt.job.key)
        statement.pipeline(task, plan.row, after_eviction=bool(plan.victims))
        attempt.units.extend(plan.units)
        attempt.places += 1
