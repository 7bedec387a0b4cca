"""Which thresholds of budgets have been announced: once per period, by whatever scheduler records this history."""

from __future__ import annotations

from stromboli.core.model.usage.budgets import BudgetState, period_end
from stromboli.history.databases.database import Database

#: Rows stay this long after their period, because the clocks of schedulers differ.
_KEPT = 3600.0


def claim_threshold(database: Database, state: BudgetState) -> bool:
    """Record the threshold that a budget has reached; False if it, or a higher one of the period, was recorded before.
    The primary key decides between schedulers that do so at the same time.
    """
    budget = state.budget
    key = state.queue, budget.scope, state.subject, budget.period, state.since
    higher = database.rows(
        "SELECT 1 FROM budget_thresholds WHERE queue = ? AND scope = ? AND subject = ? AND period = ? AND since = ? "
        "AND threshold > ?",
        *key, state.warning,
    )  # fmt: skip
    if higher:
        return False
    added = database.execute(
        "INSERT INTO budget_thresholds (queue, scope, subject, period, since, threshold, ends) "
        "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        *key, state.warning, period_end(budget.period, state.since),
    )  # fmt: skip
    return bool(added)


def remove_ended_periods(database: Database, now: float) -> int:
    """Remove the thresholds of periods that have ended; return their number."""
    return database.execute("DELETE FROM budget_thresholds WHERE ends < ?", now - _KEPT)
