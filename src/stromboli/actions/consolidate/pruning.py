"""The last look at a whole plan: who need not move after all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from stromboli.framework.eviction.choosing import Choice
from stromboli.framework.eviction.units import Unit
from stromboli.framework.session import Session
from stromboli.framework.statement import Kind, Plan, Statement
from stromboli.model.job import role_ready


def prune(session: Session, statement: Statement, choice: Choice, units: Sequence[Unit]) -> None:
    """Leave every unit where it is without which the plan still holds, the largest and most important first: what was
    moved for the tasks that came last may have made unnecessary what was moved for the first.
    """
    places = {o.entry.tasks[0].uid: o.entry.rows[0] for o in statement.operations if o.kind is Kind.REHOUSE}
    for unit in sorted(units, key=lambda unit: (unit.grade, len(unit.tasks)), reverse=True):
        if _has_room(session, unit, places):
            _try_without(session, statement, choice, unit)


def _has_room(session: Session, unit: Unit, places: Mapping[str, int]) -> bool:
    """Whether a unit could stay where it is by amounts alone, if it gave up the rooms that are held for it."""
    ledger, wanted = session.ledger, Counter[tuple[int, int]]()
    for task in unit.tasks:
        for dimension, amount in task.task_class.request:
            wanted[dimension, ledger.row_of(task)] += amount
            wanted[dimension, places[task.uid]] -= amount
    idle = ledger.all_rows.future_idle
    return all(int(idle(dimension)[row]) >= amount for (dimension, row), amount in wanted.items())


def _try_without(session: Session, statement: Statement, choice: Choice, unit: Unit) -> None:
    whole = statement.save()
    staying = {task.uid for task in unit.tasks}
    statement.rollback(0)
    if not _holds_without(session, statement, choice, whole, staying) or not _is_whole(session, unit):
        statement.rollback(0)
        statement.recover(whole)


def _holds_without(
    session: Session, statement: Statement, choice: Choice, plan: Plan, staying: Collection[str]
) -> bool:
    """Do everything again without moving these; whether everybody still gets the place that was found."""
    for saved in plan.operations:
        task, row = saved.tasks[0], saved.rows[0]
        if saved.kind is Kind.EVICT:
            if task.uid not in staying:
                statement.evict(task, saved.reason, saved.claimant)
        elif saved.kind is Kind.REHOUSE:
            if task.uid in staying:
                continue
            if not session.search.admits(task, row):
                return False
            statement.rehouse(task, row)
        elif choice.takes(task, row):
            statement.pipeline(task, row, after_eviction=saved.after_eviction)
        else:
            return False
    return True


def _is_whole(session: Session, unit: Unit) -> bool:
    """Whether the jobs of a unit that stays have their minimum: a gang is moved whole or not at all."""
    jobs = {task.job: session.jobs[task.job] for task in unit.tasks}
    return all(job.has_minimum(role_ready) for job in jobs.values())
