"""The search for one job: what to move so that it fits, and where to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from stromboli.core.actions.consolidate.pending_preemptions import PendingPreemptions
from stromboli.core.actions.consolidate.pruning import RelocationPruning
from stromboli.core.actions.consolidate.relocation import MovablePool, RelocationTargets, rules_for
from stromboli.core.actions.consolidate.report import refusal_of, report_moves
from stromboli.core.config.plugin import CLUSTER
from stromboli.core.model.jobs.job import Job, role_pipelined
from stromboli.core.model.nodes.table import Mask
from stromboli.core.model.reasons import Reason
from stromboli.core.model.tasks.task import Task
from stromboli.core.preemption.cost import Bound
from stromboli.core.preemption.guarantees import QueueGuarantees
from stromboli.core.preemption.node_ranking import NodeRanking
from stromboli.core.preemption.rules import reclaim_refusal
from stromboli.core.preemption.selection import NodePlan, VictimSelection
from stromboli.core.preemption.units import EvictionUnit, UnitBuilder
from stromboli.core.session.session import Session
from stromboli.core.session.statement import OperationKind, SavedStatement, Statement

#: The number of nodes with dry runs for one task, if moved tasks find no place or fewer moves might suffice.
_MAX_NODES = 16
#: The number of dry runs on one node, each without those tasks that found no place.
_MAX_DRY_RUNS = 4
#: On how many nodes moves of the same classes of tasks may fail before other nodes with such moves are left out.
_MAX_FAILURES = 3

#: The evictions on a node, and all operations of the dry run.
RelocationPlan = tuple[NodePlan, SavedStatement]


@dataclass(slots=True)
class RelocationAttempt:
    """The state of the search in one domain."""

    statement: Statement
    selection: VictimSelection
    within: Mask | None
    units: list[EvictionUnit] = field(default_factory=list)
    #: By uid, the pod for which a victim moves.
    preemptors: dict[str, Task] = field(default_factory=dict)
    rankings: dict[int, NodeRanking] = field(default_factory=dict)
    #: How often moves of these classes of tasks failed. Capacity only shrinks in an attempt.
    failures: Counter[tuple[int, ...]] = field(default_factory=Counter)
    #: The first task without a plan, and whether the limit of moved pods was the reason.
    failed_task: Task | None = None
    too_many: bool = False

    @property
    def moved(self) -> int:
        return sum(len(unit.tasks) for unit in self.units)


@dataclass(slots=True)
class RelocationDecision:
    """The moves for one job, which can be taken back and repeated until they are committed."""

    job: Job
    statement: Statement
    #: By uid, the pod for which a victim moves.
    preemptors: dict[str, Task]
    _undone: SavedStatement = field(default_factory=SavedStatement)

    @property
    def victims(self) -> list[Task]:
        entries = [each.entry for each in self.statement.operations if each.kind is OperationKind.EVICT]
        return [task for entry in entries for task in entry.tasks]

    def undo(self) -> None:
        self._undone = self.statement.save()
        self.statement.rollback(0)

    def redo(self) -> None:
        self.statement.recover(self._undone)

    def commit(self, session: Session, action: str) -> None:
        operations = self.statement.operations
        moves = {o.entry.tasks[0].uid: o.entry.rows[0] for o in operations if o.kind is OperationKind.RELOCATE}
        report_moves(session, action, self.victims, moves, self.preemptors)
        self.statement.commit()


class RelocationSearch:
    """Finds moves for one job, up to a number of pods."""

    def __init__(
        self,
        session: Session,
        job: Job,
        movable: Iterable[Job],
        action: str,
        max_moves: int | None,
        pending: PendingPreemptions,
        *,
        reclaims: bool = False,
    ) -> None:
        """With `reclaims`, pods without another place are evicted if the queue of the job may reclaim them."""
        self._session = session
        self._job = job
        self._action = action
        self._max_moves = max_moves
        self._pending = pending
        self._reclaims = reclaims
        self._guarantees = QueueGuarantees(session)
        self._rules = rules_for(session, action, pending)
        self._pool = MovablePool(session, self._rules, movable)
        self._builder = UnitBuilder(session, self._rules, self._pool)
        self._targets = RelocationTargets(session, {task.task_class for task in session.pending(job)})
        self.refusal: Reason | None = None

    def decide(self, tasks: Sequence[Task]) -> RelocationDecision | None:
        """Return the moves after which the job has its minimum, if there are any; they stay in the ledger."""
        for within in self._domains():
            with self._session.serving(self._job), ExitStack() as undo:
                statement = undo.enter_context(self._session.statement())
                attempt = RelocationAttempt(
                    statement, VictimSelection(self._session, self._rules, self._builder, statement), within
                )
                self._place(attempt, tasks)
                if self._has_enough():
                    decision = self._conclude(attempt)
                    if decision is not None:
                        undo.pop_all()
                    return decision
                if attempt.failed_task is not None:
                    self.refusal = refusal_of(
                        self._session,
                        self._rules,
                        self._pool,
                        self._pending,
                        attempt.failed_task,
                        self._max_moves if attempt.too_many else None,
                    )
        return None

    def _domains(self) -> Iterator[Mask | None]:
        """The domains of the job, the best first. A job whose sub-groups have domains of their own is skipped."""
        flat, spec = self._session.program.flat, self._job.spec
        if any(policy.topology for policy in spec.policies) and flat["hyper_node_gradient_for_sub_job"]:
            return
        groups = self._session.gradient_for_job(self._job, CLUSTER) if spec.topology else [[CLUSTER]]
        for group in groups:
            for domain in group:
                yield domain.inside

    def _has_enough(self) -> bool:
        return self._job.has_minimum(role_pipelined) and self._session.job_pipelined(self._job)

    def _conclude(self, attempt: RelocationAttempt) -> RelocationDecision | None:
        """Return the moves; without a move the capacity is free, and allocate assigns it."""
        if not attempt.units:
            return None
        if len(attempt.units) > 1:
            RelocationPruning(self._session, attempt.statement, attempt.selection, self._targets).prune(attempt.units)
        return RelocationDecision(self._job, attempt.statement, attempt.preemptors)

    # -- tasks --------------------------------------------------------------------------------------------------

    def _place(self, attempt: RelocationAttempt, tasks: Sequence[Task]) -> None:
        """Place tasks without moves first, so that no moved task takes their capacity; then the others."""
        left = []
        for task in tasks:
            if self._has_enough():
                return
            if not self._may_be_placed(attempt, task) or not self._take_free_capacity(attempt, task):
                left.append(task)
        for task in left:
            if self._has_enough() or attempt.failed_task is not None:
                return
            if self._may_be_placed(attempt, task) and not self._move_others(attempt, task):
                attempt.failed_task = task

    def _may_be_placed(self, attempt: RelocationAttempt, task: Task) -> bool:
        return attempt.selection.is_allowed(task) and self._session.pre_predicate(task.task_class) is None

    def _take_free_capacity(self, attempt: RelocationAttempt, task: Task) -> bool:
        search = self._session.search
        rows = search.find_nodes(task, 1, attempt.within)
        row = rows[0] if rows else search.find_future_node(task, attempt.within)
        if row >= 0:
            attempt.statement.pipeline(task, row)
        return row >= 0

    def _move_others(self, attempt: RelocationAttempt, task: Task) -> bool:
        if task.never_preempts:
            return False
        found = self._cheapest(attempt, task)
        if found is None:
            return False
        plan, operations = found
        attempt.statement.recover(operations)
        attempt.units.extend(plan.units)
        attempt.preemptors.update({victim.uid: task for victim in plan.victims})
        return True

    def _cheapest(self, attempt: RelocationAttempt, task: Task) -> RelocationPlan | None:
        """The cheapest plan in which every moved task has a place."""
        resources_suffice = attempt.selection.has_no_filters(task)
        ranking = self._ranking(attempt, task, resources_suffice)
        best: RelocationPlan | None = None
        taken: list[tuple[Bound, int]] = []
        looked_at = 0
        while looked_at < _MAX_NODES and (first := ranking.first()) is not None:
            bound, row = first
            if best is not None and not self._rules.comparison.could_beat(bound, best[0].cost):
                break
            ranking.take()
            plan = self._plan_on(attempt, task, row, ranking, resources_suffice)
            moving = () if plan is None else tuple(sorted(victim.task_class.number for victim in plan.victims))
            if plan is None or attempt.failures[moving] >= _MAX_FAILURES:
                ranking.drop(row)
                continue
            taken.append((bound, row))
            if best is None or plan.cost < best[0].cost:
                looked_at += 1
                known, best = best, self._try_on(attempt, task, plan, ranking, resources_suffice, best)
                attempt.failures[moving] += best is known
        for bound, row in taken:
            ranking.put_back(bound, row)
        return best

    def _try_on(
        self,
        attempt: RelocationAttempt,
        task: Task,
        first: NodePlan,
        ranking: NodeRanking,
        resources_suffice: bool,
        best: RelocationPlan | None,
    ) -> RelocationPlan | None:
        """The cheapest plan after dry runs on one node, in which tasks without another place stay."""
        plan: NodePlan | None = first
        staying: set[str] = set()
        for _ in range(_MAX_DRY_RUNS):
            if plan is None or (best is not None and plan.cost >= best[0].cost):
                break
            known = len(staying)
            operations = self._dry_run(attempt, task, plan, staying)
            if operations is not None:
                return plan, operations
            if len(staying) == known:
                break
            plan = self._plan_on(attempt, task, first.row, ranking, resources_suffice, staying)
        return best

    def _ranking(self, attempt: RelocationAttempt, task: Task, resources_suffice: bool) -> NodeRanking:
        number = task.task_class.number
        ranking = attempt.rankings.get(number)
        if ranking is None:
            ranking = NodeRanking(self._session, self._pool, task, by_victims_alone=not resources_suffice)
            attempt.rankings[number] = ranking
        else:
            ranking.refresh()
        return ranking

    def _plan_on(
        self,
        attempt: RelocationAttempt,
        task: Task,
        row: int,
        ranking: NodeRanking,
        resources_suffice: bool,
        staying: Collection[str] = (),
    ) -> NodePlan | None:
        candidates = [each for each in ranking.candidates(self._job, row) if each.task.uid not in staying]
        if not candidates or (attempt.within is not None and not attempt.within[row]):
            return None
        candidates = attempt.selection.preferred(task, row, candidates, self._pool)
        allowed = {each.uid for each in self._rules.allowed(task, [each.task for each in candidates])}
        return attempt.selection.on(
            task, row, [each for each in candidates if each.task.uid in allowed], resources_suffice
        )

    def _dry_run(
        self, attempt: RelocationAttempt, task: Task, plan: NodePlan, staying: set[str]
    ) -> SavedStatement | None:
        """The operations of the plan, if every moved task has a place; otherwise the first without one has to stay."""
        if self._max_moves is not None and attempt.moved + len(plan.victims) > self._max_moves:
            attempt.too_many = True
            return None
        statement, mark = attempt.statement, len(attempt.statement.operations)
        reclaimable = self._reclaimable(task, plan.victims)
        statement.evict_all(plan.victims, self._action, self._job.key)
        statement.pipeline(task, plan.row, after_eviction=True)
        ordered = sorted(_largest_first(plan), key=lambda each: each[1].uid in reclaimable)
        homeless = (each for each in ordered if not self._relocate(statement, each[1], each[0]))
        stuck = next((unit for unit, victim in homeless if victim.uid not in reclaimable), None)
        operations = statement.save_since(mark) if stuck is None else None
        statement.rollback(mark)
        staying.update(() if stuck is None else (victim.uid for victim in stuck.tasks))
        return operations

    def _reclaimable(self, task: Task, victims: Sequence[Task]) -> set[str]:
        """Return the victims that need no other place; all of them together leave queues their guarantees."""
        if not self._reclaims or reclaim_refusal(self._session, self._action, task) is not None:
            return set()
        others = [victim for victim in victims if self._session.jobs[victim.job].queue != self._job.queue]
        allowed = list[Task]()
        for victim in self._session.reclaimable(task, others) if others else ():
            if self._guarantees.protecting(self._job, [*allowed, victim]) is None:
                allowed.append(victim)
        return {victim.uid for victim in allowed}

    def _relocate(self, statement: Statement, victim: Task, unit: EvictionUnit) -> bool:
        """A gang that moves whole may return to nodes of its members; a single task would stay instead."""
        row = self._targets.row_for(victim, elsewhere=len(unit.tasks) == 1)
        if row >= 0:
            statement.relocate(victim, row)
        return row >= 0


def _largest_first(plan: NodePlan) -> list[tuple[EvictionUnit, Task]]:
    """The largest tasks first, as they are hard to place."""
    moving = {task.uid: (unit, task) for unit in plan.units for task in unit.tasks}

    def size(entry: tuple[EvictionUnit, Task]) -> tuple[int, ...]:
        return tuple(-amount for _, amount in entry[1].task_class.request)

    return sorted((moving[victim.uid] for victim in plan.victims), key=size)
