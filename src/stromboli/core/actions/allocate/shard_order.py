"""The order of domains in a sharded cluster: domains of the own shard come first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from stromboli.core.config.plugin import Domain
from stromboli.core.model.tasks.task import Task
from stromboli.core.session.session import Session
from stromboli.core.session.waiting_reasons import counted
from stromboli.core.topology.domain_group import marked_in
from stromboli.core.topology.domain_search_records import DomainSearchRecord


def own_shard_first(
    session: Session, groups: Iterable[Sequence[Domain]], tasks: Sequence[Task], account: DomainSearchRecord
) -> Iterator[Sequence[Domain]]:
    """Where nodes of other shards come last, domains that need them come after those of their tier that do not. So does
    the previous domain of the job, unless the job has nominated capacity there.
    """
    if session.nodes.last is None or any(task.nominated_node for task in tasks):
        yield from groups
        return
    was_there: Sequence[Domain] = ()
    for group in groups:
        ours, others = _split_by_shard(session, group, tasks, account.needed)
        account.deprioritized.update(domain.name for domain in others)
        if group[0].kept and not ours:
            was_there = others
        else:
            yield from filter(None, (ours, was_there, others))
            was_there = ()
    if was_there:
        yield was_there


def _split_by_shard(
    session: Session, group: Sequence[Domain], tasks: Sequence[Task], needed: int
) -> tuple[Sequence[Domain], Sequence[Domain]]:
    """The domains of a group in which the nodes of this shard have enough capacity now, and the others."""
    tree = group[0].tree
    if tree is None:
        return group, ()
    enough = session.domain_capacity.tasks_that_fit_in_shard(tree, tasks) >= needed
    return marked_in(group, enough), marked_in(group, ~enough)


def nodes_outside_shard(session: Session) -> str:
    """A message with the number of nodes that no domain counts because they are outside the shard."""
    excluded_nodes = session.nodes.excluded_nodes
    if excluded_nodes is None:
        return ""
    return f"; not counting {counted(int(excluded_nodes.sum()), 'node')} outside of this scheduler's shard"
