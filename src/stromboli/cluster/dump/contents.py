"""The contents of a cluster: its objects, and decisions that are not visible in them yet.

Everything else is calculated. A cluster built from these contents has the same state as the original.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from stromboli.cluster.state.cluster import SCHEDULER_NAMES, Cluster
from stromboli.core.model.jobs.carryover import PastEviction, Reservation
from stromboli.core.model.nodes.shards import ShardChoice
from stromboli.core.model.nodes.usage import Usage
from stromboli.core.model.tasks.placement import Placement
from stromboli.core.model.tasks.pod_terms import Counted
from stromboli.kube.objects.meta import TopLevel
from stromboli.workloads.queues import DEFAULT_QUEUE


@dataclass(frozen=True, slots=True)
class Contents:
    objects: Sequence[TopLevel]
    #: Assumed placements of pods that are being bound; and the uids of pods that are being evicted.
    placements: Sequence[Placement] = ()
    leaving: Sequence[str] = ()
    #: Uids of pods in backoff.
    backing_off: Sequence[str] = ()
    #: Nodes that recently refused a pod, by pod uid.
    avoided: Mapping[str, Collection[str]] = field(default_factory=dict)
    #: Nominated nodes by pod uid, where the pod's status does not have them yet.
    nominated: Mapping[str, str] = field(default_factory=dict)
    #: Recent preemptions.
    eviction_history: Sequence[PastEviction] = ()
    #: Phases of PodGroups, by key, that were decided and are not written yet.
    phases: Mapping[str, str] = field(default_factory=dict)
    #: Capacity reserved for waiting jobs, by job key.
    reservations: Mapping[str, Reservation] = field(default_factory=dict)
    #: Why jobs are set aside, by key.
    set_aside: Mapping[str, str] = field(default_factory=dict)
    #: Since when nodes have been over-committed.
    overcommitted: Mapping[str, float] = field(default_factory=dict)
    scheduler_names: Sequence[str] = SCHEDULER_NAMES
    seed: int = 0
    #: Resource names in the order of the axis.
    resources: Sequence[str] = ()
    default_queue: str = DEFAULT_QUEUE
    #: Allowed values by label of the nodes that are scheduled on; empty for all nodes.
    node_selector: Mapping[str, Collection[str]] = field(default_factory=dict)
    #: The shard of this scheduler, and its nodes, where these are known for certain.
    shard: ShardChoice | None = None
    granted: Collection[str] | None = None
    #: Measured usage by node.
    usage: Mapping[str, Usage] = field(default_factory=dict)


def contents_of(cluster: Cluster) -> Contents:
    """Objects are replaced and never edited, so the result does not change while the cluster is updated."""
    groups, assumptions = cluster.groups, cluster.assumptions
    return Contents(
        objects=cluster.objects(),
        placements=list(assumptions.placements.values()),
        leaving=sorted(assumptions.leaving),
        backing_off=sorted(assumptions.backing_off),
        avoided={uid: sorted(nodes) for uid, nodes in assumptions.avoided.items()},
        nominated=dict(assumptions.nominated),
        eviction_history=assumptions.evictions,
        phases={key: phase for key in groups if (phase := groups.phase(key)) != groups[key].status.phase},
        reservations=assumptions.reservations,
        set_aside=dict(assumptions.set_aside),
        overcommitted=assumptions.overcommitted,
        scheduler_names=sorted(cluster.pods.scheduler_names),
        seed=cluster.seed,
        resources=list(cluster.axis.names),
        default_queue=cluster.default_queue,
        node_selector={label: sorted(values) for label, values in cluster.node_selector.items()},
        shard=cluster.shards.choice,
        granted=None if cluster.shards.granted is None else sorted(cluster.shards.granted),
        usage=dict(cluster.usage.figures),
    )


def cluster_with(
    contents: Contents, labels: Sequence[str] = (), annotations: Sequence[str] = (), terms: Sequence[Counted] = ()
) -> Cluster:
    """A cluster with these contents. `labels` and `annotations` are the keys that plugins read; `terms` are counted
    even if no pod uses them.
    """
    cluster = Cluster(
        contents.scheduler_names,
        labels,
        annotations,
        seed=contents.seed,
        default_queue=contents.default_queue,
        node_selector=contents.node_selector,
        shard=contents.shard,
    )
    if contents.granted is not None:
        cluster.shards.grant(contents.granted)
    for name in contents.resources:
        cluster.axis.dimension(name)
    for term in terms:
        cluster.decoder.terms.number(term)
    for entry in contents.objects:
        cluster.apply(entry)
    _restore_decisions(cluster, contents)
    cluster.usage.report(contents.usage)
    return cluster


def _restore_decisions(cluster: Cluster, contents: Contents) -> None:
    assumptions = cluster.assumptions
    for placement in contents.placements:
        assumptions.assume(placement)
    for uid in contents.leaving:
        assumptions.assume_evicted(uid)
    for uid in contents.backing_off:
        assumptions.start_backoff(uid)
    for uid, nodes in contents.avoided.items():
        assumptions.avoid(uid, *nodes)
    assumptions.nominate(contents.nominated)
    assumptions.note_evictions(contents.eviction_history)
    assumptions.reservations = dict(contents.reservations)
    assumptions.set_aside = dict(contents.set_aside)
    assumptions.overcommitted = dict(contents.overcommitted)
    for key, phase in contents.phases.items():
        cluster.groups.set_phase(key, phase, hold=True)
