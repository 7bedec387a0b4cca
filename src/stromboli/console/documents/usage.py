"""What queues have used over time, and their budgets."""

from __future__ import annotations

from stromboli.console.documents.base import ConsoleDocument


class BudgetUsage(ConsoleDocument):
    """A budget with what its holder has used of it in the present period, in hours."""

    queue: str
    resource: str
    #: day, week or month.
    period: str
    #: When the period began.
    since: float
    #: By whose usage it is measured; empty for all.
    user: str
    namespace: str
    used: float
    #: With what was carried over, but without the grace.
    limit: float
    grace: float
    #: What happens beyond it: block or preemptible.
    over: str
    #: `open`, `in grace` or `used up`.
    state: str


class QueueHours(ConsoleDocument):
    """What a queue has used; that of a parent includes its children."""

    queue: str
    #: By resource: hours of processors, of GiB, and of devices.
    hours: dict[str, float]


class QueueUsages(ConsoleDocument):
    """Usage of a period, from the history; empty without one."""

    instance: str
    since: float
    until: float
    queues: list[QueueHours]
    budgets: list[BudgetUsage]
    #: Budgets of users and namespaces that the person may not read.
    hidden_budgets: int
