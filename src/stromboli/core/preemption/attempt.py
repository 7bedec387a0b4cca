"""A preemption attempt: the state of preempting for one job, and how to return to an earlier point of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from stromboli.core.config.plugin import CLUSTER, Domain
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.tasks.task import Task
from stromboli.core.preemption.report import EvaluatedNode
from stromboli.core.preemption.selection import VictimSelection
from stromboli.core.preemption.units import EvictionUnit
from stromboli.core.session.decision_records import EvictionRecord, PreemptionFailure
from stromboli.core.session.statement import SavedStatement, Statement


class Mark(NamedTuple):
    """A point in an attempt."""

    operations: int
    units: int
    places: int


@dataclass(frozen=True, slots=True)
class AttemptPlan:
    """The operations since a mark, to be repeated."""

    plan: SavedStatement
    units: list[EvictionUnit]
    places: int
    records: dict[str, EvictionRecord]


@dataclass(slots=True)
class PreemptionAttempt:
    job: Job
    statement: Statement
    selection: VictimSelection
    #: The search for capacity is limited to this domain.
    domain: Domain = CLUSTER
    units: list[EvictionUnit] = field(default_factory=list)
    #: The number of tasks for which pods were evicted.
    places: int = 0
    #: Eviction records by the uid of the victim, if the session records decisions.
    records: dict[str, EvictionRecord] = field(default_factory=dict)
    #: The nodes that were evaluated for the current task, if the session records decisions.
    evaluated_nodes: list[EvaluatedNode] = field(default_factory=list)
    #: By class, the number of operations at its last failure: without further operations it would fail again.
    failed_at: dict[int, int] = field(default_factory=dict)
    refusal: PreemptionFailure | None = None
    #: The first task without a plan.
    failed_task: Task | None = None

    @property
    def mark(self) -> Mark:
        return Mark(len(self.statement.operations), len(self.units), self.places)

    def return_to(self, mark: Mark) -> None:
        """Roll back everything since the mark."""
        self.statement.rollback(mark.operations)
        del self.units[mark.units :]
        self.places = mark.places
        self.failed_at.clear()

    def since(self, mark: Mark) -> AttemptPlan:
        plan = self.statement.save_since(mark.operations)
        return AttemptPlan(plan, self.units[mark.units :], self.places - mark.places, dict(self.records))

    def redo(self, part: AttemptPlan) -> None:
        self.statement.recover(part.plan)
        self.units += part.units
        self.places += part.places
        self.records |= part.records
