"""The last look at a whole plan: whom it would also do without."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from stromboli.framework.eviction.choosing import Choice
from stromboli.framework.eviction.units import Unit
from stromboli.framework.session import Session
from stromboli.framework.statement import Kind, Plan, Statement
from stromboli.model.job import role_ready
from stromboli.model.task import Task


def prune(session: Session, statement: Statement, choice: Choice, units: Sequence[Unit]) -> None:
    """Take back every unit that is not needed any more. What was taken for the tasks that came last may have made
    unnecessary what was taken for the first.
    """
    for unit in units:
        if _has_room(session, unit.tasks):
            _try_without(session, statement, choice, unit)


def _has_room(session: Session, tasks: Iterable[Task]) -> bool:
    """Whether these could all stay where they are beside everybody who has been given a room."""
    ledger = session.ledger
    books, layout = ledger.books, ledger.layout
    wanted: dict[tuple[int, int], int] = {}
    for task in tasks:
        row = ledger.row_of(task)
        for dimension, amount in task.task_class.request:
            wanted[dimension, row] = wanted.get((dimension, row), 0) + amount
    for (dimension, row), amount in wanted.items():
        idle = books.item(dimension, row) + books.item(layout.releasing + dimension, row)
        if idle - books.item(layout.pipelined + dimension, row) < amount:
            return False
    return True


def _try_without(session: Session, statement: Statement, choice: Choice, unit: Unit) -> None:
    whole = statement.save()
    spared = {task.uid for task in unit.tasks}
    statement.rollback(0)
    if not _replayed(statement, choice, whole, spared) or not _leaves_gangs(session, unit):
        statement.rollback(0)
        statement.recover(whole)


def _replayed(statement: Statement, choice: Choice, plan: Plan, spared: Collection[str]) -> bool:
    """Do everything again except these evictions; whether every claimant still gets its place."""
    for saved in plan.operations:
        task = saved.tasks[0]
        if saved.kind is Kind.EVICT:
            if task.uid not in spared:
                statement.evict(task, saved.reason, saved.claimant)
        elif choice.takes(task, saved.rows[0]):
            statement.pipeline(task, saved.rows[0], after_eviction=saved.after_eviction)
        else:
            return False
    return True


def _leaves_gangs(session: Session, unit: Unit) -> bool:
    """Whether the jobs of the unit are whole, or gone."""
    jobs = {task.job: session.jobs[task.job] for task in unit.tasks}
    return all(job.has_minimum(role_ready) for job in jobs.values())
