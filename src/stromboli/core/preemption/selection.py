"""The cheapest lawful victims on one node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stromboli.core.model.resources.resources import Request
from stromboli.core.model.tasks.task import Task
from stromboli.core.preemption.candidates import Candidate, Pool
from stromboli.core.preemption.cost import Cost, Grade
from stromboli.core.preemption.rules import Terms
from stromboli.core.preemption.units import Unit, UnitBuilder
from stromboli.core.session.session import Session
from stromboli.core.session.statement import Statement


@dataclass(slots=True)
class NodePreemptionPlan:
    """A place for a claimant, and what has to go for it."""

    row: int
    units: list[Unit]
    victims: list[Task]
    #: The grade of the most important.
    top: Grade
    cost: Cost


class Choice:
    """Finds what has to leave a node so that a claimant can have it."""

    def __init__(self, session: Session, terms: Terms, maker: UnitBuilder, statement: Statement) -> None:
        self._session = session
        self._terms = terms
        self._maker = maker
        self._statement = statement

    def on(
        self, preemptor: Task, row: int, victims: Sequence[Candidate], resources_suffice: bool
    ) -> NodePreemptionPlan | None:
        """The plan for a node. `victims` are lawful, in the order in which the plugins were asked about them; with
        `only_room`, a node that has the room surely takes the claimant.
        """
        units = self._maker.units(preemptor, victims)
        question = _Question(self, preemptor, row, resources_suffice)
        chosen = question.chosen(units)
        if chosen is not None and not self._may_go_together(chosen):
            chosen = question.chosen(self._within_budgets(units))
        if chosen is None or not self._is_allowed_in_order(preemptor, chosen):
            return None
        going = {task.uid: task for unit in chosen for task in unit.tasks}
        ordered = [each.task for each in victims if each.task.uid in going]
        if len(ordered) < len(going):
            here = {task.uid for task in ordered}
            ordered += [task for uid, task in going.items() if uid not in here]
        top = max((unit.grade for unit in chosen), default=())
        return NodePreemptionPlan(row, chosen, ordered, top, self._terms.comparison.cost(self._session, top, ordered))

    def _may_go_together(self, units: Sequence[Unit]) -> bool:
        """Whether disruption budgets have enough left for all of them."""
        budgets = self._session.ledger.budgets
        return not budgets.of_task or budgets.may_spend(list({task.uid for unit in units for task in unit.tasks}))

    def _within_budgets(self, units: Sequence[Unit]) -> list[Unit]:
        """Units that may all go together, those of lower grades first."""
        affordable: list[Unit] = []
        for unit in sorted(units, key=lambda unit: unit.grade):
            if self._may_go_together([*affordable, unit]):
                affordable.append(unit)
        return affordable

    def _is_allowed_in_order(self, preemptor: Task, chosen: Sequence[Unit]) -> bool:
        """Whether every unit may still go when those before it are gone. Tasks that go one by one were asked about
        together; a gang was asked about alone.
        """
        if len(chosen) < 2 or all(len(unit.tasks) == 1 for unit in chosen):
            return True
        statement, mark = self._statement, len(self._statement.operations)
        is_evictable_in_order = True
        for unit in chosen:
            standing = [task for task in unit.tasks if self._session.ledger.status_of(task) in self._terms.statuses]
            is_evictable_in_order = is_evictable_in_order and self._maker.may_evict_all(preemptor, standing)
            for task in standing if is_evictable_in_order else ():
                statement.evict(task, self._terms.action, preemptor.job)
        statement.rollback(mark)
        return is_evictable_in_order

    def preferred(self, preemptor: Task, row: int, candidates: Sequence[Candidate], pool: Pool) -> list[Candidate]:
        """Candidates by grade, those first that give most of what is short, then those that have worked least, and
        among equals as the plugins order them.
        """
        if len(candidates) < 2:
            return list(candidates)
        short, parts = self.shortage(preemptor, row), dict[int, float]()

        def place(each: Candidate) -> tuple[Grade, float, float]:
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
        """Whether queue and node take the claimant as things stand."""
        return self.is_allowed(preemptor) and self._session.search.filter(preemptor, row)

    def is_allowed(self, preemptor: Task) -> bool:
        session = self._session
        queue = session.queue_of(session.jobs[preemptor.job])
        return session.allocatable(queue, preemptor.task_class, 1) is None

    def would_take(self, preemptor: Task, row: int, victims: Sequence[Task]) -> bool:
        """Whether they would take it without these victims."""
        statement, mark = self._statement, len(self._statement.operations)
        for task in victims:
            statement.evict(task, self._terms.action, preemptor.job)
        fits = self.takes(preemptor, row)
        statement.rollback(mark)
        return fits

    def shortage(self, preemptor: Task, row: int) -> Request:
        """What the node lacks for the claimant once everything that is being released is gone."""
        ledger = self._session.ledger
        books, layout = ledger.books, ledger.layout
        short = []
        for dimension, amount in preemptor.task_class.request:
            idle = books.item(dimension, row) + books.item(layout.releasing + dimension, row)
            missing = amount - idle + books.item(layout.pipelined + dimension, row)
            if missing > 0:
                short.append((dimension, missing))
        return tuple(short)

    def has_no_filters(self, preemptor: Task) -> bool:
        """Whether a node that has the room surely takes the claimant, if its queue does."""
        view = self._session.search.view(preemptor.task_class)
        return not view.row_filters and not view.cluster_filters

    def row_of(self, task: Task) -> int:
        return self._session.ledger.row_of(task)


class _Question:
    """One claimant and one node: which units are enough?"""

    def __init__(self, choice: Choice, preemptor: Task, row: int, resources_suffice: bool) -> None:
        self._choice = choice
        self._preemptor = preemptor
        self._row = row
        self._short = choice.shortage(preemptor, row)
        self._resources_suffice = resources_suffice
        self._gains: dict[Unit, dict[int, int]] = {}

    def chosen(self, units: Sequence[Unit]) -> list[Unit] | None:
        """The units that have to go; None when all together are not enough."""
        if self._resources_suffice and self._short and _are_alike(units):
            return self._youngest(units)
        enough = self.enough(units)
        return None if enough is None else self.spare(enough)

    def _youngest(self, units: Sequence[Unit]) -> list[Unit] | None:
        """The same where no unit is worth more than another: as many as are needed of those that have worked least."""
        held = dict(units[0].tasks[0].task_class.request)
        if any(not held.get(dimension) for dimension, _ in self._short):
            return None
        needed = max(-(-missing // held[dimension]) for dimension, missing in self._short)
        return sorted(units, key=lambda unit: -unit.tasks[0].created)[:needed] if needed <= len(units) else None

    def _gain(self, unit: Unit) -> dict[int, int]:
        """What the unit leaves behind on this node, of what is short."""
        known = self._gains.get(unit)
        if known is None:
            short = dict(self._short)
            known = dict.fromkeys(short, 0)
            for task in unit.tasks:
                if self._choice.row_of(task) == self._row:
                    for dimension, amount in task.task_class.request:
                        if dimension in known:
                            known[dimension] += amount
            self._gains[unit] = known
        return known

    def _is_enough(self, units: Sequence[Unit]) -> bool:
        if self._short:
            distinct = {task.uid: task for unit in units for task in unit.tasks} if len(units) > 1 else None
            if distinct is not None and len(distinct) < sum(len(unit.tasks) for unit in units):
                units = [Unit(tuple(distinct.values()), ())]
            gains = [self._gain(unit) for unit in units]
            for dimension, missing in self._short:
                if sum(gain[dimension] for gain in gains) < missing:
                    return False
        if self._resources_suffice:
            return True
        going = {task.uid: task for unit in units for task in unit.tasks}
        return self._choice.would_take(self._preemptor, self._row, list(going.values()))

    def enough(self, units: Sequence[Unit]) -> list[Unit] | None:
        """Units up to the lowest grade with which there is enough; None when all together are not."""
        ordered = sorted(units, key=lambda unit: unit.grade)
        chosen: list[Unit] = []
        for place, unit in enumerate(ordered):
            chosen.append(unit)
            is_last = place + 1 == len(ordered) or ordered[place + 1].grade != unit.grade
            if is_last and self._is_enough(chosen):
                return chosen
        return None

    def spare(self, chosen: list[Unit]) -> list[Unit]:
        """Leave alone every unit without which there is still enough: the most important first, then those that go
        together with most others, then those that give least, then those that have been at work for longest, then those
        that the plugins let go last.
        """
        spared_first = chosen[::-1]
        spared_first.sort(key=self._worth, reverse=True)
        if self._resources_suffice and all(len(unit.tasks) == 1 for unit in chosen):
            return self._spare_by_amounts(chosen, spared_first)
        for unit in spared_first:
            rest = [each for each in chosen if each is not unit]
            if self._is_enough(rest):
                chosen = rest
        return chosen

    def _spare_by_amounts(self, chosen: list[Unit], spared_first: Sequence[Unit]) -> list[Unit]:
        """The same where tasks go one by one and only amounts count."""
        left = {dimension: -missing for dimension, missing in self._short}
        for unit in chosen:
            for dimension, amount in self._gain(unit).items():
                left[dimension] += amount
        staying = set()
        for unit in spared_first:
            gain = self._gain(unit)
            if all(left[dimension] >= amount for dimension, amount in gain.items()):
                staying.add(unit)
                for dimension, amount in gain.items():
                    left[dimension] -= amount
        return [unit for unit in chosen if unit not in staying]

    def _worth(self, unit: Unit) -> tuple[Grade, int, float, float]:
        gain = self._gain(unit)
        part = sum(min(gain[dimension], missing) / missing for dimension, missing in self._short)
        return unit.grade, len(unit.tasks), -part, -min(task.created for task in unit.tasks)


def _are_alike(units: Sequence[Unit]) -> bool:
    """Whether all are single tasks of one class and one grade."""
    if not units or len(units[0].tasks) > 1:
        return False
    grade, task_class = units[0].grade, units[0].tasks[0].task_class
    return all(
        len(unit.tasks) == 1 and unit.tasks[0].task_class is task_class and unit.grade == grade for unit in units
    )
