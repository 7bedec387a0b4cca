"""budget: block jobs whose budget is used up, or serve them last and let others preempt them.

Budgets are hours of a resource in a calendar period: of a queue with its descendants, of a user or of a namespace in
it. They concern jobs that request the resource.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stromboli.core.config.plugin import Key, Plugin, Victims
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.queues.queue import ancestry
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.usage.budgets import (
    BLOCK,
    BUDGETS,
    EACH,
    PREEMPTIBLE,
    Budget,
    BudgetHolder,
    BudgetState,
    budgets_of,
    limit_of,
    period_starts,
)
from stromboli.core.model.usage.decay import UsageDecay, WindowForm
from stromboli.core.session.session import Session


class BudgetPlugin(Plugin):
    name = "budget"
    reads_past_usage = True

    def open(self, session: Session) -> None:
        self._session = session
        #: Budgets by queue, with those of its ancestors; the owner of each is its queue.
        self._budgets: dict[str, list[tuple[str, Budget]]] = {}
        self._families: dict[str, list[str]] = {}
        self._states: dict[tuple[str, Budget, BudgetHolder], BudgetState] = {}
        self._exhausted: dict[str, BudgetState | None] = {}
        own = {name: self._read(name) for name in session.queues}
        for name in session.queues:
            for ancestor in (line := ancestry(session.queues, name)):
                self._families.setdefault(ancestor, []).append(name)
            self._budgets[name] = [(each, budget) for each in line for budget in own[each]]
        usage = session.snapshot.past_usage
        self._is_loading = usage is not None and usage.is_loading
        if usage is None and any(own.values()):
            session.warnings.append("budget: usage is not accounted here; no budget has an effect")
        for owner, budgets in own.items():
            for budget in budgets:
                self._measure_shared(owner, budget)

    def _measure_shared(self, owner: str, budget: Budget) -> None:
        """Measure a budget even if no job waits for it, unless each user or namespace has it for itself."""
        dimension = self._session.axis.find(budget.resource)
        if EACH not in (budget.user, budget.namespace) and dimension is not None:
            holder = budget.holder("", "")
            self._states[owner, budget, holder] = self._measured(owner, budget, holder, dimension)

    def _read(self, queue: str) -> Sequence[Budget]:
        text = self._session.queues[queue].annotations.get(BUDGETS)
        try:
            return budgets_of(text) if text else ()
        except ValueError as error:
            self._session.warnings.append(f"Queue {queue}: {error}; it has no effect")
            return ()

    def close(self, session: Session) -> None:
        session.budgets = list(self._states.values())

    # -- consequences -------------------------------------------------------------------------------------------

    def job_valid(self, job: Job) -> Reason | None:
        if not job.pending_count:
            return None
        if self._is_loading and any(state.budget.over == BLOCK for state in self._states_of(job)):
            return Reason(Code.USAGE_LOADING, "what is used of its budgets is being loaded from the history")
        state = self._exhausted_by(job)
        if state is None or state.budget.over != BLOCK:
            return None
        return Reason(Code.BUDGET_EXHAUSTED, f"queue {state.queue}: {state}; the budget is used up")

    def job_order(self, job: Job) -> Key:
        return self._is_last(job)

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        return self._victims(preemptor, candidates)

    def reclaimable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        return self._victims(preemptor, candidates)

    def justification(self, preemptor: Task, victim: Task) -> str:
        state = self._exhausted_by(self._session.jobs[victim.job])
        return f"its budget is used up: queue {state.queue}: {state}" if state is not None else ""

    def _victims(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        """Return the candidates beyond their budget, for a preemptor within its own; None if there are none."""
        jobs = self._session.jobs
        if self._is_last(jobs[preemptor.job]):
            return None
        return [task for task in candidates if self._is_last(jobs[task.job])] or None

    def _is_last(self, job: Job) -> bool:
        state = self._exhausted_by(job)
        return state is not None and state.budget.over == PREEMPTIBLE

    # -- usage --------------------------------------------------------------------------------------------------

    def _exhausted_by(self, job: Job) -> BudgetState | None:
        """Return the first budget of a job that is used up, of its queue before those above."""
        if job.key not in self._exhausted:
            self._exhausted[job.key] = next((state for state in self._states_of(job) if state.is_exhausted), None)
        return self._exhausted[job.key]

    def _states_of(self, job: Job) -> Iterator[BudgetState]:
        states = (self._state(owner, budget, job) for owner, budget in self._budgets.get(job.queue, ()))
        return filter(None, states)

    def _state(self, owner: str, budget: Budget, job: Job) -> BudgetState | None:
        """Return the state of a budget; None if it does not concern the job."""
        spec, dimension = job.spec, self._session.axis.find(budget.resource)
        if dimension is None or not budget.applies_to(spec.user, spec.namespace) or not _requests(job, dimension):
            return None
        holder = budget.holder(spec.user, spec.namespace)
        key = owner, budget, holder
        if key not in self._states:
            self._states[key] = self._measured(owner, budget, holder, dimension)
        return self._states[key]

    def _measured(self, owner: str, budget: Budget, holder: BudgetHolder, dimension: int) -> BudgetState:
        start, earlier = period_starts(budget.period, self._session.now)
        used = self._hours_since(start, owner, budget, holder, dimension)
        before = budget.hours
        if budget.carry_over:
            before = self._hours_since(earlier, owner, budget, holder, dimension) - used
        return BudgetState(owner, budget, holder, used, limit_of(budget, before), start)

    def _hours_since(self, moment: float, owner: str, budget: Budget, holder: BudgetHolder, dimension: int) -> float:
        usage = self._session.past_usage(UsageDecay(form=WindowForm.SINCE, origin=moment))
        user, namespace = holder.user if budget.user else None, holder.namespace if budget.namespace else None
        used = usage.of(self._families[owner], user, namespace)
        return float(used[dimension]) / budget.hour_on_axis


def _requests(job: Job, dimension: int) -> bool:
    return any(d == dimension and amount for each in job.classes for d, amount in each.request)
