"""pdb: no more pods are asked to leave than their disruption budgets allow.

The budgets are spent in the ledger, by whoever evicts. This plugin says beforehand who could not go, so that nobody
counts on them.
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

    def preemptable(self, claimant: Task, candidates: Sequence[Task]) -> Victims:
        return self._affordable(candidates)

    def reclaimable(self, claimant: Task, candidates: Sequence[Task]) -> Victims:
        return self._affordable(candidates)

    def evictable(self, context: EvictionContext, candidates: Sequence[Task]) -> Victims:
        return self._affordable(candidates)

    def objection_to(self, claimant: Task, victim: Task) -> str:
        return self._budgets.objection_to(victim.uid)

    def _affordable(self, candidates: Sequence[Task]) -> list[Task]:
        """Those that may all go together, the first candidates first."""
        victims: list[Task] = []
        paid_for: list[str] = []
        for task in candidates:
            if task.uid not in self._budgets.of_task:
                victims.append(task)
            elif self._budgets.may_spend((*paid_for, task.uid)):
                victims.append(task)
                paid_for.append(task.uid)
        return victims
