"""The rules of an action that preempts: which tasks are candidates, and which plugins allow their eviction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.preemption.cost import BY_COST, CostComparison
from stromboli.core.preemption.thrash_guard import ThrashGuard
from stromboli.core.session.session import Session

_FEWEST, _YOUNGEST = "fewest", "youngest"


class VictimOrderArguments(Arguments):
    victim_order: str = Argument(
        "victimOrder",
        _FEWEST,
        "Among victims of equal importance: as few as possible, or those of the youngest jobs.",
        choices=(_FEWEST, _YOUNGEST),
    )

    @property
    def youngest_first(self) -> bool:
        return self.victim_order == _YOUNGEST


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
    #: Whether a preemptor of the first job may evict tasks of the second job at all.
    may_target: Callable[[Job, Job], bool]
    #: The jobs that are protected from a preemptor because they received its capacity a short while ago.
    thrash_guard: ThrashGuard
    #: Why no preemption is allowed for a task now; None when it is.
    may_preempt: Callable[[Task], Reason | None]
    #: The first argument of the plugins' answers for a preemptor.
    subject: Callable[[Task], object] = _itself
    #: Whether whole gangs may be evicted; otherwise only spare members are.
    evicts_whole_gangs: bool = True
    comparison: CostComparison = BY_COST
    #: Whether the victims of a complete plan are exchanged for a cheaper set.
    exchanges: bool = True
    #: Whether the youngest jobs are evicted first, even if fewer victims of older jobs would do.
    youngest_first: bool = False


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
