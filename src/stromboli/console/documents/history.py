"""Jobs of the past."""

from __future__ import annotations

from stromboli.console.documents.base import ConsoleDocument
from stromboli.history.query import JobHistory


class HistoryRows(ConsoleDocument):
    """Jobs of readable namespaces, oldest first."""

    jobs: list[JobHistory]
    #: Numbers of others by state.
    hidden: dict[str, int]
    #: Jobs that match and are earlier than these.
    earlier: int
    time: float
