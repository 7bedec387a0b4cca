"""relieve: evict this scheduler's last pods from over-committed nodes.

Two schedulers that bind to one node at the same time may use the same capacity. Usually the kubelet rejects the pod
that comes last; where it did not after a while, this scheduler gives way with its pods that came last. Pods of others
are never evicted.
"""

from __future__ import annotations

from functools import partial

from stromboli.core.config.action import Action
from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.config.plugin import EvictionContext
from stromboli.core.model.ledger.overcommitted import overcommitted
from stromboli.core.model.resources.resources import short_name
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.values.times import duration_or_nothing
from stromboli.core.preemption import ON_NODE
from stromboli.core.search.fixed_filters import is_in_excluded_shard
from stromboli.core.session.session import Session

_NOTE = "node {node} is over-committed: its pods request more {lacks} than it offers"


class RelieveArguments(Arguments):
    grace_period: float = Argument(
        "gracePeriod", "60s", "How long a node may be over-committed.", parse=duration_or_nothing
    )


class Relieve(Action):
    name = "relieve"
    arguments = RelieveArguments()

    def execute(self, session: Session) -> None:
        known, now = session.snapshot.overcommitted, session.now
        for row, missing in sorted(overcommitted(session.ledger, later=True).items()):
            node = session.nodes.names[row]
            if now - known.get(node, now) < self.arguments.grace_period:
                continue
            lacks = ", ".join(short_name(session.axis.names[dimension]) for dimension in sorted(missing))
            victims = _victims(session, row, dict(missing))
            if victims is None:
                text = f"node {node} is over-committed ({lacks}), and no pods that may be evicted suffice to relieve it"
                session.warnings.append(f"{self.name}: {text}")
                continue
            with session.statement() as statement:
                for task in victims:
                    statement.evict(task, self.name)
                statement.commit()
            note = partial(_NOTE.format, node=node, lacks=lacks)
            session.eviction_notes.update({task.uid: note for task in victims})


def _victims(session: Session, row: int, missing: dict[int, int]) -> list[Task] | None:
    """The last pods that together release what is missing; None if that is impossible."""
    chosen: list[Task] = []
    for task in _own_pods(session, row):
        held = dict(task.task_class.request)
        useful = any(held.get(dimension) and amount > 0 for dimension, amount in missing.items())
        if useful and session.ledger.budgets.may_spend([each.uid for each in (*chosen, task)]):
            chosen.append(task)
            for dimension in missing:
                missing[dimension] -= held.get(dimension, 0)
    return chosen if all(amount <= 0 for amount in missing.values()) else None


def _own_pods(session: Session, row: int) -> list[Task]:
    """The pods on a node that this scheduler may evict, the last one first."""
    ledger, foreign, found = session.ledger, session.snapshot.foreign, list[Task]()
    for job in session.jobs.values():
        if job.key in foreign:
            continue
        here = [task for task in job.tasks.values() if ledger.row_of(task) == row and ledger.status_of(task) in ON_NODE]
        here = [task for task in here if not is_in_excluded_shard(session, task)]
        found += session.unguarded(EvictionContext(Relieve.name, job), here) if here else []
    return sorted(found, key=lambda task: (-task.placed_at, -task.created, task.key))
