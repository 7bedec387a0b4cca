"""preempt: make room for jobs that starve, at the cost of others in the same queue.

First between the jobs of a queue: a job gets the room it needs to start, or nothing happens. Then within jobs: a task
may take the place of another one of the same job.
"""

from __future__ import annotations

from collections.abc import Callable

from stromboli.core.config.action import Action
from stromboli.core.config.arguments import Argument, PredicateCacheArguments
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.tasks.task import TaskStatus
from stromboli.core.preemption import (
    BY_COST,
    Claims,
    Comparison,
    KubeComparison,
    Terms,
    ThrashGuard,
    ThrashGuardArguments,
)
from stromboli.core.session.job_order import JobOrder
from stromboli.core.session.session import Session

_STANDING = (TaskStatus.BOUND, TaskStatus.RUNNING)
_ONE_AFTER_THE_OTHER = "nodes are compared without threads, and the outcome does not depend on their number"


class PreemptArguments(PredicateCacheArguments, ThrashGuardArguments):
    topology_aware: bool = Argument("enableTopologyAwarePreemption", False, "Compare nodes as kube-scheduler does.")
    workers: int = Argument(
        "topologyAwarePreemptWorkerNum", 16, "Workers of the comparison.", ignored=_ONE_AFTER_THE_OTHER
    )
    candidates_percentage: int = Argument(
        "minCandidateNodesPercentage", 10, "Nodes to compare in that mode, in per cent.", minimum=0
    )
    min_candidates: int = Argument(
        "minCandidateNodesAbsolute", 1, "The minimum of nodes to compare in that mode.", minimum=0
    )
    max_candidates: int = Argument(
        "maxCandidateNodesAbsolute", 100, "The maximum of nodes to compare in that mode.", minimum=1
    )


class Preempt(Action):
    name = "preempt"
    arguments = PreemptArguments()

    def execute(self, session: Session) -> None:
        starving = session.starving()
        if not starving:
            return
        thrash_guard = ThrashGuard(session, self.arguments.thrashing_window)
        between = Claims(
            session, self._terms(session, thrash_guard, lambda preemptor, victim: victim.key != preemptor.key)
        )
        turns = JobOrder(session, starving)
        while (queue := turns.next_queue()) is not None:
            served: list[Job] = []
            while (job := turns.next_job(queue)) is not None:
                served.append(job)
                with session.isolate_errors(job):
                    _serve(session, job, between)
            for job in served:
                with session.isolate_errors(job):
                    self._serve_from_within(session, job, thrash_guard)

    def _terms(self, session: Session, thrash_guard: ThrashGuard, reaches: Callable[[Job, Job], bool]) -> Terms:
        return Terms(
            action=self.name,
            question="preemptable",
            own_queue=True,
            statuses=_STANDING,
            allowed=session.preemptable,
            reaches=reaches,
            thrash_guard=thrash_guard,
            may_preempt=lambda _: None,
            comparison=self._comparison(),
        )

    def _comparison(self) -> Comparison:
        arguments = self.arguments
        if not arguments.topology_aware:
            return BY_COST
        return KubeComparison(arguments.candidates_percentage, arguments.min_candidates, arguments.max_candidates)

    def _serve_from_within(self, session: Session, job: Job, thrash_guard: ThrashGuard) -> None:
        """Each task that still waits, for as long as they find a member of the job to replace."""
        if not any(session.ledger.status_of(task) in _STANDING for task in job.tasks.values()):
            return
        pending = session.pending(job)
        if not pending:
            return
        terms = self._terms(session, thrash_guard, lambda preemptor, victim: victim.key == preemptor.key)
        claims = Claims(session, terms, jobs=[job])
        for task in pending:
            if not claims.preempt_for_task(job, task):
                return


def _serve(session: Session, job: Job, claims: Claims) -> None:
    if session.job_starving(job):
        claims.claim(job, session.pending(job))
