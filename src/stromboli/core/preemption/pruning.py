"""The last look at a whole plan: whom it would also do without."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from stromboli.core.model.jobs.job import role_ready
from stromboli.core.model.tasks.task import Task
from stromboli.core.preemption.selection import Choice
from stromboli.core.preemption.units import Unit
from stromboli.core.session.session import Session
from stromboli.core.session.statement import Kind, Plan, Statement


def prune(session: Session, statement: Statement, choice: Choice, units: Sequence[Unit]) -> None:
    """Take back every unit that is not needed any more. What was taken for the tasks that came last may have made
    unnecessary what was taken for the first. Those that could all stay are taken back together, if that will do.
    """
    staying = _have_room(session, units)
    if len(staying) > 1 and _try_without(session, statement, choice, staying):
        units = [unit for unit in units if unit not in staying]
    for unit in units:
        if _have_room(session, [unit]):
            _try_without(session, statement, choice, [unit])


def _have_room(session: Session, units: Sequence[Unit]) -> list[Unit]:
    """Those that could stay where they are beside everybody who has been given a room, and beside each other."""
    ledger = session.ledger
    books, layout = ledger.books, ledger.layout
    left: dict[tuple[int, int], int] = {}
    staying = []
    for unit in units:
        wanted = _held(session, unit.tasks)
        for dimension, row in wanted:
            if (dimension, row) not in left:
                idle = books.item(dimension, row) + books.item(layout.releasing + dimension, row)
                left[dimension, row] = idle - books.item(layout.pipelined + dimension, row)
        if all(left[key] >= amount for key, amount in wanted.items()):
            staying.append(unit)
            for key, amount in wanted.items():
                left[key] -= amount
    return staying


def _held(session: Session, tasks: Iterable[Task]) -> dict[tuple[int, int], int]:
    """What tasks hold, by resource and node."""
    held: dict[tuple[int, int], int] = {}
    for task in tasks:
        row = session.ledger.row_of(task)
        for dimension, amount in task.task_class.request:
            held[dimension, row] = held.get((dimension, row), 0) + amount
    return held


def _try_without(session: Session, statement: Statement, choice: Choice, units: Sequence[Unit]) -> bool:
    whole = statement.save()
    spared = {task.uid for unit in units for task in unit.tasks}
    statement.rollback(0)
    if _replayed(statement, choice, whole, spared) and all(_leaves_gangs(session, unit) for unit in units):
        return True
    statement.rollback(0)
    statement.recover(whole)
    return False


def _replayed(statement: Statement, choice: Choice, plan: Plan, spared: Collection[str]) -> bool:
    """Do everything again except these evictions; whether every claimant still gets its place. All victims go first, as
    the first claimant may get the room of the last.
    """
    for saved in plan.operations:
        if saved.kind is Kind.EVICT and saved.tasks[0].uid not in spared:
            statement.evict(saved.tasks[0], saved.reason, saved.preemptor)
    for saved in plan.operations:
        if saved.kind is not Kind.EVICT:
            task, row = saved.tasks[0], saved.rows[0]
            if not choice.takes(task, row):
                return False
            statement.pipeline(task, row, after_eviction=saved.after_eviction)
    return True


def _leaves_gangs(session: Session, unit: Unit) -> bool:
    """Whether the jobs of the unit are whole, or gone."""
    jobs = {task.job: session.jobs[task.job] for task in unit.tasks}
    return all(job.has_minimum(role_ready) for job in jobs.values())
