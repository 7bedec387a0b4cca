"""Snapshots of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stromboli.core.model.snapshot import Snapshot
from stromboli.core.model.volumes.allocator import VolumeState

if TYPE_CHECKING:
    from stromboli.cluster.state.cluster import Cluster


def take_snapshot(cluster: Cluster, now: float) -> Snapshot:
    """Everything that a cycle reads, isolated from later changes. Resets the set of changed jobs."""
    state, accounting = cluster.cluster_state(), cluster.accounting
    processors = cluster.cpu_allocations()
    state.shared()
    status, node_of = state.columns.copies()
    hyper_nodes, topologies = cluster.hyper_nodes.tree(state.table), cluster.topologies.trees(state.table)
    jobs, foreign = dict(state.jobs), cluster.pods.foreign_jobs
    waiting = tuple(sorted(state.waiting - foreign))
    accounting.touched.update(cluster.previous_domains.outdated(jobs, hyper_nodes, topologies))
    touched = tuple(sorted(key for key in accounting.touched - state.waiting - foreign if key in jobs))
    accounting.touched = set()
    for key in waiting:
        jobs[key] = jobs[key].copy()
    return Snapshot(
        axis=cluster.axis,
        nodes=state.table,
        layout=state.layout,
        amounts=state.amounts.copy(),
        terms=cluster.decoder.terms,
        tallies=dict(state.tallies),
        status=status,
        node_of=node_of,
        jobs=jobs,
        waiting=waiting,
        touched=touched,
        foreign=foreign,
        queues=state.queues,
        queue_usage=state.sums.copies(),
        unqueued=state.sums.unqueued[:],
        held_by_users=dict(state.sums.held),
        quotas=cluster.quotas.by_namespace,
        now=now,
        warnings=cluster.warnings(),
        device_claims=accounting.devices.claims(),
        config_maps=cluster.config_maps.data,
        volumes=VolumeState(cluster.volumes.table(), state.volume_use.copy(), state.later_volume_use.copy()),
        claims=cluster.claims.state(),
        usage=cluster.usage.table(state.table, state.amounts[state.layout.allocatable :]),
        past_usage=cluster.past_usage,
        eviction_history=cluster.assumptions.recent_evictions(now),
        hyper_nodes=hyper_nodes,
        topologies=topologies,
        budgets=cluster.budgets.budgets(cluster.pods.records, cluster.assumptions.leaving),
        processors=processors,
        reservations=cluster.assumptions.reservations,
        set_aside=dict(cluster.assumptions.set_aside),
        overcommitted=cluster.assumptions.overcommitted,
    )


def current_view(cluster: Cluster) -> Snapshot:
    """The current state as a snapshot. Unlike a snapshot for a cycle it is not isolated, and the set of changed jobs is
    not reset.
    """
    state = cluster.cluster_state()
    status, node_of = state.columns.copies()
    return Snapshot(
        axis=cluster.axis,
        nodes=state.table,
        layout=state.layout,
        amounts=state.amounts,
        terms=cluster.decoder.terms,
        tallies=state.tallies,
        status=status,
        node_of=node_of,
        jobs=state.jobs,
        waiting=tuple(sorted(state.waiting)),
        touched=(),
        queues=state.queues,
        queue_usage=state.sums.copies(),
        unqueued=state.sums.unqueued[:],
        held_by_users=dict(state.sums.held),
        device_claims=cluster.accounting.devices.claims(),
        warnings=cluster.object_warnings(),
        processors=cluster.cpu_allocations(),
        volumes=VolumeState(cluster.volumes.table(), state.volume_use, state.later_volume_use),
        claims=cluster.claims.state(),
        past_usage=cluster.past_usage,
    )
