"""An attempt: what is being done for one job, and how to go back to an earlier point of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from stromboli.core.config.plugin import CLUSTER, Domain
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.tasks.task import Task
from stromboli.core.preemption.report import Look
from stromboli.core.preemption.selection import Choice
from stromboli.core.preemption.units import Unit
from stromboli.core.session.decision_records import EvictionRecord, PreemptionFailure
from stromboli.core.session.statement import Plan, Statement


class Mark(NamedTuple):
    """A point in an attempt."""

    operations: int
    units: int
    places: int


@dataclass(frozen=True, slots=True)
class Part:
    """What was done since a mark, to be done again."""

    plan: Plan
    units: list[Unit]
    places: int
    accounts: dict[str, EvictionRecord]


@dataclass(slots=True)
class Attempt:
    job: Job
    statement: Statement
    choice: Choice
    #: Rooms are looked for inside of it.
    domain: Domain = CLUSTER
    units: list[Unit] = field(default_factory=list)
    #: How many tasks got a room that was made for them.
    places: int = 0
    #: By the uid of the victim, where accounts are wanted.
    accounts: dict[str, EvictionRecord] = field(default_factory=dict)
    #: The nodes that were looked at for the task at hand, likewise.
    looks: list[Look] = field(default_factory=list)
    #: By class, how many operations there were when it found nothing: until there are more, it would not again.
    failed_at: dict[int, int] = field(default_factory=dict)
    refusal: PreemptionFailure | None = None
    #: The first task that found nothing.
    stuck: Task | None = None

    @property
    def mark(self) -> Mark:
        return Mark(len(self.statement.operations), len(self.units), self.places)

    def return_to(self, mark: Mark) -> None:
        """Undo everything since the mark."""
        self.statement.rollback(mark.operations)
        del self.units[mark.units :]
        self.places = mark.places
        self.failed_at.clear()

    def since(self, mark: Mark) -> Part:
        plan = self.statement.save_since(mark.operations)
        return Part(plan, self.units[mark.units :], self.places - mark.places, dict(self.accounts))

    def redo(self, part: Part) -> None:
        self.statement.recover(part.plan)
        self.units += part.units
        self.places += part.places
        self.accounts |= part.accounts
