"""The last look at a whole plan: who need not move after all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from stromboli.core.actions.consolidate.relocation import RelocationTargets
from stromboli.core.model.jobs.job import role_ready
from stromboli.core.preemption.selection import Choice
from stromboli.core.preemption.units import Unit
from stromboli.core.session.session import Session
from stromboli.core.session.statement import Kind, Plan, SavedOperation, Statement


class RelocationPruning:
    """Leaves units where they are without which a plan still holds: what was moved for the tasks that came last may
    have made unnecessary what was moved for the first.
    """

    def __init__(self, session: Session, statement: Statement, choice: Choice, housing: RelocationTargets) -> None:
        self._session = session
        self._statement = statement
        self._choice = choice
        self._relocation = housing
        self._relocated = self._relocated_amounts()

    def prune(self, units: Sequence[Unit]) -> None:
        """The most important stay first, then those of which most move together."""
        for unit in sorted(units, key=lambda unit: (unit.grade, len(unit.tasks)), reverse=True):
            if self._has_room(unit):
                self._try_without(unit)

    def _has_room(self, unit: Unit) -> bool:
        """Whether a unit could stay beside the claimants by amounts alone: who moves may be given other places."""
        ledger, wanted = self._session.ledger, Counter[tuple[int, int]]()
        for task in unit.tasks:
            for dimension, amount in task.task_class.request:
                wanted[dimension, ledger.row_of(task)] += amount
        books, layout = ledger.books, ledger.layout
        for (dimension, row), amount in wanted.items():
            idle = books.item(dimension, row) + books.item(layout.releasing + dimension, row)
            if idle - books.item(layout.pipelined + dimension, row) + self._relocated[dimension, row] < amount:
                return False
        return True

    def _relocated_amounts(self) -> Counter[tuple[int, int]]:
        """By resource and node, what is held there for those who move."""
        housed = Counter[tuple[int, int]]()
        for operation in self._statement.operations:
            if operation.kind is Kind.RELOCATE:
                for dimension, amount in operation.entry.tasks[0].task_class.request:
                    housed[dimension, operation.entry.rows[0]] += amount
        return housed

    def _try_without(self, unit: Unit) -> None:
        statement = self._statement
        whole = statement.save()
        statement.rollback(0)
        if not self._holds_without(whole, {task.uid for task in unit.tasks}) or not self._is_whole(unit):
            statement.rollback(0)
            statement.recover(whole)
        else:
            self._relocated = self._relocated_amounts()

    def _holds_without(self, plan: Plan, staying: Collection[str]) -> bool:
        """Do everything again without moving these, evictions first, as they make room for each other's claimants;
        whether everybody still gets a place, claimants the same one.
        """
        left = [saved for saved in plan.operations if saved.tasks[0].uid not in staying]
        for saved in left:
            if saved.kind is Kind.EVICT:
                self._statement.evict(saved.tasks[0], saved.reason, saved.preemptor)
        placed = all(self._is_placed(saved) for saved in left if saved.kind is Kind.PIPELINE)
        return placed and all(self._is_relocated(saved) for saved in left if saved.kind is Kind.RELOCATE)

    def _is_placed(self, saved: SavedOperation) -> bool:
        task, row = saved.tasks[0], saved.rows[0]
        takes = self._choice.takes(task, row)
        if takes:
            self._statement.pipeline(task, row, after_eviction=saved.after_eviction)
        return takes

    def _is_relocated(self, saved: SavedOperation) -> bool:
        """In the place that was found, or in another one."""
        task, row = saved.tasks[0], saved.rows[0]
        if not self._session.search.filter(task, row):
            row = self._relocation.row_for(task, elsewhere=True)
        if row >= 0:
            self._statement.relocate(task, row)
        return row >= 0

    def _is_whole(self, unit: Unit) -> bool:
        """Whether the jobs of a unit that stays have their minimum: a gang is moved whole or not at all."""
        jobs = {task.job: self._session.jobs[task.job] for task in unit.tasks}
        return all(job.has_minimum(role_ready) for job in jobs.values())
