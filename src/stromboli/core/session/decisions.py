"""Decisions of a cycle: placements to bind, evictions, nominations and reservations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from stromboli.core.model.jobs.carryover import Reservation
from stromboli.core.model.ledger.entry import LedgerEntry
from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.tasks.placement import Placement
from stromboli.core.model.tasks.task import Task, TaskStatus

#: `bind_context` of a plugin: adds annotations of a task's binding.
BindContext = Callable[[Task, dict[str, str]], Any]
_NO_ANNOTATIONS: dict[str, str] = {}


@dataclass(slots=True)
class Eviction:
    task: Task
    reason: str
    #: The job that needs the capacity, if any.
    preemptor: str = ""


@dataclass(slots=True)
class Decisions:
    """The decisions of a cycle, for the caller to execute."""

    #: One entry per committed statement: its members are bound together.
    binds: list[list[Placement]] = field(default_factory=list)
    evictions: list[Eviction] = field(default_factory=list)
    #: Committed statements with evictions, by the reason of these.
    eviction_statements: Counter[str] = field(default_factory=Counter)
    #: Nominated nodes of pods that wait for evictions.
    nominations: dict[str, str] = field(default_factory=dict)
    #: Capacity reserved for a pending job, by job.
    reservations: dict[str, Reservation] = field(default_factory=dict)

    def bind(self, ledger: Ledger, entries: Sequence[LedgerEntry], contexts: Sequence[BindContext]) -> int:
        """Bind what these entries of one statement allocated, as a unit: plugins are called before anything is written,
        so that a failing plugin leaves no part of a gang behind. Return the number of placements.
        """
        names, volumes, claims = ledger.nodes.names, ledger.volumes, ledger.claims
        placements = [
            Placement(
                task.uid,
                task.namespace,
                task.name,
                task.job,
                names[row],
                _annotations(task, contexts) if contexts else _NO_ANNOTATIONS,
                volumes.order_of(task) if task.claims else None,
                claims.order_of(task) if task.resource_claims else None,
            )
            for entry in entries
            for task, row in zip(entry.tasks, entry.rows, strict=True)
        ]
        for entry in entries:
            if entry.after is not TaskStatus.BINDING:
                ledger.bind(entry.tasks)
        self.binds.append(placements)
        return len(placements)


def _annotations(task: Task, contexts: Sequence[BindContext]) -> dict[str, str]:
    annotations: dict[str, str] = {}
    for add_context in contexts:
        add_context(task, annotations)
    return annotations
