"""pdb: evict no more pods than their PodDisruptionBudgets allow.

The ledger counts the disruptions of a cycle. This plugin rejects candidates without a remaining disruption in advance.
"""

from __future__ import annotations

from collections.abc import Sequence

from stromboli.core.config.plugin import EvictionContext, Plugin, Victims
from stromboli.core.model.tasks.task import Task
from stromboli.core.session.session import Session


class Pdb(Plugin):
    name = "pdb"
    guards_victims = True

    def open(self, session: Session) -> None:
        self._budgets = session.ledger.budgets

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        return self._within_budgets(candidates)

    def reclaimable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        return self._within_budgets(candidates)

    def evictable(self, context: EvictionContext, candidates: Sequence[Task]) -> Victims:
        return self._within_budgets(candidates)

    def veto(self, preemptor: Task, victim: Task) -> str:
        return self._budgets.veto(victim.uid)

    def _within_budgets(self, candidates: Sequence[Task]) -> list[Task]:
        """Return the candidates that may be evicted together, in their order."""
        victims: list[Task] = []
        budgeted: list[str] = []
        for task in candidates:
            if task.uid not in self._budgets.of_task:
                victims.append(task)
            elif self._budgets.may_spend((*budgeted, task.uid)):
                victims.append(task)
                budgeted.append(task.uid)
        return victims
