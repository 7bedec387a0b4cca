"""Evicting many tasks at once equals evicting them one by one: ledger, undo, saved statements and decisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import given
from hypothesis import strategies as st

from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.session.session import Session
from stromboli.core.session.statement import Statement
from tests.testing.random_clusters.effort import examples
from tests.testing.random_clusters.engine import session_of
from tests.testing.random_clusters.undo import tasks_of
from tests.testing.random_clusters.worlds import SmallWorld, Traits, worlds

_EVICTABLE = (TaskStatus.BOUND, TaskStatus.RUNNING)
_Evict = Callable[[Statement, Sequence[Task]], None]


def _one_by_one(statement: Statement, tasks: Sequence[Task]) -> None:
    for task in tasks:
        statement.evict(task, "capacity", "team/urgent")


def _at_once(statement: Statement, tasks: Sequence[Task]) -> None:
    statement.evict_all(tasks, "capacity", "team/urgent")


def _outcome(session: Session, numbers: Sequence[int], evict: _Evict) -> object:
    """Evict in a statement that is rolled back and replayed, and commit; return all that can be observed."""
    tasks, ledger = [task for task in tasks_of(session) if _is_evictable(session, task)], session.ledger
    chosen = [tasks[number % len(tasks)] for number in numbers] if tasks else []
    chosen, before = list(dict.fromkeys(chosen)), ledger.fingerprint()
    with session.statement() as statement:
        evict(statement, chosen)
        after, saved = ledger.fingerprint(), statement.save()
        statement.rollback(0)
        assert ledger.fingerprint() == before
        assert statement.recover(saved)
        assert ledger.fingerprint() == after
        statement.rollback(0)
        evict(statement, chosen)
        statement.commit()
    plan = [(saved.kind, [task.key for task in saved.tasks], saved.rows) for saved in saved.operations]
    evictions = [(each.task.key, each.reason, each.preemptor) for each in session.decisions.evictions]
    return after, ledger.fingerprint(), plan, evictions, session.decisions.eviction_statements, session.dirty_jobs


def _is_evictable(session: Session, task: Task) -> bool:
    return session.ledger.status_of(task) in _EVICTABLE and session.ledger.row_of(task) >= 0


@examples(100)
@given(worlds(Traits(most_nodes=5, experienced=2)), st.lists(st.integers(0, 20), max_size=8))
def test_evicting_at_once_equals_evicting_one_by_one(world: SmallWorld, numbers: list[int]) -> None:
    single, bulk = session_of(world.objects), session_of(world.objects)
    assert not bulk.on_deallocate, "plugins with handlers are called for each task, without bulk operations"
    assert _outcome(bulk, numbers, _at_once) == _outcome(single, numbers, _one_by_one)
