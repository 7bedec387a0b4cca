"""What is used of budgets, from the history."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from stromboli.core.model.usage.budgets import Budget, BudgetHolder, BudgetState, limit_of, period_starts
from stromboli.history.databases.database import Database
from stromboli.history.usage.reports import UsageEntry, usage_of


def budget_states(
    database: Database, queue: str, family: Collection[str], budget: Budget, now: float
) -> Iterator[BudgetState]:
    """Return the state of a budget for each of its holders: with `*`, all that have used the resource. `family` is the
    queue with its descendants. Raises HistoryError.
    """
    start, earlier = period_starts(budget.period, now)
    used = _hours(database, start, now, family, budget)
    before = _hours(database, earlier, start, family, budget) if budget.carry_over else {}
    for holder in sorted({*used, *before} or {budget.holder("", "")}, key=str):
        limit = limit_of(budget, before.get(holder, 0.0) if budget.carry_over else budget.hours)
        yield BudgetState(queue, budget, holder, used.get(holder, 0.0), limit, start)


def _hours(
    database: Database, since: float, until: float, family: Collection[str], budget: Budget
) -> dict[BudgetHolder, float]:
    """Return the used hours by holder."""
    hours: dict[BudgetHolder, float] = {}
    for entry in usage_of(database, since, until, ("queue", "user", "namespace")):
        user, namespace = entry.key["user"], entry.key["namespace"]
        if entry.key["queue"] in family and budget.applies_to(user, namespace):
            holder = budget.holder(user, namespace)
            hours[holder] = hours.get(holder, 0.0) + _of(entry, budget)
    return hours


def _of(entry: UsageEntry, budget: Budget) -> float:
    return float(entry.resource_seconds.get(budget.resource, 0)) / budget.hour
