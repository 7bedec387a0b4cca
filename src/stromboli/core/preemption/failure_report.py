"""Reasons of a failed preemption: the rules against it, each with an example."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.values.times import format_timestamp
from stromboli.core.preemption.candidates import CandidatePool, VictimCandidate
from stromboli.core.preemption.plugin_verdict import PluginVerdict, ask_plugins, grouped
from stromboli.core.preemption.rules import PreemptionRules
from stromboli.core.preemption.units import UnitBuilder
from stromboli.core.session.decision_records import PreemptionFailure, RuleObjection
from stromboli.core.session.session import Session
from stromboli.core.session.waiting_reasons import counted

#: The number of candidates to examine for a report.
MAX_CANDIDATES = 500
#: Rules of preemption; those of plugins have the plugins' names.
BUDGET = "disruption-budget"
CHECKPOINT = "checkpointWait"
GANG_MINIMUM = "gang-minimum"
GUARANTEE = "queue-guarantee"
NO_NODE = "no-node"
OWNER = "preemptable-label"
NON_PREEMPTABLE = "non-preemptable-job"
POLICY = "preemptionPolicy"
THRASH_GUARD = "thrashingWindow"
UNRECLAIMABLE_QUEUE = "reclaimable-queue"

_Reason = tuple[str, Callable[[], str], str]


def summarize_objections(objections: Sequence[RuleObjection]) -> str:
    """`priority protects 2 (default/a: priority 100 is not below 100)`."""
    return ", ".join(f"{each.rule} protects {len(each.objects)} ({each.objects[0]}: {each.why})" for each in objections)


class FailureReport:
    """Finds out why a preemptor got no capacity."""

    def __init__(self, session: Session, rules: PreemptionRules, pool: CandidatePool, builder: UnitBuilder) -> None:
        self.session = session
        self.rules = rules
        self.pool = pool
        self.builder = builder

    def refusal(self, preemptor: Task, placed: int = 0) -> PreemptionFailure:
        """The rules against it, in the state in which `placed` other tasks of its job have their capacity."""
        if preemptor.never_preempts:
            detail = f"{preemptor.key} has preemptionPolicy Never"
            return self._refusal(
                preemptor, Code.NEVER_PREEMPTS, detail, RuleObjection(POLICY, detail, (preemptor.key,))
            )
        job = self.session.jobs[preemptor.job]
        candidates = list(islice(self.pool.all_candidates(job), MAX_CANDIDATES))
        if not candidates:
            return self._refusal(
                preemptor, Code.NO_PREEMPTABLE_PODS, self._no_candidates(job), *grouped(self._not_candidates(job))
            )
        verdict = ask_plugins(self.session, self.rules, preemptor, [each.task for each in candidates])
        return self._refusal_by_verdict(preemptor, candidates, verdict, placed)

    def postponement(self, preemptor: Task, victims: Sequence[Task], moment: float) -> PreemptionFailure:
        """Report that these victims lose less from a moment on."""
        names = ", ".join(sorted({task.job for task in victims})[:3])
        detail = f"waits until {format_timestamp(moment)} for a checkpoint or the end of pods of {names}"
        objection = RuleObjection(CHECKPOINT, detail, tuple(task.key for task in victims))
        reason = Reason(Code.PREEMPTION_POSTPONED, f"{self.rules.action}: {detail}")
        return PreemptionFailure(self.rules.action, preemptor.key, reason, (objection,))

    def no_domain(self, preemptor: Task) -> PreemptionFailure:
        """Report that no allowed domain would have enough capacity without all candidates."""
        detail = "no allowed domain has enough capacity, even without all preemptable pods"
        return self._refusal(preemptor, Code.PREEMPTION_INSUFFICIENT, detail)

    def _refusal(self, preemptor: Task, code: Code, detail: str, *objections: RuleObjection) -> PreemptionFailure:
        return PreemptionFailure(
            self.rules.action, preemptor.key, Reason(code, f"{self.rules.action}: {detail}"), objections
        )

    def _refusal_by_verdict(
        self, preemptor: Task, candidates: Sequence[VictimCandidate], verdict: PluginVerdict, placed: int
    ) -> PreemptionFailure:
        job, allowed = self.session.jobs[preemptor.job], {task.uid for task in verdict.allowed}
        protected = [verdict.veto(each.task) for each in candidates if each.task.uid not in allowed]
        if not allowed:
            objections = grouped(protected)
            number = counted(len(candidates), "other pod" if placed else "running pod")
            detail = f"none of {number} may be evicted: {summarize_objections(objections)}"
            return self._refusal(
                preemptor, Code.NO_PREEMPTABLE_PODS, self._with_progress(detail, placed), *objections,
                *grouped(self._not_candidates(job)),
            )  # fmt: skip
        protected += self._not_candidates(job)
        budgets = self.session.ledger.budgets
        over_budget = [task for task in verdict.allowed if not budgets.may_spend((task.uid,))]
        if len(over_budget) == len(allowed):
            objections = grouped([*(self._of_budget(task) for task in over_budget), *protected])
            example = f"{over_budget[0].key}: {budgets.veto(over_budget[0].uid)}"
            detail = f"disruption budgets protect {counted(len(allowed), 'preemptable pod')} ({example})"
            return self._refusal(preemptor, Code.DISRUPTION_BUDGET, self._with_progress(detail, placed), *objections)
        return self._insufficient(
            preemptor, [each for each in candidates if each.task.uid in allowed], protected, placed
        )

    def _insufficient(
        self, preemptor: Task, allowed: Sequence[VictimCandidate], protected: Sequence[_Reason], placed: int
    ) -> PreemptionFailure:
        number = counted(len(allowed), "preemptable pod") if len(allowed) < MAX_CANDIDATES else "all preemptable pods"
        detail = f"evicting {number} would not free enough capacity"
        return self._refusal(
            preemptor,
            Code.PREEMPTION_INSUFFICIENT,
            self._with_progress(detail, placed),
            *self._details(preemptor, allowed, protected),
        )

    def _details(
        self, preemptor: Task, allowed: Sequence[VictimCandidate], protected: Sequence[_Reason]
    ) -> tuple[RuleObjection, ...]:
        """The victims that are protected after all, and why nodes still reject the preemptor. Empty without records."""
        if self.session.records is None:
            return ()
        units = self.builder.units(preemptor, allowed)
        evicted = {task.uid: task for unit in units for task in unit.tasks}
        staying = [each.task for each in allowed if each.task.uid not in evicted]
        kept = [self.reason_not_evictable(preemptor, task) for task in staying]
        return grouped([*protected, *kept]) + grouped(self._after(preemptor, list(evicted.values())))

    def _after(self, preemptor: Task, evicted: Sequence[Task]) -> list[_Reason]:
        """Return why its queue and the nodes reject the preemptor without all these tasks."""
        session = self.session
        with session.statement() as statement:
            statement.evict_all(evicted, self.rules.action, preemptor.job)
            queue = session.queue_of(session.jobs[preemptor.job])
            allowance = session.allocatable(queue, preemptor.task_class, 1)
            nodes = session.search.refusals(preemptor.task_class)
        rows = sorted({row for _, refused in nodes.groups for row in refused.tolist()})
        reasons: list[_Reason] = [(NO_NODE, lambda: str(nodes), session.nodes.names[row]) for row in rows]
        refusal = allowance.reason if allowance else None
        if refusal is not None:
            reasons.append((refusal.code.value, lambda: refusal.detail, preemptor.key))
        return reasons

    def reason_not_evictable(self, preemptor: Task, task: Task) -> _Reason:
        """Return why a victim that the plugins allow cannot be evicted: its budget, a guarantee, or its gang."""
        if not self.session.ledger.budgets.may_spend((task.uid,)):
            return self._of_budget(task)
        job = self.session.jobs[task.job]
        guaranteed = self.builder.guarantee_protecting(preemptor, self.builder.members(job))
        if guaranteed is not None:
            return (
                GUARANTEE,
                lambda: f"without PodGroup {job.key}, queue {guaranteed} has less than its guarantee",
                task.key,
            )
        needed = "all of them" if job.spec.evicted_whole else job.min_available
        message = f"PodGroup {job.key} has {job.ready_count} pods and needs {needed}, and not all may be evicted"
        return GANG_MINIMUM, lambda: message, task.key

    def _of_budget(self, task: Task) -> _Reason:
        return BUDGET, lambda: self.session.ledger.budgets.veto(task.uid), task.key

    @staticmethod
    def _with_progress(detail: str, placed: int) -> str:
        return (
            f"capacity can be freed for {counted(placed, 'pod')}, but not for the next one: {detail}"
            if placed
            else detail
        )

    # -- tasks that are no candidates ---------------------------------------------------------------------------

    def _no_candidates(self, job: Job) -> str:
        where = f"queue {job.queue}" if self.rules.own_queue else "other queues"
        thrash_guard = (
            f"; jobs that received capacity within the last {self.rules.thrash_guard.window} are protected"
            if self.rules.thrash_guard
            else ""
        )
        return f"no running pod of {where} may be evicted{thrash_guard}"

    def _not_candidates(self, job: Job) -> Iterator[_Reason]:
        """Return why other tasks are no candidates. Empty without records."""
        if self.session.records is not None:
            for other in self.session.jobs.values():
                for task in other.tasks.values():
                    reason = self.reason_not_candidate(job, other, task)
                    if reason is not None:
                        yield reason

    def reason_not_candidate(self, job: Job, other: Job, task: Task) -> _Reason | None:
        """Return why a task is no candidate; None for a candidate, and for a task that the rules do not target."""
        session, rules = self.session, self.rules
        if other.queue not in session.queues or (other.queue == job.queue) != rules.own_queue:
            return None
        if not rules.targets(job, other):
            return None
        if session.ledger.status_of(task) not in rules.statuses:
            return None
        if not task.preemptable:
            return OWNER, lambda: "its label or annotation volcano.sh/preemptable is false", task.key
        if other.key in session.protected_jobs:
            return NON_PREEMPTABLE, lambda: f"PodGroup {other.key} is non-preemptable", task.key
        if other.queue != job.queue and not session.queues[other.queue].reclaimable:
            return UNRECLAIMABLE_QUEUE, lambda: f"queue {other.queue} has reclaimable: false", task.key
        if rules.thrash_guard and rules.thrash_guard.protects(other, job):
            message = f"it received capacity of {job.key} or its queue less than {rules.thrash_guard.window} ago"
            return THRASH_GUARD, lambda: message, task.key
        return None
