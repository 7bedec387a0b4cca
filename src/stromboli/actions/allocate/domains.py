"""Allocating a job that is made of sub-jobs, or that wants its nodes close together.

Domains of nodes are tried group by group, the closest first. Each try is a dry run on a statement of its own,
saved and undone; the best domain of the first group in which the job fits is then replayed.
"""

from __future__ import annotations

from collections.abc import Sequence

from stromboli.actions.allocate.placing import Placing
from stromboli.actions.allocate.worksheet import Worksheet
from stromboli.framework.plugin import Domain
from stromboli.framework.session import Session
from stromboli.framework.statement import Plan, Statement
from stromboli.model.job import Job, SubJob, valid_in
from stromboli.model.reasons import Code, Reason
from stromboli.model.task import Task

CLUSTER = Domain("<cluster-top-hypernode>", 1)


class DomainSearch:
    def __init__(self, session: Session, job: Job) -> None:
        self._session = session
        self._job = job

    def allocate(self, worksheet: Worksheet) -> bool:
        """Find the best domain for what the job needs next. True when something was committed."""
        plan = self.plan([task for task in worksheet.rest if self._session.ledger.is_pending(task)])
        return plan is not None and self._realise(plan, worksheet)

    def plan(self, tasks: Sequence[Task]) -> Plan | None:
        """Where the tasks would go; nothing of it remains."""
        for group in self._session.gradient_for_job(self._job, CLUSTER):
            plans = {domain.name: plan for domain in group if (plan := self._dry_run(tasks, domain))}
            if plans:
                best = self._best(self._job, [domain for domain in group if domain.name in plans])
                return plans[best]
        return None

    def _best(self, subject: Job | SubJob, domains: Sequence[Domain]) -> str:
        """The domain with the highest score, the first by name among equals."""
        scores = self._session.domain_scores(subject, domains)
        return min(domains, key=lambda domain: (-scores[domain.name], domain.name)).name

    def _dry_run(self, tasks: Sequence[Task], domain: Domain) -> Plan | None:
        with self._session.statement() as statement:
            self._place(statement, tasks, domain)
            ready = statement.operations and (
                self._session.job_ready(self._job) or self._session.job_pipelined(self._job)
            )
            return statement.save() if ready else None

    def _place(self, statement: Statement, tasks: Sequence[Task], domain: Domain) -> None:
        if not self._job.spec.policies:
            Placing(self._session, statement, self._job, within=domain.inside).run(Worksheet(tasks))
            return
        by_sub_job: dict[str, list[Task]] = {}
        for task in tasks:
            by_sub_job.setdefault(task.sub_job, []).append(task)
        before = -1
        while len(statement.operations) > before:
            before = len(statement.operations)
            for sub_job in self._in_order():
                waiting = [t for t in by_sub_job.get(sub_job.key, ()) if self._session.ledger.is_pending(t)]
                if waiting:
                    self._place_sub_job(statement, sub_job, waiting, domain)
                if statement.operations and self._session.job_ready(self._job):
                    return

    def _in_order(self) -> list[SubJob]:
        """Sub-jobs that are needed for the minimum of their group first, then the others."""
        session, job = self._session, self._job
        ready = {key for key, sub_job in job.sub_jobs.items() if session.sub_job_ready(job, sub_job)}
        ordered = sorted(job.sub_jobs.values(), key=session.sub_job_order_key)
        missing = {
            policy.name: policy.minimum - sum(1 for sub_job in job.sub_jobs_of(policy) if sub_job.key in ready)
            for policy in job.spec.policies
        }
        needed: list[SubJob] = []
        others: list[SubJob] = []
        for sub_job in ordered:
            group = sub_job.policy.name if sub_job.policy else ""
            is_needed = sub_job.key not in ready and missing.get(group, 0) > 0
            if is_needed:
                missing[group] -= 1
            (needed if is_needed else others).append(sub_job)
        return needed + others

    def _place_sub_job(self, statement: Statement, sub_job: SubJob, tasks: Sequence[Task], root: Domain) -> None:
        """Place one sub-job in the best of its own domains, or leave no trace of it."""
        for group in self._session.gradient_for_sub_job(sub_job, root):
            plans = {d.name: plan for d in group if (plan := self._dry_run_sub_job(statement, sub_job, tasks, d))}
            if plans:
                best = self._best(sub_job, [domain for domain in group if domain.name in plans])
                statement.recover(plans[best])
                return
        valid = valid_in(sub_job.counts)
        if valid < sub_job.min_available:
            detail = f"sub-group {sub_job.key} has {valid} of the {sub_job.min_available} pods that must start together"
            self._session.refuse(self._job, Reason(Code.NOT_ENOUGH_TASKS, detail))

    def _dry_run_sub_job(
        self, statement: Statement, sub_job: SubJob, tasks: Sequence[Task], domain: Domain
    ) -> Plan | None:
        session, mark = self._session, len(statement.operations)
        Placing(session, statement, self._job, sub_job, domain.inside).run(Worksheet(tasks))
        fits = len(statement.operations) > mark and (
            session.sub_job_ready(self._job, sub_job) or session.sub_job_pipelined(self._job, sub_job)
        )
        plan = statement.save_since(mark) if fits else None
        statement.rollback(mark)
        return plan

    def _realise(self, plan: Plan, worksheet: Worksheet) -> bool:
        session = self._session
        with session.statement() as statement:
            if not statement.recover(plan):
                return False
            placed = {task.uid for operation in plan.operations for task in operation.tasks}
            worksheet.drop(placed)
            if session.job_ready(self._job):
                statement.commit()
                return True
            statement.keep()
            return False
