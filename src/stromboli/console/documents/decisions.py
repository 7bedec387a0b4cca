"""Scheduling cycles: what was decided, and why."""

from __future__ import annotations

from stromboli.console.documents.base import ConsoleDocument
from stromboli.planner.cycle_records import (
    BindDecision,
    CycleSummary,
    EvictionDecision,
    NominationDecision,
    RefusalDecision,
    ScoreDecision,
)


class CycleList(ConsoleDocument):
    """Recorded cycles, the latest first. Cycles that decide nothing new are not recorded."""

    instance: str
    cycles: list[CycleSummary]
    #: Why there are no new ones; empty otherwise.
    note: str


class CycleView(ConsoleDocument):
    """A cycle: decisions about readable jobs, and how many others there are."""

    instance: str
    cycle: CycleSummary
    #: Actions in their order, and plugins of the policy.
    actions: list[str]
    plugins: list[str]
    binds: list[BindDecision]
    evictions: list[EvictionDecision]
    nominations: list[NominationDecision]
    refusals: list[RefusalDecision]
    scores: list[ScoreDecision]
    hidden: int
