"""Queues with amounts as numbers."""

from __future__ import annotations

from stromboli.console.documents.base import ConsoleDocument
from stromboli.planner.overview.queue_list import QueueDocument


class QueueAmounts(ConsoleDocument):
    """Amounts of one resource in its base unit; null for no limit, or if no plugin divides the cluster."""

    resource: str
    allocated: float
    deserved: float | None
    guarantee: float
    capability: float | None
    borrowed: float
    #: Requests of waiting jobs.
    requested: float


class ConsoleQueue(QueueDocument, kw_only=True):
    """A queue, as `stromboli queues -o json` shows it, with amounts as numbers."""

    depth: int
    amounts: list[QueueAmounts]


class QueueListing(ConsoleDocument):
    """Queues, each after its parent."""

    instance: str
    version: int
    queues: list[ConsoleQueue]
    #: Queues that the person may not read.
    hidden: int
