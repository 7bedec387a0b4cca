"""Where jobs are at the end of a cycle, for the record that their groups keep and for people.

While tasks have nodes, these nodes say where home is. When none has, the last home is kept, and the job is tried there
before anywhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.tasks.task import ALLOCATED_STATUSES, Task
from stromboli.core.model.topology.hypernodes import HyperNodeTree
from stromboli.core.model.topology.previous_domains import Wish, lost_homes, why_lost, wishes_of

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

_PLACED = frozenset(status.value for status in ALLOCATED_STATUSES)
#: So many sub-jobs are named where people are told about homes.
_MOST_NAMES = 8


def home_of(tree: HyperNodeTree, ledger: Ledger, tasks: Iterable[Task]) -> int | None:
    """The smallest domain around what tasks have already; None when they have nothing."""
    rows = {ledger.row_of(task) for task in tasks if ledger.codes[task.row] in _PLACED}
    rows.discard(-1)
    return tree.around_nodes(rows) if rows else None


def homes_now(session: Session, job: Job) -> Mapping[str, str]:
    """The homes of a job and its sub-jobs as the cycle leaves them, by their keys. The whole cluster is nobody's home.

    A sub-job without any task keeps its home, too, as long as the job has sub-jobs.
    """
    last = job.spec.homes
    if not _knows_domains(session) or not (last or job.ready_count):
        return last
    tree = session.snapshot.network_of(job)
    kept = last.items() if job.spec.policies else ()
    homes = {key: name for key, name in kept if key != job.key and name in tree.index}
    for wish in wishes_of(job):
        homes[wish.key] = _following(session, tree, wish, last.get(wish.key, ""))
    return {key: name for key, name in homes.items() if name}


def _knows_domains(session: Session) -> bool:
    return bool(session.program.flat["hyper_node_gradient_for_job"])


def _following(session: Session, tree: HyperNodeTree, wish: Wish, last: str) -> str:
    """A home does not shrink when tasks leave; it is another one when they are not inside of it."""
    is_lost = not last or bool(why_lost(tree, wish.topology, last))
    home = home_of(tree, session.ledger, wish.tasks)
    if home is None:
        return "" if is_lost else last
    if not is_lost and tree.index[last] in tree.around[home]:
        return last
    return "" if home == tree.top else tree.name(home)


def loss_told(session: Session, job: Job) -> list[str]:
    """What is to be said about homes that a job has lost."""
    if not job.spec.homes or not _knows_domains(session):
        return []
    lost = lost_homes(session.snapshot.network_of(job), job)
    return [f"domain {name!r}, where it was, {why}; that is forgotten" for name, why in sorted(lost.items())]


def homes_told(session: Session, job: Job) -> str:
    """Where those tasks of a job are that have nodes, and how far apart, in words; or that nobody cared."""
    if not _knows_domains(session):
        return f"{wish_told(job)} has no effect: no configured plugin knows domains"
    tree = session.snapshot.network_of(job)
    homes = ((wish.key, home_of(tree, session.ledger, wish.tasks)) for wish in wishes_of(job)) if tree else ()
    told = [_home_told(tree, job, key, home) for key, home in homes if home is not None]
    more = len(told) - _MOST_NAMES
    return "; ".join(told[:_MOST_NAMES]) + (f"; and {more} more" if more > 0 else "")


def wish_told(job: Job) -> str:
    """What a wish for a domain is called, after where it was made."""
    return f"Topology {job.spec.network!r}" if job.spec.network else "networkTopology"


def _home_told(tree: HyperNodeTree, job: Job, key: str, home: int) -> str:
    who = "" if key == job.key else f"sub-group {key.removeprefix(f'{job.key}/')} "
    if home == tree.top:
        return f"{who}placed across the whole cluster: no domain holds all of it"
    return f"{who}placed in {tree.name(home)} (tier {tree.tiers[home]})"
