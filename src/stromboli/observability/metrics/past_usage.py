"""What queues have used over time, and what follows from it: without the plugins fairshare and budget, no series.

Users are left out, because there may be any number of them: budgets that each user has for itself have no series.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Gauge

from stromboli.core.model.usage.budgets import EACH, BudgetState
from stromboli.core.session.session import Session
from stromboli.observability.metrics.series import PrunedGauge

_OPEN, _IN_GRACE, _USED_UP = 0, 1, 2
_OF_BUDGETS = ("queue", "resource", "user", "namespace")


class PastUsageMetrics:
    def __init__(self, registry: CollectorRegistry, max_series: int) -> None:
        def pruned(name: str, documentation: str, *labels: str) -> PrunedGauge:
            return PrunedGauge(Gauge(f"stromboli_{name}", documentation, labels, registry=registry), max_series)

        self._usage = pruned("queue_decayed_usage", "The decayed fraction of the cluster that was used.", "queue")
        self._factor = pruned("queue_fairshare_factor", "Usage divided by weight, which orders queues.", "queue")
        self._effective = pruned(
            "queue_effective_share", "The part of what siblings share, after past usage.", "queue", "resource"
        )
        self._used = pruned("budget_used_hours", "Hours that are used of a budget.", *_OF_BUDGETS)
        self._limit = pruned("budget_limit_hours", "Hours of a budget, with what was carried over.", *_OF_BUDGETS)
        self._state = pruned("budget_state", "0 for an open budget, 1 in grace, 2 used up.", *_OF_BUDGETS)

    def update(self, session: Session) -> int:
        """Expose the queues and budgets of a cycle; return the number of omitted series."""
        shares = session.fair_shares(False).entries if session.fair_shares is not None else ()
        states = {_labels(state): state for state in session.budgets if _is_bounded(state)}
        return sum(
            (
                self._usage.update({(share.queue,): share.usage for share in shares}),
                self._factor.update({(share.queue,): share.factor for share in shares}),
                self._effective.update(
                    {(share.queue, name): part for share in shares for name, part in share.effective.items()}
                ),
                self._used.update({labels: state.used for labels, state in states.items()}),
                self._limit.update({labels: state.limit for labels, state in states.items()}),
                self._state.update({labels: _state(state) for labels, state in states.items()}),
            )
        )


def _is_bounded(state: BudgetState) -> bool:
    return EACH not in (state.budget.user, state.budget.namespace)


def _labels(state: BudgetState) -> tuple[str, ...]:
    return state.queue, state.budget.resource, state.budget.user, state.budget.namespace


def _state(state: BudgetState) -> int:
    if state.is_exhausted:
        return _USED_UP
    return _IN_GRACE if state.used >= state.limit else _OPEN
