"""Disruption budgets: how many pods of a set may be evicted, whoever asks for it.

A budget is spent once. What one claimant takes from it in a cycle is gone for the next one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Budgets:
    """What is left of every budget, and which of them the eviction of a task is paid from."""

    names: Sequence[str] = ()
    left: list[int] = field(default_factory=list)
    #: By the uid of a task, the budgets that it counts for.
    of_task: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def may_spend(self, uids: Sequence[str]) -> bool:
        """Whether all these tasks may go together."""
        if not self.of_task:
            return True
        wanted: dict[int, int] = {}
        for uid in uids:
            budgets = self.of_task.get(uid, ())
            if len(budgets) > 1:
                return False  # the API server evicts no pod that two budgets are about
            for number in budgets:
                wanted[number] = wanted.get(number, 0) + 1
        return all(self.left[number] >= amount for number, amount in wanted.items())

    def veto(self, uid: str) -> str:
        """Why a task has to stay, in words."""
        about = self.of_task.get(uid, ())
        if len(about) > 1:
            return f"{len(about)} disruption budgets are about it ({', '.join(self.names[number] for number in about)})"
        return "; ".join(f"disruption budget {self.names[n]} allows {max(self.left[n], 0)} more" for n in about)

    def spend(self, uid: str, amount: int = 1) -> None:
        """A task goes; or, with a negative amount, it stays after all."""
        for number in self.of_task.get(uid, ()):
            self.left[number] -= amount
