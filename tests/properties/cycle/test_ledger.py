"""The ledger under any interleaving: undo restores every byte, and amounts equal the recomputed ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from stromboli.core.config.plugin import Event, Plugin
from stromboli.core.model.ledger.entry import LedgerInconsistency
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.session.session import Session
from stromboli.core.session.statement import SavedStatement, Statement
from tests.properties.cycle.auditor import HELD, Auditor
from tests.testing.random_clusters import objects
from tests.testing.random_clusters.effort import examples
from tests.testing.random_clusters.engine import program_of, session_of, with_plugin, world_of
from tests.testing.random_clusters.worlds import SmallWorld, Traits, worlds

EVICTABLE = (TaskStatus.BOUND, TaskStatus.RUNNING)


class Listener(Plugin):
    """Counts its events: how often every task was placed, less how often it was removed."""

    name = "listener"

    def open(self, session: Session) -> None:
        self.balance: Counter[str] = Counter()

    def on_allocate(self, event: Event) -> None:
        self.balance.update(task.uid for task in event.tasks)

    def on_deallocate(self, event: Event) -> None:
        self.balance.subtract(task.uid for task in event.tasks)


PROGRAM = program_of(with_plugin("listener"), [Listener])


@dataclass
class Opened:
    """An open statement, with fingerprints at some points: (operations so far, fingerprint)."""

    statement: Statement
    moments: list[tuple[int, bytes]] = field(default_factory=list)


class Books(RuleBasedStateMachine):
    """Statements are nested: only the youngest may write, and it is merged into the one below it or undone before that
    one continues.
    """

    @initialize(world=worlds(Traits(most_nodes=5)))
    def begin(self, world: SmallWorld) -> None:
        running = world_of(world.objects, PROGRAM)
        self.auditor = Auditor(running.snapshot())
        self.session = Session(running.snapshot(), PROGRAM)
        self.ledger = self.session.ledger
        self.tasks = [task for job in self.session.jobs.values() for task in job.tasks.values()]
        self.rows = range(len(self.session.nodes))
        self.opened: list[Opened] = []

    # -- choosing -------------------------------------------------------------------------------------------------

    @property
    def youngest(self) -> Opened:
        return self.opened[-1]

    def in_status(self, *statuses: TaskStatus) -> list[Task]:
        return [task for task in self.tasks if self.ledger.status_of(task) in statuses]

    def has_capacity(self, task: Task, row: int, *, later: bool, taken: int = 0) -> bool:
        """Report whether a node has capacity for a task beside `taken` equal ones, without using nominated capacity."""
        books, layout = self.ledger.amounts, self.ledger.layout
        for dimension, amount in task.task_class.request:
            idle = books[layout.idle + dimension, row] - taken * amount
            future = idle + books[layout.releasing + dimension, row] - books[layout.pipelined + dimension, row]
            if future < amount or (not later and idle < amount):
                return False
        return True

    # -- statements -----------------------------------------------------------------------------------------------

    @precondition(lambda self: len(self.opened) < 3)
    @rule()
    def open(self) -> None:
        self.opened.append(Opened(self.session.statement(), [(0, self.ledger.fingerprint())]))

    @precondition(lambda self: self.opened)
    @rule()
    def remember(self) -> None:
        self.youngest.moments.append((len(self.youngest.statement.operations), self.ledger.fingerprint()))

    @precondition(lambda self: self.opened)
    @rule(data=st.data())
    def roll_back(self, data: st.DataObject) -> None:
        place = data.draw(st.integers(0, len(self.youngest.moments) - 1))
        operations, books = self.youngest.moments[place]
        self.youngest.statement.rollback(operations)
        del self.youngest.moments[place + 1 :]
        assert self.ledger.fingerprint() == books

    @precondition(lambda self: self.opened)
    @rule()
    def discard(self) -> None:
        ended = self.opened.pop()
        ended.statement.discard()
        assert self.ledger.fingerprint() == ended.moments[0][1]

    @precondition(lambda self: len(self.opened) > 1)
    @rule()
    def merge(self) -> None:
        ended = self.opened.pop()
        before = len(self.youngest.statement.operations)
        self.youngest.statement.merge(ended.statement)
        self.youngest.moments += [(before + operations, books) for operations, books in ended.moments]

    @precondition(lambda self: len(self.opened) == 1)
    @rule(end=st.sampled_from([Statement.commit, Statement.keep]))
    def end(self, end: Callable[[Statement], None]) -> None:
        end(self.opened.pop().statement)

    # -- operations -----------------------------------------------------------------------------------------------

    @precondition(lambda self: self.opened)
    @rule(data=st.data())
    def allocate(self, data: st.DataObject) -> None:
        pending = self.in_status(TaskStatus.PENDING)
        if not pending:
            return
        first = data.draw(st.sampled_from(pending))
        alike = [task for task in pending if _kin(task) == _kin(first)]
        chosen: list[int] = []
        for _ in alike[: data.draw(st.integers(1, 4))]:
            fitting = [row for row in self.rows if self.has_capacity(first, row, later=False, taken=chosen.count(row))]
            if fitting:
                chosen.append(data.draw(st.sampled_from(fitting)))
        if chosen:
            self.youngest.statement.allocate(alike[: len(chosen)], chosen)

    @precondition(lambda self: self.opened)
    @rule(data=st.data())
    def pipeline(self, data: st.DataObject) -> None:
        pairs = [
            (t, r) for t in self.in_status(TaskStatus.PENDING) for r in self.rows if self.has_capacity(t, r, later=True)
        ]
        if pairs:
            self.youngest.statement.pipeline(*data.draw(st.sampled_from(pairs)))

    @precondition(lambda self: self.opened)
    @rule(data=st.data())
    def place(self, data: st.DataObject) -> None:
        pairs = [
            (t, r) for t in self.in_status(TaskStatus.PENDING) for r in self.rows if self.has_capacity(t, r, later=True)
        ]
        if pairs:
            self.youngest.statement.place(*data.draw(st.sampled_from(pairs)))

    @precondition(lambda self: self.opened)
    @rule(data=st.data())
    def evict(self, data: st.DataObject) -> None:
        standing = [task for task in self.in_status(*EVICTABLE) if self.ledger.row_of(task) >= 0]
        if standing:
            self.youngest.statement.evict(data.draw(st.sampled_from(standing)), "moved")

    @precondition(lambda self: self.opened)
    @rule(data=st.data())
    def unpipeline(self, data: st.DataObject) -> None:
        waiting = self.in_status(TaskStatus.PIPELINED)
        if waiting:
            self.youngest.statement.unpipeline(data.draw(st.sampled_from(waiting)))

    # -- plans ----------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.opened)
    @rule()
    def save_discard_recover(self) -> None:
        """Recovering after a discard restores the same ledger."""
        direct, plan = self.ledger.fingerprint(), self.youngest.statement.save()
        self.youngest.statement.discard()
        self.youngest.statement = self.session.statement()
        assert self.youngest.statement.recover(plan)
        assert self.ledger.fingerprint() == direct

    @precondition(lambda self: self.opened)
    @rule(data=st.data())
    def save_roll_back_recover(self, data: st.DataObject) -> None:
        operations, _ = data.draw(st.sampled_from(self.youngest.moments))
        direct, plan = self.ledger.fingerprint(), self.youngest.statement.save_since(operations)
        self.youngest.statement.rollback(operations)
        assert self.youngest.statement.recover(plan)
        assert self.ledger.fingerprint() == direct

    @precondition(lambda self: self.opened and len(self.youngest.statement.operations) > 1)
    @rule()
    def recover_what_no_longer_holds(self) -> None:
        """If the last operation of a saved statement is no longer possible, nothing of it remains."""
        plan = self.youngest.statement.save()
        self.youngest.statement.discard()
        self.youngest.statement, self.youngest.moments = self.session.statement(), self.youngest.moments[:1]
        done_before = self.youngest.statement.recover(SavedStatement(plan.operations[-1:]))
        before, count = self.ledger.fingerprint(), len(self.youngest.statement.operations)
        if done_before:
            assert not self.youngest.statement.recover(plan)
            assert self.ledger.fingerprint() == before
            assert len(self.youngest.statement.operations) == count

    # -- what must be refused -------------------------------------------------------------------------------------

    def refuses(self, operation: Callable[..., None], *subject: Any) -> None:
        before, count = self.ledger.fingerprint(), len(self.youngest.statement.operations)
        with pytest.raises(LedgerInconsistency):
            operation(*subject)
        assert self.ledger.fingerprint() == before
        assert len(self.youngest.statement.operations) == count

    @precondition(lambda self: self.opened)
    @rule(data=st.data())
    def too_much(self, data: st.DataObject) -> None:
        tasks = self.in_status(TaskStatus.PENDING)
        pairs = [(task, row) for task in tasks for row in self.rows if not self.has_capacity(task, row, later=True)]
        if not pairs:
            return
        task, row = data.draw(st.sampled_from(pairs))
        self.refuses(self.youngest.statement.pipeline, task, row)
        if any(self.ledger.all_rows.idle(dimension)[row] < amount for dimension, amount in task.task_class.request):
            self.refuses(self.youngest.statement.allocate, [task], [row])

    @precondition(lambda self: self.opened)
    @rule()
    def wrong_status(self) -> None:
        statement = self.youngest.statement
        kinds = {(self.ledger.status_of(task), self.ledger.row_of(task) < 0): task for task in self.tasks}
        for (status, has_no_node), task in kinds.items():
            if status is not TaskStatus.PENDING:
                self.refuses(statement.allocate, [task], [0])
                self.refuses(statement.pipeline, task, 0)
            if status is not TaskStatus.PIPELINED:
                self.refuses(statement.unpipeline, task)
            if status not in EVICTABLE or has_no_node:
                self.refuses(statement.evict, task, "moved")

    # -- always ---------------------------------------------------------------------------------------------------

    @invariant()
    def ledger_equals_recount(self) -> None:
        if hasattr(self, "auditor"):
            self.auditor.audit(self.session)

    @invariant()
    def handlers_received_every_event(self) -> None:
        if not hasattr(self, "auditor"):
            return
        expected = Counter(
            {
                task.uid: (now in HELD) - (then in HELD)
                for task, (then, _), (now, _) in self.auditor.moved(self.session)
                if (now in HELD) != (then in HELD)
            }
        )
        listener = self.session.program.plugins["listener"]
        assert isinstance(listener, Listener)
        assert {uid: count for uid, count in listener.balance.items() if count} == expected

    def teardown(self) -> None:
        """Undo all open statements, the youngest first."""
        while getattr(self, "opened", None):
            self.discard()
            self.ledger_equals_recount()


def _kin(task: Task) -> tuple[object, ...]:
    """Return what tasks must share to be placed in one operation."""
    return task.job, task.sub_job, task.task_class


def test_pod_on_a_missing_node_cannot_be_evicted() -> None:
    """There is no row to write to, and certainly not the last one."""
    stray = objects.pod("stray-0", objects.template({"cpu": "1"}, node_name="gone"), group="stray", phase="Running")
    node = objects.node("here", {"cpu": "4"})
    session = session_of([node, objects.group("stray", phase="Running", min_member=1), stray])
    books = session.ledger.fingerprint()
    (task,) = session.jobs["team/stray"].tasks.values()
    with session.statement() as statement, pytest.raises(LedgerInconsistency):
        statement.evict(task, "moved")
    assert session.ledger.fingerprint() == books


TestBooks = Books.TestCase
TestBooks.settings = examples(100)
