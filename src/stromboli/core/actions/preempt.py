"""preempt: evict pods of the same queue in favour of starving jobs.

First between the jobs of a queue: a job gets the capacity it needs to start, or nothing is evicted. Then within jobs: a
task may take the place of another one of the same job. A task without a request needs a pod slot only, and takes it
from other tasks without a request.
"""

from __future__ import annotations

from collections.abc import Callable

from stromboli.core.config.action import PreemptingAction
from stromboli.core.config.arguments import Argument, PredicateCacheArguments
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.tasks.task import TaskStatus
from stromboli.core.preemption import (
    BY_COST,
    ON_NODE,
    CostComparison,
    KubeCostComparison,
    Preemption,
    PreemptionRateArguments,
    PreemptionRates,
    PreemptionRules,
    ThrashGuard,
    VictimOrderArguments,
    replaceable,
)
from stromboli.core.session.job_order import JobOrder
from stromboli.core.session.session import Session

_BOUND, _RUNNING = TaskStatus.BOUND.value, TaskStatus.RUNNING.value
_ONE_AFTER_THE_OTHER = "nodes are compared without threads, and the result does not depend on their number"


class PreemptArguments(PredicateCacheArguments, VictimOrderArguments, PreemptionRateArguments):
    topology_aware: bool = Argument("enableTopologyAwarePreemption", False, "Compare nodes as kube-scheduler does.")
    workers: int = Argument("topologyAwarePreemptWorkerNum", 16, "Worker threads.", ignored=_ONE_AFTER_THE_OTHER)
    candidates_percentage: int = Argument(
        "minCandidateNodesPercentage", 10, "Nodes to compare in that mode, in per cent.", minimum=0
    )
    min_candidates: int = Argument("minCandidateNodesAbsolute", 1, "The minimum of nodes to compare.", minimum=0)
    max_candidates: int = Argument("maxCandidateNodesAbsolute", 100, "The maximum of nodes to compare.", minimum=1)


class Preempt(PreemptingAction):
    name = "preempt"
    arguments = PreemptArguments()

    def execute(self, session: Session) -> None:
        starving, growing = session.starving(), session.growing()
        if not starving and not growing:
            return
        thrash_guard = ThrashGuard(session, self.arguments)
        between = self._between_jobs(session, thrash_guard)
        job_order = JobOrder(session, starving)
        while (queue := job_order.next_queue()) is not None:
            served: list[Job] = []
            while (job := job_order.next_job(queue)) is not None:
                served.append(job)
                with session.refusals.isolate_errors(job):
                    if session.job_starving(job):
                        between.preempt_for(job, session.pending(job, best_effort=True))
            for job in served:
                if job.counts[_BOUND] or job.counts[_RUNNING]:
                    with session.refusals.isolate_errors(job):
                        self._serve_from_within(session, job, thrash_guard)
        between.serve_members(growing)

    def trial(self, session: Session) -> Preemption:
        return self._between_jobs(session, ThrashGuard(session, self.arguments))

    def _between_jobs(self, session: Session, thrash_guard: ThrashGuard) -> Preemption:
        return Preemption(session, self._rules(session, thrash_guard))

    def _rules(
        self, session: Session, thrash_guard: ThrashGuard, may_target: Callable[[Job, Job], bool] | None = None
    ) -> PreemptionRules:
        rules = PreemptionRules(
            action=self.name,
            question="preemptable",
            own_queue=True,
            statuses=ON_NODE,
            allowed=lambda preemptor, candidates: session.preemptable(preemptor, replaceable(preemptor, candidates)),
            may_target=may_target,
            thrash_guard=thrash_guard,
            may_preempt=PreemptionRates(session, self.name, self.arguments).refusal,
            comparison=self._comparison(),
        )
        return self.arguments.applied_to(rules, session)

    def _comparison(self) -> CostComparison:
        arguments = self.arguments
        if not arguments.topology_aware:
            return BY_COST
        return KubeCostComparison(arguments.candidates_percentage, arguments.min_candidates, arguments.max_candidates)

    def _serve_from_within(self, session: Session, job: Job, thrash_guard: ThrashGuard) -> None:
        """Serve waiting tasks one by one, as long as each finds a member of the job to replace."""
        pending = session.pending(job, best_effort=True)
        if not pending:
            return
        rules = self._rules(session, thrash_guard, lambda preemptor, victim: victim.key == preemptor.key)
        preemption = Preemption(session, rules, jobs=[job])
        for task in pending:
            if not preemption.preempt_for_task(job, task):
                return
