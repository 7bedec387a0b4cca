"""Statements that are undone, partly or completely, and replayed: the ledger must be the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import strategies as st

from stromboli.core.model.ledger.entry import LedgerInconsistency
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.session.session import Session
from stromboli.core.session.statement import Statement

Step = tuple[str, int, int]

#: What to do: with which task and on which node, or how far to roll back.
steps: st.SearchStrategy[list[Step]] = st.lists(
    st.tuples(
        st.sampled_from(["allocate", "pipeline", "evict", "relocate", "unpipeline", "rollback", "replay"]),
        st.integers(0, 20),
        st.integers(0, 2),
    ),
    max_size=40,
)


def check_steps(session: Session, steps: Sequence[Step], nodes: int, books: Callable[[], object]) -> None:
    """Execute the possible steps on so many nodes; rolling back, and replaying, must restore the state."""
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
    """Execute one step, if possible."""
    search, status = session.search, session.ledger.status_of(task)
    if what == "allocate" and status is TaskStatus.PENDING and search.accepts(task, row):
        if search.fits_now(task.task_class, row):
            statement.allocate([task], [row])
    elif what == "pipeline" and status is TaskStatus.PENDING and search.accepts(task, row):
        statement.pipeline(task, row)
    elif what == "evict" and status is TaskStatus.RUNNING:
        statement.evict(task, "test")
    elif what == "relocate" and status is TaskStatus.RELEASING and task.uid not in _relocated(statement):
        if search.accepts(task, row):
            statement.relocate(task, row)
    elif what == "unpipeline" and status is TaskStatus.PIPELINED:
        statement.unpipeline(task)


def _relocated(statement: Statement) -> set[str]:
    """Return tasks whose successors are placed already."""
    entries = (operation.entry for operation in statement.operations)
    return {task.uid for entry in entries if entry.successors for task in entry.tasks}


def check_fingerprints(session: Session, data: st.DataObject, nodes: int) -> None:
    """Rolling back to any point restores the ledger of that point, and everything can be replayed."""
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
    """Place a task, evict one, or unpipeline one; an impossible operation leaves the ledger unchanged."""
    held = [task for task in tasks if session.ledger.status_of(task) is TaskStatus.PIPELINED]
    prefers_held = bool(held) and data.draw(st.booleans())
    task = data.draw(st.sampled_from(held if prefers_held else tasks))
    row = data.draw(st.integers(0, nodes - 1))
    before = session.ledger.fingerprint()
    try:
        if session.ledger.status_of(task) is TaskStatus.PIPELINED:
            statement.unpipeline(task)
        elif session.ledger.status_of(task) is TaskStatus.RUNNING:
            statement.evict(task, "capacity")
        elif data.draw(st.booleans()):
            statement.allocate([task], [row])
        else:
            statement.pipeline(task, row)
    except LedgerInconsistency:
        assert session.ledger.fingerprint() == before
