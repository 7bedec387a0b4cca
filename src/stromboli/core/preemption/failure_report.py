"""Why room could not be made: the rules that stood against it, each with an example."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task import Task
from stromboli.core.preemption.candidates import Candidate, Pool
from stromboli.core.preemption.plugin_verdict import PluginVerdict, grouped, judge
from stromboli.core.preemption.rules import Terms
from stromboli.core.preemption.units import UnitBuilder
from stromboli.core.session.decision_records import Objection, PreemptionFailure
from stromboli.core.session.session import Session
from stromboli.core.session.waiting_reasons import counted

#: So many candidates are looked at to say which rule spares them.
_MAX_CANDIDATES = 500
#: Rules of claims; those of plugins are called by the plugins' names.
BUDGET = "disruption-budget"
GANG_MINIMUM = "gang-minimum"
NO_NODE = "no-node"
OWNER = "preemptable-label"
POLICY = "preemptionPolicy"
THRASH_GUARD = "thrashingWindow"
UNRECLAIMABLE_QUEUE = "reclaimable-queue"

_Reason = tuple[str, Callable[[], str], str]


def in_words(objections: Sequence[Objection]) -> str:
    """`priority spares 2 (default/a: priority 100 is not below 100)`."""
    return ", ".join(f"{each.rule} spares {len(each.objects)} ({each.objects[0]}: {each.why})" for each in objections)


class FailureReport:
    """Finds out why a claimant got no room."""

    def __init__(self, session: Session, terms: Terms, pool: Pool, maker: UnitBuilder) -> None:
        self._session = session
        self._terms = terms
        self._pool = pool
        self._maker = maker

    def refusal(self, preemptor: Task, placed: int = 0) -> PreemptionFailure:
        """The rules that stood against it, as things are while `placed` others of its job have got their room."""
        if preemptor.never_preempts:
            detail = f"{preemptor.key} has preemptionPolicy Never"
            return self._refusal(preemptor, Code.NEVER_PREEMPTS, detail, Objection(POLICY, detail, (preemptor.key,)))
        job = self._session.jobs[preemptor.job]
        candidates = list(islice(self._pool.all_candidates(job), _MAX_CANDIDATES))
        if not candidates:
            return self._refusal(
                preemptor, Code.NO_PREEMPTABLE_PODS, self._nobody(job), *grouped(self._out_of_reach(job))
            )
        verdict = judge(self._session, self._terms, preemptor, [each.task for each in candidates])
        return self._judged(preemptor, candidates, verdict, placed)

    def no_domain(self, preemptor: Task) -> PreemptionFailure:
        """Its job may be nowhere, or would have no room there whoever left."""
        detail = "no nodes that are close enough to each other have the room, whoever leaves"
        return self._refusal(preemptor, Code.PREEMPTION_INSUFFICIENT, detail)

    def _refusal(self, preemptor: Task, code: Code, detail: str, *objections: Objection) -> PreemptionFailure:
        return PreemptionFailure(
            self._terms.action, preemptor.key, Reason(code, f"{self._terms.action}: {detail}"), objections
        )

    def _judged(
        self, preemptor: Task, candidates: Sequence[Candidate], verdict: PluginVerdict, placed: int
    ) -> PreemptionFailure:
        job, allowed = self._session.jobs[preemptor.job], {task.uid for task in verdict.allowed}
        spared = [verdict.veto(each.task) for each in candidates if each.task.uid not in allowed]
        if not allowed:
            objections = grouped(spared)
            number = counted(len(candidates), "other pod" if placed else "running pod")
            detail = f"none of {number} may be evicted: {in_words(objections)}"
            return self._refusal(
                preemptor, Code.NO_PREEMPTABLE_PODS, self._begun(detail, placed), *objections,
                *grouped(self._out_of_reach(job)),
            )  # fmt: skip
        spared += self._out_of_reach(job)
        budgets = self._session.ledger.budgets
        broke = [task for task in verdict.allowed if not budgets.may_spend((task.uid,))]
        if len(broke) == len(allowed):
            objections = grouped([*(self._of_budget(task) for task in broke), *spared])
            example = f"{broke[0].key}: {budgets.veto(broke[0].uid)}"
            detail = f"disruption budgets keep {counted(len(allowed), 'pod')} that could be evicted ({example})"
            return self._refusal(preemptor, Code.DISRUPTION_BUDGET, self._begun(detail, placed), *objections)
        return self._in_vain(preemptor, [each for each in candidates if each.task.uid in allowed], spared, placed)

    def _in_vain(
        self, preemptor: Task, allowed: Sequence[Candidate], spared: Sequence[_Reason], placed: int
    ) -> PreemptionFailure:
        number = counted(len(allowed), "pod") if len(allowed) < _MAX_CANDIDATES else "all pods"
        detail = f"evicting {number} that may go would not make the room that is needed"
        return self._refusal(
            preemptor,
            Code.PREEMPTION_INSUFFICIENT,
            self._begun(detail, placed),
            *self._details(preemptor, allowed, spared),
        )

    def _details(
        self, preemptor: Task, allowed: Sequence[Candidate], spared: Sequence[_Reason]
    ) -> tuple[Objection, ...]:
        """Who cannot go after all, and what nodes would still have against the claimant. Looked for if asked."""
        if self._session.accounts is None:
            return ()
        units = self._maker.units(preemptor, allowed)
        going = {task.uid: task for unit in units for task in unit.tasks}
        staying = [each.task for each in allowed if each.task.uid not in going]
        kept = [self.reason_not_evictable(task) for task in staying]
        return grouped([*spared, *kept]) + grouped(self._after(preemptor, list(going.values())))

    def _after(self, preemptor: Task, going: Sequence[Task]) -> list[_Reason]:
        """What its queue and the nodes have against the claimant when all these are gone."""
        session = self._session
        with session.statement() as statement:
            for task in going:
                statement.evict(task, self._terms.action, preemptor.job)
            queue = session.queue_of(session.jobs[preemptor.job])
            allowance = session.allocatable(queue, preemptor.task_class, 1)
            nodes = session.search.refusals(preemptor.task_class)
        rows = sorted({row for _, refused in nodes.groups for row in refused.tolist()})
        reasons: list[_Reason] = [(NO_NODE, lambda: str(nodes), session.nodes.names[row]) for row in rows]
        refusal = allowance.reason if allowance else None
        if refusal is not None:
            reasons.append((refusal.code.value, lambda: refusal.detail, preemptor.key))
        return reasons

    def reason_not_evictable(self, task: Task) -> _Reason:
        """Why a victim that the plugins let go cannot go: its budget, or its gang."""
        if not self._session.ledger.budgets.may_spend((task.uid,)):
            return self._of_budget(task)
        job = self._session.jobs[task.job]
        words = f"PodGroup {job.key} has {job.ready_count} pods and needs {job.min_available}, and not all may go"
        return GANG_MINIMUM, lambda: words, task.key

    def _of_budget(self, task: Task) -> _Reason:
        return BUDGET, lambda: self._session.ledger.budgets.veto(task.uid), task.key

    @staticmethod
    def _begun(detail: str, placed: int) -> str:
        return (
            f"room can be made for {counted(placed, 'pod')}, and not for the next one: {detail}" if placed else detail
        )

    # -- who was never asked about ------------------------------------------------------------------------------

    def _nobody(self, job: Job) -> str:
        where = f"queue {job.queue}" if self._terms.own_queue else "other queues"
        thrash_guard = (
            f"; who was given room lately is safe for {self._terms.thrash_guard.window}"
            if self._terms.thrash_guard
            else ""
        )
        return f"no running pod of {where} may be evicted{thrash_guard}"

    def _out_of_reach(self, job: Job) -> Iterator[_Reason]:
        """Why others were never asked about. Looked for if asked."""
        if self._session.accounts is not None:
            for other in self._session.jobs.values():
                for task in other.tasks.values():
                    reason = self.reason_not_candidate(job, other, task)
                    if reason is not None:
                        yield reason

    def reason_not_candidate(self, job: Job, other: Job, task: Task) -> _Reason | None:
        """What keeps a task that stands on a node from being a candidate; None for one that is, or that is too far."""
        session, terms = self._session, self._terms
        if other.queue not in session.queues or not terms.reaches(job, other):
            return None
        if (other.queue == job.queue) != terms.own_queue:
            return None
        if session.ledger.status_of(task) not in terms.statuses:
            return None
        if not task.preemptable:
            return OWNER, lambda: "its label or annotation volcano.sh/preemptable is false", task.key
        if other.queue != job.queue and not session.queues[other.queue].reclaimable:
            return UNRECLAIMABLE_QUEUE, lambda: f"queue {other.queue} has reclaimable: false", task.key
        if terms.thrash_guard and terms.thrash_guard.protects(other, job):
            words = f"it was given room of {job.key} or its queue less than {terms.thrash_guard.window} ago"
            return THRASH_GUARD, lambda: words, task.key
        return None
