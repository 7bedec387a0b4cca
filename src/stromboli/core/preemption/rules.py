"""The rules of an action that preempts: which tasks are candidates, and which plugins allow their eviction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from stromboli.core.config.arguments import Argument
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.model.values.times import duration_or_nothing
from stromboli.core.preemption.cost import BY_COST, CostComparison, VictimOrder
from stromboli.core.preemption.history.thrash_guard import ThrashGuard, ThrashGuardArguments
from stromboli.core.preemption.lost_work import LeastLossComparison, LostWork
from stromboli.core.session.session import Session

_FEWEST, _YOUNGEST, _LEAST_LOSS = "fewest", "youngest", "leastLoss"


class VictimOrderArguments(ThrashGuardArguments):
    victim_order: str = Argument(
        "victimOrder",
        _FEWEST,
        "Among victims of equal importance: as few as possible, those of the youngest jobs, or those that lose the "
        "least work.",
        choices=(_FEWEST, _YOUNGEST, _LEAST_LOSS),
    )
    max_evictions: int = Argument(
        "maxEvictions",
        0,
        "With `leastLoss`: jobs with so many evictions within `evictionMemory` are evicted last; 0 for no limit.",
        minimum=0,
    )
    checkpoint_wait: float = Argument(
        "checkpointWait",
        "0s",
        "With `leastLoss`: how long to wait for a checkpoint or the end of victims if they lose less then; `0s` for "
        "not at all.",
        parse=duration_or_nothing,
    )

    def applied_to(self, rules: PreemptionRules, session: Session) -> PreemptionRules:
        """Return rules with this order of victims."""
        is_least_loss = self.victim_order == _LEAST_LOSS
        if self.max_evictions and not (is_least_loss and self.eviction_memory.seconds):
            self._warn(
                rules, session, "maxEvictions has no effect without victimOrder: leastLoss and an evictionMemory"
            )
        if self.checkpoint_wait and not is_least_loss:
            self._warn(rules, session, "checkpointWait has no effect without victimOrder: leastLoss")
        if self.victim_order == _YOUNGEST:
            return replace(rules, order=_youngest_first)
        if is_least_loss:
            lost_work = LostWork(session, self.eviction_memory, self.max_evictions, self.checkpoint_wait)
            better_moment = lost_work.better_moment if self.checkpoint_wait else None
            comparison = LeastLossComparison(lost_work)
            return replace(rules, order=lost_work.order, comparison=comparison, better_moment=better_moment)
        return rules

    @staticmethod
    def _warn(rules: PreemptionRules, session: Session, message: str) -> None:
        warning = f"{rules.action}: {message}"
        if warning not in session.warnings:
            session.warnings.append(warning)


def _youngest_first(job: Job, task: Task, is_needed: bool) -> float:
    return -job.spec.created


def _itself(preemptor: Task) -> object:
    return preemptor


#: The statuses of tasks that are on a node and not terminating.
ON_NODE = (TaskStatus.BOUND, TaskStatus.RUNNING)


@dataclass(frozen=True, slots=True)
class PreemptionRules:
    #: The name of the action: the reason of its evictions.
    action: str
    #: The extension point: `preemptable`, `reclaimable` or `evictable`.
    question: str
    #: Whether victims are in the preemptor's own queue; otherwise they are in other queues.
    own_queue: bool
    #: The statuses of victims.
    statuses: tuple[TaskStatus, ...]
    #: Returns the candidates that the plugins allow to be evicted for a preemptor.
    allowed: Callable[[Task, Sequence[Task]], list[Task]]
    #: The jobs that are protected from a preemptor because they received its capacity a short while ago.
    thrash_guard: ThrashGuard
    #: Why no preemption is allowed for a task now; None when it is.
    may_preempt: Callable[[Task], Reason | None]
    #: The first argument of the plugins' answers for a preemptor.
    subject: Callable[[Task], object] = _itself
    #: Whether whole gangs may be evicted; otherwise only spare members are.
    evicts_whole_gangs: bool = True
    #: Whether a preemptor of the first job may evict tasks of the second one in its queue; None for all other jobs.
    may_target: Callable[[Job, Job], bool] | None = None
    comparison: CostComparison = BY_COST
    #: Whether the victims of a complete plan are exchanged for a cheaper set.
    exchanges: bool = True
    #: The order of victims of equal importance, which counts before their number.
    order: VictimOrder | None = None
    #: Returns the moment until which the eviction of these tasks is postponed; None if it is not.
    better_moment: Callable[[Sequence[Task]], float | None] | None = None

    def targets(self, preemptor: Job, victim: Job) -> bool:
        if self.may_target is None:
            return victim.key != preemptor.key
        return self.may_target(preemptor, victim)


def replaceable(preemptor: Task, candidates: Sequence[Task]) -> Sequence[Task]:
    """Return the candidates that a task may replace: without a request, only those without one."""
    if not preemptor.task_class.best_effort:
        return candidates
    return [task for task in candidates if task.task_class.best_effort]


def reclaim_refusal(session: Session, action: str, task: Task) -> Reason | None:
    """Return why the queue of a task may not reclaim capacity for it; where all jobs are in one queue, its share is not
    the cause.
    """
    refusal = session.preemptive(session.queue_of(session.jobs[task.job]), [task])
    if refusal is not None and refusal.code is Code.QUEUE_SHARE and session.has_one_queue:
        return Reason(Code.NO_PREEMPTABLE_PODS, f"{action}: no other queue has jobs")
    return refusal
