"""Events on queues whose budgets reach a threshold, once for each threshold and period."""

from __future__ import annotations

from collections.abc import Sequence

from stromboli.cluster.objects.queues import Queues
from stromboli.core.model.usage.budgets import BudgetState
from stromboli.scheduler.reporting.announcer import EventAnnouncer


class BudgetEvents:
    def __init__(self, queues: Queues, announcer: EventAnnouncer) -> None:
        self._queues = queues
        self._announcer = announcer
        #: The beginning of the period and the highest threshold that was announced, by queue, budget and holder.
        self._announced: dict[tuple[str, str, str], tuple[float, int]] = {}

    def announce(self, states: Sequence[BudgetState]) -> None:
        """Announce thresholds that have been reached since."""
        for state in states:
            key = state.queue, state.budget.scope, state.subject
            since, before = self._announced.get(key, (state.since, 0))
            reached = state.warning
            if since != state.since:
                before = 0
            self._announced[key] = state.since, max(before, reached)
            queue = self._queues.find(state.queue)
            if reached > before and queue is not None:
                self._announcer.budget_threshold(queue, f"{reached} % of a budget are used: {state}")
