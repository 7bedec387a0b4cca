"""Pruning: the moves that a whole plan does not need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from stromboli.core.actions.consolidate.relocation import RelocationTargets
from stromboli.core.preemption.pruning import future_idle, held_by_node, leaves_gangs_whole
from stromboli.core.preemption.selection import VictimSelection
from stromboli.core.preemption.units import EvictionUnit
from stromboli.core.session.session import Session
from stromboli.core.session.statement import OperationKind, SavedOperation, SavedStatement, Statement


class RelocationPruning:
    """Takes back moves that later moves have made unnecessary."""

    def __init__(
        self, session: Session, statement: Statement, selection: VictimSelection, targets: RelocationTargets
    ) -> None:
        self._session = session
        self._statement = statement
        self._selection = selection
        self._targets = targets
        self._relocated = self._relocated_amounts()

    def prune(self, units: Sequence[EvictionUnit]) -> None:
        """Try the most important units first, then those with most members."""
        for unit in sorted(units, key=lambda unit: (unit.grade, len(unit.tasks)), reverse=True):
            if self._could_stay(unit):
                self._try_without(unit)

    def _could_stay(self, unit: EvictionUnit) -> bool:
        """Report whether a unit could stay beside the preemptors, by amounts alone: moved tasks may go elsewhere."""
        session = self._session
        return all(
            future_idle(session.ledger, dimension, row) + self._relocated[dimension, row] >= amount
            for (dimension, row), amount in held_by_node(session, unit.tasks).items()
        )

    def _relocated_amounts(self) -> Counter[tuple[int, int]]:
        """By resource and node, what is assumed there for moved tasks."""
        relocated = Counter[tuple[int, int]]()
        for operation in self._statement.operations:
            if operation.kind is OperationKind.RELOCATE:
                for dimension, amount in operation.entry.tasks[0].task_class.request:
                    relocated[dimension, operation.entry.rows[0]] += amount
        return relocated

    def _try_without(self, unit: EvictionUnit) -> None:
        statement = self._statement
        whole = statement.save()
        statement.rollback(0)
        holds = self._holds_without(whole, {task.uid for task in unit.tasks})
        if holds and leaves_gangs_whole(self._session, unit):
            self._relocated = self._relocated_amounts()
        else:
            statement.rollback(0)
            statement.recover(whole)

    def _holds_without(self, plan: SavedStatement, staying: Collection[str]) -> bool:
        """Repeat all operations without moving these, evictions first, as they release capacity for all preemptors;
        report whether every moved task still gets a place, and every preemptor the same one.
        """
        left = [saved for saved in plan.operations if saved.tasks[0].uid not in staying]
        for saved in left:
            if saved.kind is OperationKind.EVICT:
                self._statement.evict(saved.tasks[0], saved.reason, saved.preemptor)
        placed = all(self._is_placed(saved) for saved in left if saved.kind is OperationKind.PIPELINE)
        return placed and all(self._is_relocated(saved) for saved in left if saved.kind is OperationKind.RELOCATE)

    def _is_placed(self, saved: SavedOperation) -> bool:
        task, row = saved.tasks[0], saved.rows[0]
        takes = self._selection.takes(task, row)
        if takes:
            self._statement.pipeline(task, row, after_eviction=saved.after_eviction)
        return takes

    def _is_relocated(self, saved: SavedOperation) -> bool:
        """Place a moved task where it was planned, or elsewhere."""
        task, row = saved.tasks[0], saved.rows[0]
        if not self._session.search.accepts(task, row):
            row = self._targets.row_for(task, elsewhere=True)
        if row >= 0:
            self._statement.relocate(task, row)
        return row >= 0
