"""preempt: make room for jobs that starve, at the cost of others in the same queue.

First between the jobs of a queue: a job gets the room it needs to start, or nothing happens. Then within jobs: a task
may take the place of another one of the same job.
"""

from __future__ import annotations

from collections.abc import Callable

from stromboli.framework.action import Action
from stromboli.framework.arguments import PREDICATE_ERROR_CACHE, Argument
from stromboli.framework.eviction import THRASHING_WINDOW, Claims, Terms, Truce
from stromboli.framework.session import Session
from stromboli.framework.turns import Turns
from stromboli.model.job import Job
from stromboli.model.task import TaskStatus

_STANDING = (TaskStatus.BOUND, TaskStatus.RUNNING)
_ALL_NODES = "all nodes are compared by the same costs, in both modes"


class Preempt(Action):
    name = "preempt"
    arguments = (
        PREDICATE_ERROR_CACHE,
        THRASHING_WINDOW,
        Argument("enableTopologyAwarePreemption", bool, False, "Compare nodes by dry runs.", ignored=_ALL_NODES),
        Argument("topologyAwarePreemptWorkerNum", int, 16, "Workers of the dry runs.", ignored=_ALL_NODES),
        Argument("minCandidateNodesPercentage", int, 10, "Nodes to compare, in per cent.", ignored=_ALL_NODES),
        Argument("minCandidateNodesAbsolute", int, 1, "Nodes to compare at least.", ignored=_ALL_NODES),
        Argument("maxCandidateNodesAbsolute", int, 100, "Nodes to compare at most.", ignored=_ALL_NODES),
    )

    def execute(self, session: Session) -> None:
        starving = [job for job in session.waiting if job.phase != "Pending" and session.job_starving(job)]
        if not starving or not len(session.nodes):
            return
        truce = Truce(session, self.given[THRASHING_WINDOW.key])
        between = Claims(session, _terms(session, truce, lambda claimant, victim: victim.key != claimant.key))
        turns = Turns(session, starving)
        while (queue := turns.next_queue()) is not None:
            served: list[Job] = []
            while (job := turns.next_job(queue)) is not None:
                served.append(job)
                with session.blaming(job):
                    _serve(session, job, between)
            for job in served:
                with session.blaming(job):
                    _serve_from_within(session, job, truce)


def _terms(session: Session, truce: Truce, reaches: Callable[[Job, Job], bool]) -> Terms:
    return Terms(
        action=Preempt.name,
        question="preemptable",
        statuses=_STANDING,
        lawful=session.preemptable,
        reaches=reaches,
        truce=truce,
        may_claim=lambda _: None,
    )


def _serve(session: Session, job: Job, claims: Claims) -> None:
    if session.job_starving(job):
        claims.claim(job, session.pending(job))


def _serve_from_within(session: Session, job: Job, truce: Truce) -> None:
    """Each task that still waits, for as long as they find a member of the job to replace."""
    if not any(session.ledger.status_of(task) in _STANDING for task in job.tasks.values()):
        return
    pending = session.pending(job)
    if not pending:
        return
    claims = Claims(session, _terms(session, truce, lambda claimant, victim: victim.key == claimant.key), jobs=[job])
    for task in pending:
        if not claims.claim_one(job, task):
            return
