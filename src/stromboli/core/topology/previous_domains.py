"""The domains of jobs at the end of a cycle, for PodGroup records and messages.

While tasks have nodes, their nodes define the domain. Without nodes, the previous domain is kept, and the job is tried
there first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.tasks.task import ALLOCATED_STATUSES, Task
from stromboli.core.model.topology.hypernodes import HyperNodeTree
from stromboli.core.model.topology.previous_domains import (
    TopologyConstraint,
    lost_domains,
    topology_constraints,
    why_lost,
)

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

_PLACED = frozenset(status.value for status in ALLOCATED_STATUSES)
#: Maximum number of sub-jobs named in a message.
_MAX_NAMES = 8


def enclosing_domain(tree: HyperNodeTree, ledger: Ledger, tasks: Iterable[Task]) -> int | None:
    """Return the smallest domain that encloses the placed tasks; None without placed tasks."""
    rows = {ledger.row_of(task) for task in tasks if ledger.codes[task.row] in _PLACED}
    rows.discard(-1)
    return tree.around_nodes(rows) if rows else None


def current_domains(session: Session, job: Job) -> Mapping[str, str]:
    """Return the domains of a job and its sub-jobs at the end of the cycle, by key. The whole cluster is not recorded.

    A sub-job without tasks keeps its domain as long as the job has sub-jobs.
    """
    last = job.spec.previous_domains
    if not _supports_domains(session) or not (last or job.ready_count):
        return last
    tree = session.snapshot.network_of(job)
    kept = last.items() if job.spec.policies else ()
    domains = {key: name for key, name in kept if key != job.key and name in tree.index}
    for constraint in topology_constraints(job):
        domains[constraint.key] = _next_domain(session, tree, constraint, last.get(constraint.key, ""))
    return {key: name for key, name in domains.items() if name}


def _supports_domains(session: Session) -> bool:
    return bool(session.program.flat["hyper_node_gradient_for_job"])


def _next_domain(session: Session, tree: HyperNodeTree, constraint: TopologyConstraint, last: str) -> str:
    """A domain does not shrink when tasks leave; it changes when tasks are outside it."""
    is_lost = not last or bool(why_lost(tree, constraint.topology, last))
    domain = enclosing_domain(tree, session.ledger, constraint.tasks)
    if domain is None:
        return "" if is_lost else last
    if not is_lost and tree.index[last] in tree.around[domain]:
        return last
    return "" if domain == tree.top else tree.name(domain)


def previous_domain_warnings(session: Session, job: Job) -> list[str]:
    """Return warnings about previous domains that are no longer valid."""
    if not job.spec.previous_domains or not _supports_domains(session):
        return []
    lost = lost_domains(session.snapshot.network_of(job), job)
    return [f"previous domain {name!r} {why}; it is dropped" for name, why in sorted(lost.items())]


def describe_placement(session: Session, job: Job) -> str:
    """Describe the domains of a job's placed tasks, or that the constraint has no effect."""
    if not _supports_domains(session):
        return f"{topology_label(job)} has no effect: no configured plugin supports network domains"
    tree = session.snapshot.network_of(job)
    domains = (
        (
            (constraint.key, enclosing_domain(tree, session.ledger, constraint.tasks))
            for constraint in topology_constraints(job)
        )
        if tree
        else ()
    )
    descriptions = [_describe_domain(tree, job, key, domain) for key, domain in domains if domain is not None]
    more = len(descriptions) - _MAX_NAMES
    return "; ".join(descriptions[:_MAX_NAMES]) + (f"; and {more} more" if more > 0 else "")


def topology_label(job: Job) -> str:
    """Return the name of a topology constraint, after its source."""
    return f"Topology {job.spec.network!r}" if job.spec.network else "networkTopology"


def _describe_domain(tree: HyperNodeTree, job: Job, key: str, domain: int) -> str:
    subject = "" if key == job.key else f"sub-group {key.removeprefix(f'{job.key}/')} "
    if domain == tree.top:
        return f"{subject}placed across the whole cluster: no domain fits all of it"
    return f"{subject}placed in {tree.name(domain)} (tier {tree.tiers[domain]})"
