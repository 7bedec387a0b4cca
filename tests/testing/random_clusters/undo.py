"""Statements that are undone, in part or wholly, and done again: the books must not know the difference."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import strategies as st

from stromboli.core.model.ledger.entry import LedgerInconsistency
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.session.session import Session
from stromboli.core.session.statement import Statement

Step = tuple[str, int, int]

#: What to do: with which task and on which node, or how far to go back.
steps: st.SearchStrategy[list[Step]] = st.lists(
    st.tuples(
        st.sampled_from(["allocate", "pipeline", "evict", "rehouse", "unpipeline", "rollback", "replay"]),
        st.integers(0, 20),
        st.integers(0, 2),
    ),
    max_size=40,
)


def check_steps(session: Session, steps: Sequence[Step], nodes: int, books: Callable[[], list[str]]) -> None:
    """Take what can be taken of these steps, on so many nodes; going back, and doing again what was undone, must leave
    the books as they were.
    """
    statement = session.statement()
    moments = [(0, books())]
    tasks = [task for _, job in sorted(session.jobs.items()) for task in job.tasks.values()]
    for what, number, row in steps:
        if what in ("rollback", "replay"):
            place = number % len(moments)
            mark, before = moments[place]
            plan, now = statement.save_since(mark), books()
            statement.rollback(mark)
            assert books() == before
            del moments[place + 1 :]
            if what == "replay":
                assert statement.recover(plan)
                assert books() == now
        else:
            _take(session, statement, what, tasks[number % len(tasks)], row % nodes)
        moments.append((len(statement.operations), books()))
    statement.discard()
    assert books() == moments[0][1]


def _take(session: Session, statement: Statement, what: str, task: Task, row: int) -> None:
    """One step, where it can be taken."""
    search, status = session.search, session.ledger.status_of(task)
    if what == "allocate" and status is TaskStatus.PENDING and search.accepts(task, row):
        if search.fits_now(task.task_class, row):
            statement.allocate([task], [row])
    elif what == "pipeline" and status is TaskStatus.PENDING and search.accepts(task, row):
        statement.pipeline(task, row)
    elif what == "evict" and status is TaskStatus.RUNNING:
        statement.evict(task, "test")
    elif what == "rehouse" and status is TaskStatus.RELEASING and task.uid not in _rehoused(statement):
        if search.accepts(task, row):
            statement.relocate(task, row)
    elif what == "unpipeline" and status is TaskStatus.PIPELINED:
        statement.unpipeline(task)


def _rehoused(statement: Statement) -> set[str]:
    """Whose successors have room already."""
    entries = (operation.entry for operation in statement.operations)
    return {task.uid for entry in entries if entry.successors for task in entry.tasks}


def check_fingerprints(session: Session, data: st.DataObject, nodes: int) -> None:
    """Whatever is done: going back to any moment restores the ledger of that moment, and all can be done again."""
    ledger, tasks = session.ledger, tasks_of(session)
    with session.statement() as statement:
        moments = [(0, ledger.fingerprint())]
        for _ in range(data.draw(st.integers(1, 8))):
            do_something(session, statement, tasks, data, nodes)
            moments.append((len(statement.operations), ledger.fingerprint()))
        after = ledger.fingerprint()
        plan = statement.save()
        mark, before = data.draw(st.sampled_from(moments))
        statement.rollback(mark)
        assert ledger.fingerprint() == before
        statement.rollback(0)
        assert ledger.fingerprint() == moments[0][1]
        assert statement.recover(plan)
        assert ledger.fingerprint() == after
    assert ledger.fingerprint() == moments[0][1]


def tasks_of(session: Session) -> list[Task]:
    return sorted((task for job in session.jobs.values() for task in job.tasks.values()), key=lambda task: task.key)


def do_something(
    session: Session, statement: Statement, tasks: Sequence[Task], data: st.DataObject, nodes: int
) -> None:
    """Place a task, evict one, or give a held room up; what cannot be done leaves the books as they are."""
    held = [task for task in tasks if session.ledger.status_of(task) is TaskStatus.PIPELINED]
    task = data.draw(st.sampled_from(held if held and data.draw(st.booleans()) else tasks))
    row = data.draw(st.integers(0, nodes - 1))
    before = session.ledger.fingerprint()
    try:
        if session.ledger.status_of(task) is TaskStatus.PIPELINED:
            statement.unpipeline(task)
        elif session.ledger.status_of(task) is TaskStatus.RUNNING:
            statement.evict(task, "room")
        elif data.draw(st.booleans()):
            statement.allocate([task], [row])
        else:
            statement.pipeline(task, row)
    except LedgerInconsistency:
        assert session.ledger.fingerprint() == before
