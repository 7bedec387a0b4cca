"""Events on queues whose budgets reach a threshold, once for each threshold and period.

With a history, what has been announced is recorded there before the event, so that neither a restart nor another leader
repeats it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stromboli.core.model.usage.budgets import BudgetState
from stromboli.scheduler.reporting.announcer import EventAnnouncer

if TYPE_CHECKING:
    from stromboli.cluster.state.cluster import Cluster
    from stromboli.history.writer import HistoryWriter


class BudgetEvents:
    def __init__(self, cluster: Cluster, announcer: EventAnnouncer) -> None:
        self._cluster = cluster
        self._announcer = announcer
        #: Records what is announced; None without a history.
        self.history: HistoryWriter | None = None
        #: The beginning of the period and the highest threshold that was reached, by queue, budget and holder.
        self._reached: dict[tuple[str, str, str], tuple[float, int]] = {}

    def report(self, states: Sequence[BudgetState]) -> None:
        """Announce thresholds that have been reached since, or record them first."""
        for state in states:
            key = state.queue, state.budget.scope, state.subject
            since, before = self._reached.get(key, (state.since, 0))
            reached = state.warning
            if since != state.since:
                before = 0
            self._reached[key] = state.since, max(before, reached)
            if reached <= before:
                continue
            if self.history is None:
                self._announce(state)
            else:
                self.history.claim_threshold(state)

    def announce_claimed(self) -> None:
        """Announce the thresholds that this process has recorded before any other."""
        for state in self.history.claimed_thresholds() if self.history is not None else ():
            self._announce(state)

    def _announce(self, state: BudgetState) -> None:
        queue = self._cluster.queues.find(state.queue)
        if queue is not None:
            self._announcer.budget_threshold(queue, f"{state.warning} % of a budget are used: {state}")
