"""Exchanges the victims of a complete plan for a cheaper set, if the search finds one that all rules allow.

Task by task, a plan may also not be found at all, because the first tasks take the capacity that only a later one can
use. Then the search looks for places and victims of all tasks together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import zip_longest

from stromboli.core.model.jobs.job import Job, role_ready
from stromboli.core.model.tasks.task import Task
from stromboli.core.preemption.attempt import PreemptionAttempt
from stromboli.core.preemption.candidates import CandidatePool
from stromboli.core.preemption.cost import BY_COST, Grade, KubeCostComparison
from stromboli.core.preemption.exchange.problem import ProblemBuilder, importance
from stromboli.core.preemption.exchange.search import IMPOSSIBLE, CheaperPlan, Steps, VictimSearch
from stromboli.core.preemption.node_ranking import NodeRanking
from stromboli.core.preemption.pruning import prune
from stromboli.core.preemption.rules import PreemptionRules
from stromboli.core.preemption.units import EvictionUnit, UnitBuilder
from stromboli.core.session.decision_records import EvictionRecord
from stromboli.core.session.session import Session
from stromboli.core.session.statement import OperationKind

#: The nodes of a problem besides those of the plan.
_MAX_NODES = 32
#: Larger plans are left as they are.
_MAX_VICTIMS = 64
#: The steps of the search for one job, and for all jobs of an action in a cycle.
_STEPS_PER_JOB = 16_000
_STEPS_PER_ACTION = 40_000
#: Those of them for jobs without a plan: most of these jobs cannot have one, and are tried again in every cycle.
_FINDING_STEPS_PER_JOB = 2_000
_FINDING_STEPS_PER_ACTION = 10_000
#: How many plans may fail because of a rule that the numbers do not include.
_MAX_FAILURES = 8
#: Stating the problem costs a step for so many nodes of the cluster.
_NODES_PER_STEP = 8

Records = Callable[[Task, EvictionUnit], dict[str, EvictionRecord]]


class PlanExchange:
    """Finds cheaper victims for complete plans, during one action."""

    def __init__(
        self,
        session: Session,
        rules: PreemptionRules,
        pool: CandidatePool,
        builder: UnitBuilder,
    ) -> None:
        self._session = session
        self._rules = rules
        self._pool = pool
        self._builder = builder
        self._steps_left = _STEPS_PER_ACTION
        self._finding_steps_left = _FINDING_STEPS_PER_ACTION

    def find(self, attempt: PreemptionAttempt, tasks: Sequence[Task], records_of: Records) -> bool:
        """Plan for the tasks of a job together, after none was found one by one; report whether there is a plan."""
        job, session = attempt.job, self._session
        preemptors = sorted(
            tasks[: session.tasks_until_ready(job)], key=lambda task: (task.task_class.number, task.order)
        )
        if self._finding_steps_left <= 0 or not self._could_be_found(attempt, preemptors):
            return False
        attempt.statement.rollback(0)
        attempt.units.clear()
        attempt.records = {}
        builder = self._problem_builder(job, preemptors, set(), ())
        steps = Steps(min(_FINDING_STEPS_PER_JOB, self._finding_steps_left))
        before = steps.left
        found = builder.could_suffice() and _Improvement(self, attempt, builder, steps, records_of).find()
        self._finding_steps_left -= before - max(steps.left, 0) + len(session.nodes) // _NODES_PER_STEP
        attempt.places = len(preemptors) if found else 0
        if not found:
            attempt.units.clear()
            attempt.records = {}
        return found

    def _could_be_found(self, attempt: PreemptionAttempt, preemptors: Sequence[Task]) -> bool:
        """Report whether several tasks that may preempt failed because of capacity, in the whole cluster."""
        rules, session, job = self._rules, self._session, attempt.job
        if not rules.exchanges or isinstance(rules.comparison, KubeCostComparison) or attempt.failed_task is None:
            return False
        if job.spec.policies or job.spec.topology is not None or len(session.search.groups(None)) > 1:
            return False
        classes = {task.task_class for task in preemptors}
        return 1 < len(preemptors) <= _MAX_VICTIMS and not (
            any(task.never_preempts or rules.may_preempt(task) for task in preemptors)
            or any(session.pre_predicate(task_class) for task_class in classes)
        )

    def improve(self, attempt: PreemptionAttempt, records_of: Records) -> bool:
        """Exchange the victims of a plan; report whether it has changed."""
        if attempt.places == 1 and _are_equal_pods(attempt.units):
            return False  # one task that evicts equal pods has the cheapest node already
        victims = _victims(attempt)
        if not self._could_be_cheaper(attempt, len(victims)) or self._steps_left <= 0:
            return False
        rows = _rows(attempt)
        whole, units, records = attempt.statement.save(), list(attempt.units), dict(attempt.records)
        top = max(importance(unit.grade) for unit in units if unit.tasks[0] in victims)
        victim_rows = [self._session.ledger.row_of(task) for task in victims]
        attempt.statement.rollback(0)
        preemptors = sorted(rows, key=lambda task: (task.task_class.number, task.order))
        builder = self._problem_builder(attempt.job, preemptors, set(rows.values()), victim_rows)
        steps = Steps(min(_STEPS_PER_JOB, self._steps_left))
        before = steps.left
        improved = _Improvement(self, attempt, builder, steps, records_of).search(top, len(victims))
        self._steps_left -= before - max(steps.left, 0) + len(self._session.nodes) // _NODES_PER_STEP
        if not improved:
            attempt.statement.recover(whole)
            attempt.units[:], attempt.records = units, records
            return False
        if len(attempt.units) > 1:
            prune(self._session, attempt.statement, attempt.selection, attempt.units)
        return True

    def _could_be_cheaper(self, attempt: PreemptionAttempt, victims: int) -> bool:
        """Report whether a search is worth it."""
        rules, is_size = self._rules, 1 < victims <= _MAX_VICTIMS
        return is_size and rules.exchanges and rules.comparison is BY_COST and not attempt.job.spec.policies

    def _problem_builder(
        self, job: Job, preemptors: Sequence[Task], used: set[int], victim_rows: Sequence[int]
    ) -> ProblemBuilder:
        """A job stays on the nodes of its plan if these are in one domain, or if some nodes come before others."""
        rows = sorted(used)
        if job.spec.topology is None and len(self._session.search.groups(None)) == 1:
            rows = sorted(used | set(victim_rows))
            rows += self._cheapest_nodes(preemptors, set(rows))
        return ProblemBuilder(self._session, self._rules, self._pool, self._builder, preemptors, rows)

    def _cheapest_nodes(self, preemptors: Sequence[Task], besides: Collection[int]) -> list[int]:
        """The nodes with the cheapest victims for each class of preemptors."""
        firsts = {task.task_class: task for task in reversed(preemptors)}
        rankings = (NodeRanking(self._session, self._pool, each, by_victims_alone=False) for each in firsts.values())
        ranked = [ranking.following(_MAX_NODES, besides) for ranking in rankings]
        by_turns = (each for turn in zip_longest(*ranked) for each in turn if each is not None)
        return list(dict.fromkeys(row for _, row in by_turns))[:_MAX_NODES]

    def try_plan(
        self, attempt: PreemptionAttempt, builder: ProblemBuilder, plan: CheaperPlan, records_of: Records
    ) -> bool:
        """Carry out a plan from the beginning of the statement; report whether all rules allow it."""
        statement = attempt.statement
        statement.rollback(0)
        units = sorted((option.unit for option in plan.options), key=lambda unit: unit.grade)
        attempt.units[:], attempt.records = units, {}
        preemptor = builder.preemptors[0]
        if not self._builder.may_lose(preemptor, [task for unit in units for task in unit.tasks]):
            return False
        rows = [builder.rows[place] for place in plan.places]
        receivers = dict(zip(rows, builder.preemptors, strict=True))
        for unit in units:
            if not self._builder.may_evict_all(preemptor, unit.tasks):
                return False
            attempt.records |= self._received(records_of(preemptor, unit), receivers)
            statement.evict_all(unit.tasks, self._rules.action, attempt.job.key)
        freed = {self._session.ledger.row_of(task) for unit in units for task in unit.tasks}
        return self._leaves_jobs_whole(units) and self._place(attempt, builder.preemptors, rows, freed)

    def _place(
        self, attempt: PreemptionAttempt, preemptors: Sequence[Task], rows: Sequence[int], freed: set[int]
    ) -> bool:
        for task, row in zip(preemptors, rows, strict=True):
            if not attempt.selection.takes(task, row) or self._rules.may_preempt(task) is not None:
                return False
            attempt.statement.pipeline(task, row, after_eviction=row in freed)
        return self._session.job_pipelined(attempt.job)

    def _leaves_jobs_whole(self, units: Sequence[EvictionUnit]) -> bool:
        jobs = {task.job: self._session.jobs[task.job] for unit in units for task in unit.tasks}
        return all(not job.ready_count or job.has_minimum(role_ready) for job in jobs.values())

    def _received(self, records: dict[str, EvictionRecord], receivers: dict[int, Task]) -> dict[str, EvictionRecord]:
        """Complete the records: the pod that gets the capacity of a victim, or any pod of the preemptor."""
        nodes, received = self._session.nodes, {}
        for uid, record in records.items():
            row = nodes.index[record.node]
            row = row if row in receivers else next(iter(receivers))
            received[uid] = replace(record, preemptor_pod=receivers[row].key, preemptor_node=nodes.names[row])
        return received


class _Improvement:
    """The search for one plan."""

    def __init__(
        self,
        exchange: PlanExchange,
        attempt: PreemptionAttempt,
        builder: ProblemBuilder,
        steps: Steps,
        records_of: Records,
    ) -> None:
        self._exchange = exchange
        self._attempt = attempt
        self._builder = builder
        self._options = builder.options()
        self._steps = steps
        self._records_of = records_of
        self._failures_left = _MAX_FAILURES

    def search(self, top: Grade, number: int) -> bool:
        """Search for less important victims first, then for fewer that are not more important."""
        grades = sorted({importance(option.unit.grade) for option in self._options})
        for ceiling in [grade for grade in grades if grade < top]:
            if self._search_up_to(ceiling, IMPOSSIBLE):
                return True
        return self._search_up_to(top, number)

    def find(self) -> bool:
        """Carry out the first plan with any victims."""
        for plan in VictimSearch(self._builder.problem(self._options), IMPOSSIBLE, self._steps).plans():
            if self._try(plan):
                return True
            self._failures_left -= 1
            if self._failures_left < 0:
                break
        return False

    def _search_up_to(self, ceiling: Grade, number: int) -> bool:
        """Carry out the plan with the fewest victims up to a grade; report whether there is one below the number."""
        options = [option for option in self._options if importance(option.unit.grade) <= ceiling]
        search = VictimSearch(self._builder.problem(options), number, self._steps)
        best: CheaperPlan | None = None
        for plan in search.plans():
            if self._try(plan):
                best, search.limit = plan, plan.number
            else:
                self._failures_left -= 1
                if self._failures_left < 0:
                    break
        return best is not None and self._try(best)

    def _try(self, plan: CheaperPlan) -> bool:
        """Carry out a plan from the beginning of the statement; if a rule forbids it, the statement is empty."""
        allowed = self._exchange.try_plan(self._attempt, self._builder, plan, self._records_of)
        if not allowed:
            self._attempt.statement.rollback(0)
        return allowed


def _are_equal_pods(units: Sequence[EvictionUnit]) -> bool:
    """Report whether all are single pods of one class."""
    tasks = [task for unit in units for task in unit.tasks]
    return len(tasks) == len(units) and len({task.task_class for task in tasks}) < 2


def _victims(attempt: PreemptionAttempt) -> list[Task]:
    operations = attempt.statement.operations
    return [task for each in operations if each.kind is OperationKind.EVICT for task in each.entry.tasks]


def _rows(attempt: PreemptionAttempt) -> dict[Task, int]:
    """The node of every placed task."""
    operations = attempt.statement.operations
    return {o.entry.tasks[0]: o.entry.rows[0] for o in operations if o.kind is OperationKind.PIPELINE}
