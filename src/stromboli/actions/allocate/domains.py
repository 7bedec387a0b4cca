"""Allocating a job that is made of sub-jobs, or that wants its nodes close together.

Domains of nodes are tried group by group, the closest first. Domains that cannot hold what is needed are left out
without a try, by their sums. The others are tried in the order of their scores, each on a statement that is undone when
it fails; so the first that works is the best that works.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stromboli.actions.allocate.placing import Placing
from stromboli.actions.allocate.worksheet import Worksheet
from stromboli.framework.plugin import Domain
from stromboli.framework.session import Session
from stromboli.framework.statement import Plan, Statement
from stromboli.framework.sub_jobs import needed_by, sub_jobs_by_need
from stromboli.model.hypernodes import TOP
from stromboli.model.job import Job, SubJob, valid_in
from stromboli.model.reasons import Code, Reason
from stromboli.model.task import Task

CLUSTER = Domain(TOP, 1)


class DomainSearch:
    def __init__(self, session: Session, job: Job) -> None:
        self._session = session
        self._job = job

    def allocate(self, worksheet: Worksheet) -> bool:
        """Find the best domain for what the job needs next. True when something was committed."""
        session = self._session
        with session.statement() as statement:
            if not self._place(statement, [task for task in worksheet.rest if session.ledger.is_pending(task)]):
                return False
            worksheet.drop({task.uid for each in statement.operations for task in each.entry.tasks})
            if session.job_ready(self._job):
                statement.commit()
                return True
            statement.keep()
            return False

    def plan(self, tasks: Sequence[Task]) -> Plan | None:
        """Where the tasks would go; nothing of it remains."""
        with self._session.statement() as statement:
            return statement.save() if self._place(statement, tasks) else None

    def _place(self, statement: Statement, tasks: Sequence[Task]) -> bool:
        """Place the job in the best domain of the first group that has one. If there is none, nothing remains."""
        session, job = self._session, self._job
        for group in session.gradient_for_job(job, CLUSTER):
            if self._place_in_best(statement, tasks, self._roomy(group, tasks, session.tasks_until_ready(job))):
                return True
        return False

    # -- domains ------------------------------------------------------------------------------------------------

    def _roomy(self, group: Sequence[Domain], tasks: Sequence[Task], needed: int) -> list[Domain]:
        """Those that may hold as many of the tasks as are needed."""
        room = self._session.domain_room
        trees = {domain.tree for domain in group if domain.tree is not None}
        enough = {tree: (room.tasks_that_fit(tree, tasks) >= needed).tolist() for tree in trees}
        return [each for each in group if each.tree is None or each.place is None or enough[each.tree][each.place]]

    def _by_score(self, subject: Job | SubJob, domains: Sequence[Domain]) -> Iterator[tuple[Domain, float]]:
        """The best first, by name among equals. Scores may depend on who else is left, so they are asked for again
        whenever one is not taken.
        """
        left = list(domains)
        while left:
            scores = self._session.domain_scores(subject, left)
            best = min(left, key=lambda domain: (-scores[domain.name], domain.name))
            yield best, scores[best.name]
            left.remove(best)

    # -- jobs ---------------------------------------------------------------------------------------------------

    def _place_in_best(self, statement: Statement, tasks: Sequence[Task], domains: Sequence[Domain]) -> bool:
        """Place the job in the best of these domains."""
        if self._job.spec.policies:
            return self._place_where_sub_jobs_are_best(statement, tasks, domains)
        for domain, _ in self._by_score(self._job, domains):
            Placing(self._session, statement, self._job, within=domain.inside).run(Worksheet(tasks))
            if self._can_start(statement):
                return True
            statement.rollback(0)
        return False

    def _can_start(self, statement: Statement) -> bool:
        session = self._session
        return bool(statement.operations) and (session.job_ready(self._job) or session.job_pipelined(self._job))

    def _place_where_sub_jobs_are_best(
        self, statement: Statement, tasks: Sequence[Task], domains: Sequence[Domain]
    ) -> bool:
        """Where its sub-jobs end up decides how good a domain is, so all domains are tried."""
        if len(domains) == 1:
            self._place_sub_jobs(statement, tasks, domains[0])
            return self._can_start(statement) or self._nothing_remains(statement)
        best: Plan | None = None
        highest = 0.0
        for domain in sorted(domains, key=lambda domain: domain.name):
            score = self._place_sub_jobs(statement, tasks, domain)
            if self._can_start(statement) and (best is None or score > highest):
                best, highest = statement.save(), score
            statement.rollback(0)
        return best is not None and statement.recover(best)

    @staticmethod
    def _nothing_remains(statement: Statement) -> bool:
        statement.rollback(0)
        return False

    # -- sub-jobs -----------------------------------------------------------------------------------------------

    def _place_sub_jobs(self, statement: Statement, tasks: Sequence[Task], domain: Domain) -> float:
        """Place sub-jobs until the job can start; the answer is the sum of the scores of their domains."""
        by_sub_job: dict[str, list[Task]] = {}
        for task in tasks:
            by_sub_job.setdefault(task.sub_job, []).append(task)
        before, total = -1, 0.0
        while len(statement.operations) > before:
            before = len(statement.operations)
            for sub_job in sub_jobs_by_need(self._session, self._job, self._session.sub_job_ready):
                waiting = [t for t in by_sub_job.get(sub_job.key, ()) if self._session.ledger.is_pending(t)]
                if waiting:
                    total += self._place_sub_job(statement, sub_job, waiting, domain)
                if statement.operations and self._session.job_ready(self._job):
                    return total
        return total

    def _place_sub_job(self, statement: Statement, sub_job: SubJob, tasks: Sequence[Task], root: Domain) -> float:
        """Place one sub-job in the best of its own domains, or leave no trace of it; the score of the domain."""
        session, mark = self._session, len(statement.operations)
        needed = needed_by(session, sub_job)
        for group in session.gradient_for_sub_job(sub_job, root):
            for domain, score in self._by_score(sub_job, self._roomy(group, tasks, needed)):
                Placing(session, statement, self._job, sub_job, domain.inside).run(Worksheet(tasks))
                if len(statement.operations) > mark and self._sub_job_can_start(sub_job):
                    return score
                statement.rollback(mark)
        valid = valid_in(sub_job.counts)
        if valid < sub_job.min_available:
            detail = f"sub-group {sub_job.key} has {valid} of the {sub_job.min_available} pods that must start together"
            session.refuse(self._job, Reason(Code.NOT_ENOUGH_TASKS, detail))
        return 0.0

    def _sub_job_can_start(self, sub_job: SubJob) -> bool:
        session = self._session
        return session.sub_job_ready(self._job, sub_job) or session.sub_job_pipelined(self._job, sub_job)
