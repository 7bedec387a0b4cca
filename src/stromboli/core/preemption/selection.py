"""The cheapest allowed victims on one node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter

from stromboli.core.model.resources.resources import Request
from stromboli.core.model.tasks.task import Task
from stromboli.core.preemption.candidates import CandidatePool, VictimCandidate
from stromboli.core.preemption.cost import Cost, Grade
from stromboli.core.preemption.cost_bounds import shortage
from stromboli.core.preemption.lost_work import LeastLossComparison, importance, lost_work
from stromboli.core.preemption.rules import PreemptionRules
from stromboli.core.preemption.units import EvictionUnit, UnitBuilder
from stromboli.core.session.session import Session
from stromboli.core.session.statement import Statement


@dataclass(slots=True)
class NodePlan:
    """A node for a preemptor, and the evictions it needs."""

    row: int
    units: list[EvictionUnit]
    victims: list[Task]
    #: The grade of the most important victim.
    top: Grade
    cost: Cost


class VictimSelection:
    """Selects the victims on a node for a preemptor."""

    def __init__(self, session: Session, rules: PreemptionRules, builder: UnitBuilder, statement: Statement) -> None:
        self._session = session
        self._rules = rules
        self._builder = builder
        self._statement = statement
        self.ledger = session.ledger
        self.counts_lost_work = isinstance(rules.comparison, LeastLossComparison)

    def on(
        self, preemptor: Task, row: int, victims: Sequence[VictimCandidate], resources_suffice: bool
    ) -> NodePlan | None:
        """The plan for a node. With `resources_suffice`, a node with enough free resources accepts the preemptor."""
        self._session.time_budget.check()
        if resources_suffice and len(victims) > 1 and self._builder.are_single_and_equal(preemptor, victims):
            return self._plan_of_equals(preemptor, row, victims)
        units = self._builder.units(preemptor, victims)
        question = _NodeSelection(self, preemptor, row, resources_suffice)
        chosen = question.chosen(units)
        if chosen is not None and self._builder.limits_sets and not self._may_go_together(preemptor, chosen):
            chosen = question.chosen(self._within_limits(preemptor, units))
        if chosen is None or not self._is_allowed_in_order(preemptor, chosen):
            return None
        evicted = {task.uid: task for unit in chosen for task in unit.tasks}
        ordered = [each.task for each in victims if each.task.uid in evicted]
        if len(ordered) < len(evicted):
            here = {task.uid for task in ordered}
            ordered += [task for uid, task in evicted.items() if uid not in here]
        top = max([unit.grade for unit in chosen], default=())
        cost = self._rules.comparison.cost(self._session, top, ordered, question.short)
        return NodePlan(row, chosen, ordered, top, cost)

    def _plan_of_equals(self, preemptor: Task, row: int, victims: Sequence[VictimCandidate]) -> NodePlan | None:
        """Implement `on` for equal jobs of one task where only amounts count: the youngest, as many as needed."""
        short = shortage(self.ledger, preemptor.task_class.request, row)
        if not short:
            return NodePlan(row, [], [], (), self._rules.comparison.cost(self._session, (), []))
        needed = number_needed(short, victims[0].task.task_class.request)
        if needed is None or needed > len(victims):
            return None
        youngest, top = _youngest_first(victims)[:needed], victims[0].grade
        units = [EvictionUnit((each.task,), top) for each in youngest]
        chosen = set(map(_task_of, youngest))
        ordered = [task for task, _ in victims if task in chosen]
        cost = self._rules.comparison.cost(self._session, top, ordered, short)
        return NodePlan(row, units, ordered, top, cost)

    def _may_go_together(self, preemptor: Task, units: Sequence[EvictionUnit]) -> bool:
        """Report whether disruption budgets and guarantees of queues have enough left for all of them."""
        return self._builder.may_lose(
            preemptor, list({task.uid: task for unit in units for task in unit.tasks}.values())
        )

    def _within_limits(self, preemptor: Task, units: Sequence[EvictionUnit]) -> list[EvictionUnit]:
        """Units that may all be evicted together, those of lower grades first."""
        affordable: list[EvictionUnit] = []
        for unit in sorted(units, key=lambda unit: unit.grade):
            if self._may_go_together(preemptor, [*affordable, unit]):
                affordable.append(unit)
        return affordable

    def _is_allowed_in_order(self, preemptor: Task, chosen: Sequence[EvictionUnit]) -> bool:
        """Report whether every unit may still be evicted after the earlier ones; a gang was evaluated alone."""
        if len(chosen) < 2 or all(len(unit.tasks) == 1 for unit in chosen):
            return True
        statement, mark = self._statement, len(self._statement.operations)
        is_evictable_in_order = True
        for unit in chosen:
            remaining = [task for task in unit.tasks if self.ledger.status_of(task) in self._rules.statuses]
            is_evictable_in_order = is_evictable_in_order and self._builder.may_evict_all(preemptor, remaining)
            if is_evictable_in_order:
                statement.evict_all(remaining, self._rules.action, preemptor.job)
        statement.rollback(mark)
        return is_evictable_in_order

    def preferred(
        self, preemptor: Task, row: int, candidates: Sequence[VictimCandidate], pool: CandidatePool
    ) -> list[VictimCandidate]:
        """Candidates by grade, then by what they release of the shortage, then the youngest, then by the plugins."""
        if len(candidates) < 2:
            return list(candidates)
        if _are_equal(candidates):
            return _youngest_first(candidates)
        short, parts = shortage(self.ledger, preemptor.task_class.request, row), dict[int, float]()

        def place(each: VictimCandidate) -> tuple[Grade, float, float]:
            task_class = each.task.task_class
            part = parts.get(task_class.number)
            if part is None:
                held = dict(task_class.request)
                part = sum(min(held.get(dimension, 0), missing) / missing for dimension, missing in short)
                parts[task_class.number] = part
            return each.grade, -part, -each.task.created

        places = [place(each) for each in candidates]
        if len(set(places)) < len(places):
            candidates = pool.in_order(self._session.jobs[preemptor.job], candidates)
        return sorted(candidates, key=place)

    def takes(self, preemptor: Task, row: int) -> bool:
        """Report whether queue and node accept the preemptor in the current state."""
        return self.is_allowed(preemptor) and self._session.search.accepts(preemptor, row)

    def is_allowed(self, preemptor: Task) -> bool:
        session = self._session
        queue = session.queue_of(session.jobs[preemptor.job])
        return session.allocatable(queue, preemptor.task_class, 1) is None

    def would_take(self, preemptor: Task, row: int, victims: Sequence[Task]) -> bool:
        """Report whether queue and node would accept the preemptor without these victims."""
        statement, mark = self._statement, len(self._statement.operations)
        statement.evict_all(victims, self._rules.action, preemptor.job)
        fits = self.takes(preemptor, row)
        statement.rollback(mark)
        return fits

    def has_no_filters(self, preemptor: Task) -> bool:
        """Report whether a node with enough free resources accepts the preemptor, if its queue does."""
        view = self._session.search.view(preemptor.task_class)
        return not view.row_filters and not view.cluster_filters


class _NodeSelection:
    """The search for sufficient units, for one preemptor on one node."""

    def __init__(self, selection: VictimSelection, preemptor: Task, row: int, resources_suffice: bool) -> None:
        self._selection = selection
        self._preemptor = preemptor
        self._row = row
        self.short = shortage(selection.ledger, preemptor.task_class.request, row)
        self._resources_suffice = resources_suffice
        self._gains: dict[EvictionUnit, dict[int, int]] = {}

    def chosen(self, units: Sequence[EvictionUnit]) -> list[EvictionUnit] | None:
        """The units to evict; None when all together do not suffice."""
        if self._resources_suffice and self.short and _are_alike(units):
            return self._youngest_units(units)
        sufficient = self.sufficient(units)
        if sufficient is None:
            return None
        chosen = self.protect_unneeded(sufficient)
        return chosen if not self._selection.counts_lost_work else self._least_loss(units, chosen)

    def _least_loss(self, units: Sequence[EvictionUnit], chosen: list[EvictionUnit]) -> list[EvictionUnit]:
        """Compare units whose largest loss is least with those that lose least for what they release."""
        top = max((importance(unit.grade) for unit in chosen), default=())
        by_return = [unit for unit in units if importance(unit.grade) <= top]
        by_return.sort(key=lambda unit: (importance(unit.grade), lost_work(unit.grade) / (self._part(unit) or 1e-9)))
        for number in range(1, len(by_return) + 1):
            if self._is_enough(by_return[:number]):
                others = self.protect_unneeded(by_return[:number])
                return min(chosen, others, key=lambda each: sum(lost_work(unit.grade) for unit in each))
        return chosen

    def _youngest_units(self, units: Sequence[EvictionUnit]) -> list[EvictionUnit] | None:
        """Implement `chosen` for equal units: the youngest, as many as needed."""
        needed = number_needed(self.short, units[0].tasks[0].task_class.request)
        if needed is None or needed > len(units):
            return None
        return sorted(units, key=lambda unit: -unit.tasks[0].created)[:needed]

    def _gain(self, unit: EvictionUnit) -> dict[int, int]:
        """Return the part of the shortage that the unit releases on this node."""
        known = self._gains.get(unit)
        if known is None:
            short = dict(self.short)
            known = dict.fromkeys(short, 0)
            for task in unit.tasks:
                if self._selection.ledger.row_of(task) == self._row:
                    for dimension, amount in task.task_class.request:
                        if dimension in known:
                            known[dimension] += amount
            self._gains[unit] = known
        return known

    def _is_enough(self, units: Sequence[EvictionUnit]) -> bool:
        if self.short:
            distinct = {task.uid: task for unit in units for task in unit.tasks} if len(units) > 1 else None
            if distinct is not None and len(distinct) < sum(len(unit.tasks) for unit in units):
                units = [EvictionUnit(tuple(distinct.values()), ())]
            gains = [self._gain(unit) for unit in units]
            for dimension, missing in self.short:
                if sum(gain[dimension] for gain in gains) < missing:
                    return False
        if self._resources_suffice:
            return True
        evicted = {task.uid: task for unit in units for task in unit.tasks}
        return self._selection.would_take(self._preemptor, self._row, list(evicted.values()))

    def sufficient(self, units: Sequence[EvictionUnit]) -> list[EvictionUnit] | None:
        """Units up to the lowest sufficient grade; None when all together do not suffice."""
        ordered = sorted(units, key=lambda unit: unit.grade)
        chosen: list[EvictionUnit] = []
        for place, unit in enumerate(ordered):
            chosen.append(unit)
            is_last = place + 1 == len(ordered) or ordered[place + 1].grade != unit.grade
            if is_last and self._is_enough(chosen):
                return chosen
        return None

    def protect_unneeded(self, chosen: list[EvictionUnit]) -> list[EvictionUnit]:
        """Protect every unit that is not needed: the most important first, then those with most members, then those
        that release least, then those that have worked longest, then those that the plugins order last.
        """
        protected_first = chosen[::-1]
        protected_first.sort(key=self._worth, reverse=True)
        if self._resources_suffice and all(len(unit.tasks) == 1 for unit in chosen):
            return self._protect_by_amounts(chosen, protected_first)
        for unit in protected_first:
            rest = [each for each in chosen if each is not unit]
            if self._is_enough(rest):
                chosen = rest
        return chosen

    def _protect_by_amounts(
        self, chosen: list[EvictionUnit], protected_first: Sequence[EvictionUnit]
    ) -> list[EvictionUnit]:
        """Implement `protect_unneeded` for units of single tasks where only amounts count."""
        left = {dimension: -missing for dimension, missing in self.short}
        for unit in chosen:
            for dimension, amount in self._gain(unit).items():
                left[dimension] += amount
        staying = set()
        for unit in protected_first:
            gain = self._gain(unit)
            if all(left[dimension] >= amount for dimension, amount in gain.items()):
                staying.add(unit)
                for dimension, amount in gain.items():
                    left[dimension] -= amount
        return [unit for unit in chosen if unit not in staying]

    def _worth(self, unit: EvictionUnit) -> tuple[Grade, int, float, float]:
        return unit.grade, len(unit.tasks), -self._part(unit), -min(task.created for task in unit.tasks)

    def _part(self, unit: EvictionUnit) -> float:
        """Return the fraction of the shortage that the unit makes up for."""
        gain = self._gain(unit)
        return sum(min(gain[dimension], missing) / missing for dimension, missing in self.short)


def number_needed(short: Request, held: Request) -> int | None:
    """Return how many tasks with this request make up for a shortage; None if they lack some resource."""
    amounts, needed = dict(held), 0
    for dimension, missing in short:
        amount = amounts.get(dimension)
        if not amount:
            return None
        needed = max(needed, -(-missing // amount))
    return needed


_task_of = attrgetter("task")
_created = attrgetter("task.created")


def _youngest_first(candidates: Iterable[VictimCandidate]) -> list[VictimCandidate]:
    """Sort by age; those of one age stay in their order."""
    return sorted(candidates, key=_created, reverse=True)


def _are_equal(candidates: Sequence[VictimCandidate]) -> bool:
    """Report whether all have one class and one grade, and different ages."""
    first, grade = candidates[0].task.task_class, candidates[0].grade
    for task, its_grade in candidates:
        if task.task_class is not first or its_grade != grade:
            return False
    return len({task.created for task, _ in candidates}) == len(candidates)


def _are_alike(units: Sequence[EvictionUnit]) -> bool:
    """Report whether all are single tasks of one class and one grade."""
    if not units or len(units[0].tasks) > 1:
        return False
    grade, task_class = units[0].grade, units[0].tasks[0].task_class
    for unit in units:
        if len(unit.tasks) > 1 or unit.tasks[0].task_class is not task_class or unit.grade != grade:
            return False
    return True
