"""Allocation of a job with sub-jobs, or with a topology.

Domains are tried group by group, the closest first. Domains that cannot hold the needed tasks by their sums are
skipped. The others are tried in the order of their scores, each on a statement that is rolled back on failure; so the
first that works is the best that works.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from stromboli.core.actions.allocate.domain_packer import DomainPacker
from stromboli.core.actions.allocate.gang_placer import GangPlacer
from stromboli.core.actions.allocate.pending_tasks import PendingTasks
from stromboli.core.config.plugin import CLUSTER, Domain
from stromboli.core.model.jobs.job import Job, SubJob, valid_in
from stromboli.core.model.nodes.table import Mask
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task import Task
from stromboli.core.session.refusals import TaskRefusal
from stromboli.core.session.session import Session
from stromboli.core.session.statement import SavedStatement, Statement
from stromboli.core.session.waiting_reasons import counted
from stromboli.core.topology.domain_group import marked_in
from stromboli.core.topology.domain_search_records import (
    DomainEvaluation,
    DomainSearchRecord,
    DomainSearchRecords,
    failure_description,
    short_failure,
)
from stromboli.core.topology.sub_jobs import needed_by, sub_jobs_by_need


class DomainSearch:
    def __init__(self, session: Session, job: Job) -> None:
        self._session = session
        self._job = job

    def allocate(self, pending_tasks: PendingTasks) -> bool:
        """Find the best domain for what the job needs next. True when something was committed."""
        session, job = self._session, self._job
        record = self._new_record()
        with session.statement() as statement:
            tasks = [task for task in pending_tasks.rest if session.ledger.is_pending(task)]
            if not self._place(statement, tasks, record):
                self._report(record)
                return False
            served = {task.uid for each in statement.operations for task in each.entry.tasks}
            record.placed = len(served)
            self._report(record)
            pending_tasks.drop(served)
            if session.job_ready(job):
                statement.commit()
                return True
            statement.keep()
            return False

    def plan(self, tasks: Sequence[Task]) -> SavedStatement | None:
        """The placements of the tasks in a dry run."""
        with self._session.statement() as statement:
            return statement.save() if self._place(statement, tasks, self._new_record()) else None

    def _place(self, statement: Statement, tasks: Sequence[Task], record: DomainSearchRecord) -> bool:
        """Place the job in the best domain of the first group that has one. If there is none, roll back."""
        groups = self._session.gradient_for_job(self._job, CLUSTER)
        for group in _own_shard_first(self._session, groups, tasks, record):
            if self._place_in_best(statement, tasks, record, self._evaluate(record, group, tasks)):
                return True
        return False

    # -- records ------------------------------------------------------------------------------------------------

    def _new_record(self) -> DomainSearchRecord:
        session, job = self._session, self._job
        needed, tree = session.tasks_until_ready(job), session.snapshot.network_of(job)
        spec, has_sub_jobs = job.spec, bool(job.ready_count)
        return DomainSearchRecord(tree, "", spec.topology, needed, has_sub_jobs, CLUSTER, bool(spec.min_resources))

    def _new_sub_job_record(self, sub_job: SubJob, root: Domain) -> DomainSearchRecord:
        needed, tree = needed_by(self._session, sub_job), self._session.snapshot.network_of(self._job)
        topology = sub_job.policy.topology if sub_job.policy else None
        return DomainSearchRecord(tree, sub_job.key, topology, needed, bool(sub_job.ready_count), root)

    def _report(self, record: DomainSearchRecord) -> None:
        """Report why no domain is suitable, unless another reason exists; keep the record if the session keeps any."""
        session, job = self._session, self._job
        if session.records is not None and session.program.flat["hyper_node_gradient_for_job"]:
            session.records.searches.setdefault(job.key, DomainSearchRecords()).add(record)
        if record.chosen is None and (cause := _cause(record)) is not None:
            detail = f"{failure_description(cause)}{_nodes_outside_shard(session)}"
            session.refusals.of(job).replace(Reason(Code.NO_DOMAIN, detail, short=partial(short_failure, cause)))

    # -- domains ------------------------------------------------------------------------------------------------

    def _evaluate(self, record: DomainSearchRecord, group: Sequence[Domain], tasks: Sequence[Task]) -> DomainEvaluation:
        """Evaluate the domains of a group, all of one tier: find those that may hold as many tasks as needed."""
        tree = group[0].tree
        capacity = None if tree is None else self._session.domain_capacity.tasks_that_fit(tree, tasks)
        fitting = group if capacity is None else marked_in(group, capacity >= record.needed)
        evaluation = DomainEvaluation(group, capacity, fitting, is_elastic=len(tasks) > record.needed)
        self._session.measurements.domains_passed_over += len(group) - len(evaluation.fitting)
        record.tree = tree or record.tree
        record.evaluations.append(evaluation)
        return evaluation

    def _by_score(self, subject: Job | SubJob, evaluation: DomainEvaluation) -> Iterator[tuple[Domain, float]]:
        """The best first; among equals the one that holds most of the tasks, then by name. Scores may depend on the
        other domains, so they are computed again whenever one is not taken.
        """
        left = evaluation.fitting
        while left:
            scores = evaluation.scores = self._session.domain_scores(subject, left)
            best, score = scores.best(evaluation.capacity if evaluation.is_elastic else None)
            self._session.measurements.domains_tried += 1
            self._session.time_budget.check()
            yield best, score
            left = [domain for domain in left if domain is not best]

    def _place_inside(
        self, statement: Statement, tasks: Sequence[Task], domain: Domain, needed: int, sub_job: SubJob | None = None
    ) -> TaskRefusal | None:
        """Place tasks in few sub-domains, if that suffices to start, else anywhere. Return the last failure."""
        session, job, mark = self._session, self._job, len(statement.operations)

        def place(some: Sequence[Task], inside: Mask | None) -> TaskRefusal | None:
            placing = GangPlacer(session, statement, job, sub_job, inside)
            placing.run(PendingTasks(some))
            return placing.refused

        if domain.tree is not None and domain.place is not None:
            mates = job.tasks.values() if sub_job is None else sub_job.tasks
            if DomainPacker(session, domain.tree, place).pack(domain.place, tasks[:needed], mates):
                ready = session.job_ready(job) if sub_job is None else session.sub_job_ready(job, sub_job)
                if ready:
                    return None
                statement.rollback(mark)
        return place(tasks, domain.inside)

    # -- jobs ---------------------------------------------------------------------------------------------------

    def _place_in_best(
        self, statement: Statement, tasks: Sequence[Task], record: DomainSearchRecord, evaluation: DomainEvaluation
    ) -> bool:
        """Place the job in the best of the domains with enough capacity."""
        if self._job.spec.policies:
            return self._place_where_sub_jobs_are_best(statement, tasks, record, evaluation)
        for domain, score in self._by_score(self._job, evaluation):
            refused = self._place_inside(statement, tasks, domain, record.needed)
            if self._can_start(statement):
                record.take(domain, score)
                return True
            evaluation.failed[domain.name] = refused
            statement.rollback(0)
        return False

    def _can_start(self, statement: Statement) -> bool:
        session = self._session
        return bool(statement.operations) and (session.job_ready(self._job) or session.job_pipelined(self._job))

    def _place_where_sub_jobs_are_best(
        self, statement: Statement, tasks: Sequence[Task], record: DomainSearchRecord, evaluation: DomainEvaluation
    ) -> bool:
        """Try all domains and keep the best: the placement of the sub-jobs determines the score of a domain."""
        best: SavedStatement | None = None
        scores = evaluation.scores = {}
        for domain in sorted(evaluation.fitting, key=lambda domain: domain.name):
            parts = DomainSearchRecords()
            self._session.measurements.domains_tried += 1
            self._session.time_budget.check()
            score = self._place_sub_jobs(statement, tasks, domain, parts)
            if not self._can_start(statement):
                evaluation.failed[domain.name] = next((part for part in parts if part.chosen is None), None)
            elif len(evaluation.fitting) == 1:
                record.take(domain, score, parts)
                return True
            else:
                scores[domain.name] = score
                if best is None or score > record.score:
                    best = statement.save()
                    record.take(domain, score, parts)
            statement.rollback(0)
        return best is not None and statement.recover(best)

    # -- sub-jobs -----------------------------------------------------------------------------------------------

    def _place_sub_jobs(
        self, statement: Statement, tasks: Sequence[Task], domain: Domain, parts: DomainSearchRecords
    ) -> float:
        """Place sub-jobs until the job can start; return the sum of the scores of their domains."""
        by_sub_job: dict[str, list[Task]] = {}
        for task in tasks:
            by_sub_job.setdefault(task.sub_job, []).append(task)
        before, total = -1, 0.0
        while len(statement.operations) > before:
            before = len(statement.operations)
            for sub_job in sub_jobs_by_need(self._session, self._job, self._session.sub_job_ready):
                waiting = [t for t in by_sub_job.get(sub_job.key, ()) if self._session.ledger.is_pending(t)]
                if waiting:
                    part = self._new_sub_job_record(sub_job, domain)
                    self._place_sub_job(statement, sub_job, waiting, part)
                    parts.add(part)
                    total += part.score
                if statement.operations and self._session.job_ready(self._job):
                    return total
        return total

    def _place_sub_job(
        self, statement: Statement, sub_job: SubJob, tasks: Sequence[Task], record: DomainSearchRecord
    ) -> None:
        """Place one sub-job in the best of its own domains, or roll back."""
        session, mark = self._session, len(statement.operations)
        groups = session.gradient_for_sub_job(sub_job, record.root)
        for group in _own_shard_first(self._session, groups, tasks, record):
            evaluation = self._evaluate(record, group, tasks)
            for domain, score in self._by_score(sub_job, evaluation):
                refused = self._place_inside(statement, tasks, domain, record.needed, sub_job)
                if len(statement.operations) > mark and self._sub_job_can_start(sub_job):
                    record.take(domain, score)
                    record.placed = sum(len(each.entry.tasks) for each in statement.operations[mark:])
                    return
                evaluation.failed[domain.name] = refused
                statement.rollback(mark)
        valid = valid_in(sub_job.counts)
        if valid < sub_job.min_available:
            detail = f"sub-group {sub_job.key} has {valid} of the {sub_job.min_available} pods that must start together"
            short = f"sub-group {sub_job.key}: {valid} of {sub_job.min_available} pods exist"
            session.refusals.add(self._job, Reason(Code.NOT_ENOUGH_TASKS, detail, short=short))

    def _sub_job_can_start(self, sub_job: SubJob) -> bool:
        session = self._session
        return session.sub_job_ready(self._job, sub_job) or session.sub_job_pipelined(self._job, sub_job)


def _cause(record: DomainSearchRecord) -> DomainSearchRecord | None:
    """The search that failed for its domains: this one, or that of a sub-job, where the job may use any node."""
    failures = [failure for evaluation in record.evaluations for failure in evaluation.failed.values()]
    if any(isinstance(failure, TaskRefusal) and failure.nodes is None for failure in failures):
        return None
    if record.supports_domains:
        return record
    part = next((failure for failure in failures if isinstance(failure, DomainSearchRecord)), None)
    return _cause(part) if part is not None else None


# -- shards ---------------------------------------------------------------------------------------------------------


def _own_shard_first(
    session: Session, groups: Iterable[Sequence[Domain]], tasks: Sequence[Task], record: DomainSearchRecord
) -> Iterator[Sequence[Domain]]:
    """Where nodes of other shards come last, domains that need them come after those of their tier that do not. So does
    the previous domain of the job, unless the job has nominated capacity there.
    """
    if session.nodes.last is None or any(task.nominated_node for task in tasks):
        yield from groups
        return
    previous: Sequence[Domain] = ()
    for group in groups:
        own, others = _split_by_shard(session, group, tasks, record.needed)
        record.deprioritized.update(domain.name for domain in others)
        if group[0].kept and not own:
            previous = others
        else:
            yield from filter(None, (own, previous, others))
            previous = ()
    if previous:
        yield previous


def _split_by_shard(
    session: Session, group: Sequence[Domain], tasks: Sequence[Task], needed: int
) -> tuple[Sequence[Domain], Sequence[Domain]]:
    """The domains of a group in which the nodes of this shard have enough capacity now, and the others."""
    tree = group[0].tree
    if tree is None:
        return group, ()
    enough = session.domain_capacity.tasks_that_fit_in_shard(tree, tasks) >= needed
    return marked_in(group, enough), marked_in(group, ~enough)


def _nodes_outside_shard(session: Session) -> str:
    """A message with the number of nodes that no domain counts because they are outside the shard."""
    excluded_nodes = session.nodes.excluded_nodes
    if excluded_nodes is None:
        return ""
    return f"; not counting {counted(int(excluded_nodes.sum()), 'node')} outside of this scheduler's shard"
