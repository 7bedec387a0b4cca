"""Nodes as rows: what is free and used, and what keeps pods away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from stromboli.core.model.nodes.shards import ShardMembership
from stromboli.core.model.nodes.table import Index, Node
from stromboli.core.model.nodes.taints import REPELLING_EFFECTS
from stromboli.core.model.resources.resources import PODS
from stromboli.core.session.session import Session

#: Classes of waiting pods that are examined on every node.
_MAX_CLASSES = 100
#: Taints of the node controller, which repeat the conditions of a node.
_OF_CONDITIONS = "node.kubernetes.io/"


@dataclass(frozen=True, slots=True)
class NodeAmount:
    """The amounts of one resource of a node, short and exact."""

    resource: str
    free: str
    used: str
    allocatable: str
    #: The used part.
    part: float


@dataclass(slots=True)
class NodeListEntry:
    name: str
    status: str
    amounts: Sequence[NodeAmount]
    pods: int
    labels: Mapping[str, str]
    #: What keeps pods away, whatever they request.
    obstacles: Sequence[str] = ()
    #: Why waiting pods are not placed on it: the reason, and the jobs.
    refusals: dict[str, list[str]] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        """Return what keeps the node unused, in one line; empty if nothing does."""
        if self.obstacles:
            return "; ".join(self.obstacles)
        if not self.refusals:
            return ""
        reason, jobs = min(self.refusals.items(), key=lambda entry: (-len(entry[1]), entry[0]))
        return f"{reason} (for {_named(jobs)})"

    def as_plain(self) -> dict[str, Any]:
        """Return the entry for JSON and YAML."""
        return {
            "node": self.name,
            "status": self.status,
            "resources": {
                each.resource: {"free": each.free, "used": each.used, "allocatable": each.allocatable}
                for each in self.amounts
            },
            "pods": self.pods,
            "labels": dict(self.labels),
            "obstacles": list(self.obstacles),
            "refusals": [{"reason": reason, "jobs": jobs} for reason, jobs in self.refusals.items()],
        }


def _named(jobs: Sequence[str]) -> str:
    return jobs[0] if len(jobs) == 1 else f"{len(jobs)} jobs"


def listed_nodes(session: Session) -> list[NodeListEntry]:
    """Return the nodes of an open session, in the order of their names."""
    rows, offered = session.ledger.all_rows, _offered(session)
    entries = [
        NodeListEntry(
            name=node.name,
            status=status_of_node(node),
            amounts=[_amount(session, row, dimension) for dimension in offered],
            pods=int(rows.used(PODS)[row]),
            labels=node.labels,
            obstacles=tuple(obstacles_of(node)),
        )
        for row, node in enumerate(session.nodes.nodes)
    ]
    for job, reason, index in _refusals(session):
        for row in index.tolist():
            entries[row].refusals.setdefault(reason, []).append(job)
    return sorted(entries, key=lambda entry: entry.name)


def _offered(session: Session) -> list[int]:
    """Return the resources of which some node has anything; pods are counted apart."""
    rows = session.ledger.all_rows
    return [d for d in range(len(session.axis)) if d != PODS and rows.allocatable(d).any()]


def _amount(session: Session, row: int, dimension: int) -> NodeAmount:
    axis, rows = session.axis, session.ledger.all_rows
    free, used, whole = (int(facts(dimension)[row]) for facts in (rows.idle, rows.used, rows.allocatable))
    short = partial(axis.short_amount, dimension)
    return NodeAmount(
        axis.names[dimension], short(max(free, 0)), short(used), short(whole), used / whole if whole else 0.0
    )


def status_of_node(node: Node) -> str:
    """Return whether a node is ready and schedulable, as kubectl prints it."""
    status = "Ready" if node.ready else "NotReady"
    return f"{status},SchedulingDisabled" if node.unschedulable else status


def obstacles_of(node: Node) -> Iterator[str]:
    """Yield what keeps pods away whatever they request: taints do so unless they are tolerated."""
    if not node.ready:
        yield "not ready"
    if node.unschedulable:
        yield "cordoned"
    if node.belonging is ShardMembership.EXCLUDED:
        yield "in the shard of another scheduler"
    for taint in node.taints:
        if taint.effect in REPELLING_EFFECTS and not taint.key.startswith(_OF_CONDITIONS):
            yield f"taint {taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}"


def refusals_on(session: Session, row: int) -> dict[str, list[str]]:
    """Return why waiting pods are not placed on one node: the jobs by reason."""
    found: dict[str, list[str]] = {}
    for job, reason, index in _refusals(session):
        if row in index:
            found.setdefault(reason, []).append(job)
    return found


def _refusals(session: Session) -> Iterator[tuple[str, str, Index]]:
    """Yield why nodes do not take waiting pods: the job, the reason, and the nodes. Each class is examined once."""
    examined: set[int] = set()
    for job in session.jobs.values():
        for task in job.tasks.values():
            number = task.task_class.number
            if session.ledger.is_pending(task) and number not in examined and len(examined) < _MAX_CLASSES:
                examined.add(number)
                groups = session.search.refusals(task.task_class).groups
                yield from ((job.key, reason.short, index) for reason, index in groups)
