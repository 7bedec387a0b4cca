"""Scheduling cycles: what was decided, and why."""

from __future__ import annotations

from stromboli.console.documents.base import ConsoleDocument
from stromboli.planner.cycle_records import CycleRecord, CycleSummary


class CycleList(ConsoleDocument):
    """Recorded cycles, the latest first. Cycles that decide nothing new are not recorded."""

    instance: str
    cycles: list[CycleSummary]
    #: Why there are no new ones; empty otherwise.
    note: str


class CycleView(CycleRecord, kw_only=True):
    """A cycle: decisions about readable jobs, and how many others there are."""

    instance: str
    hidden: int
