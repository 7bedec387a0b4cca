"""Disruption budgets: how many pods of a set may be evicted.

A budget is spent once: what one preemptor uses in a cycle is not available to the next.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Budgets:
    """The disruptions left of every budget, and the budgets that cover each task."""

    names: Sequence[str] = ()
    left: list[int] = field(default_factory=list)
    #: Budgets that cover a task, by task uid.
    of_task: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def may_spend(self, uids: Sequence[str]) -> bool:
        """Report whether all these tasks may be evicted together."""
        if not self.of_task:
            return True
        wanted: dict[int, int] = {}
        for uid in uids:
            budgets = self.of_task.get(uid, ())
            if len(budgets) > 1:
                return False  # the API server evicts no pod that two budgets cover
            for number in budgets:
                wanted[number] = wanted.get(number, 0) + 1
        return all(self.left[number] >= amount for number, amount in wanted.items())

    def veto(self, uid: str) -> str:
        """Describe why a task may not be evicted."""
        about = self.of_task.get(uid, ())
        if len(about) > 1:
            return f"{len(about)} disruption budgets cover it ({', '.join(self.names[number] for number in about)})"
        return "; ".join(f"disruption budget {self.names[n]} allows {max(self.left[n], 0)} more" for n in about)

    def spend(self, uid: str, amount: int = 1) -> None:
        """Record the eviction of a task, or, with a negative amount, its cancellation."""
        for number in self.of_task.get(uid, ()):
            self.left[number] -= amount
