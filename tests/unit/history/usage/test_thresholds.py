"""Announced thresholds of budgets: once per period, whatever process records them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from stromboli.core.model.usage.budgets import Budget, BudgetHolder, BudgetState, period_end, period_starts
from stromboli.history.databases.database import Database, HistoryError
from stromboli.history.databases.opening import open_for_writing
from stromboli.history.writer import HistoryWriter
from tests.testing.histories import START, UNBOUNDED, opened

DAY = 86_400.0


def state(used: float, at: float = START, **changes: object) -> BudgetState:
    """Return the state of a budget of 100 hours in the queue `research`."""
    facts = {"queue": "research", "period": "month", "resource": "cpu", "user": "", **changes}
    queue, budget = str(facts.pop("queue")), Budget(hours=100.0, **facts)  # type: ignore[arg-type]
    return BudgetState(queue, budget, BudgetHolder(budget.user), used, 100.0, period_starts(budget.period, at)[0])


def recorder(path: str) -> HistoryWriter:
    """Return the writer of another process."""
    return HistoryWriter(path, UNBOUNDED, wall_clock=lambda: START)


def claimed(writer: HistoryWriter, *states: BudgetState) -> list[int]:
    for each in states:
        writer.claim_threshold(each)
    try:
        writer.work()
    finally:
        writer.disconnect()
    return [each.warning for each in writer.claimed_thresholds()]


CASES = [
    pytest.param(state(80), [], id="threshold of this period"),
    pytest.param(state(99), [], id="same threshold with more usage"),
    pytest.param(state(100), [100], id="higher threshold"),
    pytest.param(state(85, START + 31 * DAY), [80], id="next period"),
    pytest.param(state(85, period="day"), [80], id="another period of the same beginning"),
    pytest.param(state(85, queue="other"), [80], id="another queue"),
    pytest.param(state(85, user="ana"), [80], id="budget of a user"),
    pytest.param(state(85, resource="memory"), [80], id="budget of another resource"),
]


@pytest.mark.parametrize(("after", "events"), CASES)
def test_another_process_announces_what_was_not_announced(
    tmp_path: Path, after: BudgetState, events: list[int]
) -> None:
    path = str(tmp_path / "history.db")
    assert claimed(recorder(path), state(85)) == [80]
    assert claimed(recorder(path), after) == events


def test_lower_threshold_is_not_announced_after_a_higher_one(tmp_path: Path) -> None:
    path = str(tmp_path / "history.db")
    assert claimed(recorder(path), state(120)) == [100]
    assert claimed(recorder(path), state(85)) == []


def test_thresholds_wait_while_the_database_is_away(tmp_path: Path) -> None:
    failures = iter([True, False])

    def connect(address: str) -> Database:
        if next(failures, False):
            raise HistoryError("the server is away")
        return open_for_writing(address)

    writer = HistoryWriter(str(tmp_path / "history.db"), UNBOUNDED, connect=connect, wall_clock=lambda: START)
    with pytest.raises(HistoryError):
        claimed(writer, state(85))
    assert (writer.is_idle, list(writer.claimed_thresholds())) == (False, [])
    assert claimed(writer) == [80]
    assert claimed(writer) == []


def test_threshold_in_a_batch_that_the_database_rejects_is_announced(tmp_path: Path) -> None:
    """An event twice is better than none."""
    writer = recorder(str(tmp_path / "history.db"))
    assert claimed(writer, state(85)) == [80]
    writer.claim_threshold(state(120))
    assert writer._next_batch() is not None
    for attempt in range(1, 20):
        writer._database = open_for_writing(str(tmp_path / "history.db"))
        writer.fail(HistoryError("rejected"), attempt)
    assert [each.warning for each in writer.claimed_thresholds()] == [100]


@pytest.mark.parametrize(("later", "rows"), [(29.0 * DAY, 1), (31.0 * DAY, 0)])
def test_rows_are_removed_with_their_period(tmp_path: Path, later: float, rows: int) -> None:
    path = tmp_path / "history.db"
    claimed(recorder(str(path)), state(85))
    claimed(HistoryWriter(str(path), UNBOUNDED, wall_clock=lambda: START + later))
    with opened(path) as database:
        assert len(database.rows("SELECT * FROM budget_thresholds")) == rows


@pytest.mark.parametrize(
    ("period", "start", "end"),
    [
        pytest.param("day", (2026, 12, 31), (2027, 1, 1), id="day"),
        pytest.param("week", (2026, 12, 28), (2027, 1, 4), id="week"),
        pytest.param("month", (2026, 2, 1), (2026, 3, 1), id="month of 28 days"),
        pytest.param("month", (2028, 2, 1), (2028, 3, 1), id="month of 29 days"),
        pytest.param("month", (2026, 4, 1), (2026, 5, 1), id="month of 30 days"),
        pytest.param("month", (2026, 12, 1), (2027, 1, 1), id="month of 31 days"),
    ],
)
def test_period_ends_where_the_next_begins(period: str, start: tuple[int, ...], end: tuple[int, ...]) -> None:
    first, last = (datetime(*day, tzinfo=UTC).timestamp() for day in (start, end))  # type: ignore[arg-type, misc]
    assert period_end(period, first) == last
