"""Pruning: the evictions that a whole plan does not need."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from stromboli.core.model.jobs.job import role_ready
from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.tasks.task import Task
from stromboli.core.preemption.selection import VictimSelection
from stromboli.core.preemption.units import EvictionUnit
from stromboli.core.session.session import Session
from stromboli.core.session.statement import OperationKind, SavedStatement, Statement


def prune(session: Session, statement: Statement, selection: VictimSelection, units: Sequence[EvictionUnit]) -> None:
    """Take back every unit that later evictions have made unnecessary: first all that could stay, then one by one."""
    staying = _could_stay(session, units)
    if len(staying) > 1 and _try_without(session, statement, selection, staying):
        units = [unit for unit in units if unit not in staying]
    for unit in units:
        if _could_stay(session, [unit]):
            _try_without(session, statement, selection, [unit])


def _could_stay(session: Session, units: Sequence[EvictionUnit]) -> list[EvictionUnit]:
    """The units that could stay on their nodes beside all placed tasks, and beside each other."""
    left: dict[tuple[int, int], int] = {}
    staying = []
    for unit in units:
        wanted = held_by_node(session, unit.tasks)
        for dimension, row in wanted:
            if (dimension, row) not in left:
                left[dimension, row] = future_idle(session.ledger, dimension, row)
        if all(left[key] >= amount for key, amount in wanted.items()):
            staying.append(unit)
            for key, amount in wanted.items():
                left[key] -= amount
    return staying


def future_idle(ledger: Ledger, dimension: int, row: int) -> int:
    """Return the idle amounts of a node after all releases are finished."""
    amounts, layout = ledger.amounts, ledger.layout
    idle = amounts.item(dimension, row) + amounts.item(layout.releasing + dimension, row)
    return idle - amounts.item(layout.pipelined + dimension, row)


def held_by_node(session: Session, tasks: Iterable[Task]) -> dict[tuple[int, int], int]:
    """Return the amounts that tasks hold, by resource and node."""
    held: dict[tuple[int, int], int] = {}
    for task in tasks:
        row = session.ledger.row_of(task)
        for dimension, amount in task.task_class.request:
            held[dimension, row] = held.get((dimension, row), 0) + amount
    return held


def _try_without(
    session: Session, statement: Statement, selection: VictimSelection, units: Sequence[EvictionUnit]
) -> bool:
    whole = statement.save()
    protected = {task.uid for unit in units for task in unit.tasks}
    statement.rollback(0)
    if _replayed(statement, selection, whole, protected) and all(leaves_gangs_whole(session, unit) for unit in units):
        return True
    statement.rollback(0)
    statement.recover(whole)
    return False


def _replayed(
    statement: Statement, selection: VictimSelection, plan: SavedStatement, protected: Collection[str]
) -> bool:
    """Repeat all operations except these evictions; report whether every preemptor still gets its place. All evictions
    come first, as the first preemptor may get the capacity of the last victim.
    """
    evictions = [saved for saved in plan.operations if saved.kind is OperationKind.EVICT]
    evicted = [saved.tasks[0] for saved in evictions if saved.tasks[0].uid not in protected]
    if evicted:
        statement.evict_all(evicted, evictions[0].reason, evictions[0].preemptor)
    for saved in plan.operations:
        if saved.kind is not OperationKind.EVICT:
            task, row = saved.tasks[0], saved.rows[0]
            if not selection.takes(task, row):
                return False
            statement.pipeline(task, row, after_eviction=saved.after_eviction)
    return True


def leaves_gangs_whole(session: Session, unit: EvictionUnit) -> bool:
    """Report whether the jobs of the unit are whole, or gone."""
    jobs = {task.job: session.jobs[task.job] for task in unit.tasks}
    return all(job.has_minimum(role_ready) for job in jobs.values())
