"""The contents of a cluster: its objects, and decisions that are not visible in them yet.

Everything else is calculated. A cluster built from these contents has the same state as the original.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from stromboli.cluster.objects.pod_groups.pod_groups import DEFAULT_QUEUE
from stromboli.cluster.state.cluster import SCHEDULER_NAMES, Cluster
from stromboli.core.model.devices.claims import ClaimChoice
from stromboli.core.model.jobs.carryover import PastEviction, Reservation
from stromboli.core.model.nodes.shards import ShardChoice
from stromboli.core.model.nodes.usage import Usage
from stromboli.core.model.tasks.pod_terms import Counted
from stromboli.core.model.volumes.volumes import VolumeChoice
from stromboli.kube.objects.meta import TopLevel


@dataclass(frozen=True, slots=True)
class Contents:
    objects: Sequence[TopLevel]
    #: By uid, the nodes of pods that are being bound; and the uids of those that are being evicted.
    assumed: Mapping[str, str] = field(default_factory=dict)
    leaving: Sequence[str] = ()
    #: By uid, the processors that pods which are being bound were given.
    processors: Mapping[str, str] = field(default_factory=dict)
    #: By uid, what travels with the bindings of pods that are being bound.
    given: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    #: Uids of pods in backoff.
    resting: Sequence[str] = ()
    #: Nodes that recently refused a pod, by pod uid.
    avoided: Mapping[str, Collection[str]] = field(default_factory=dict)
    #: Nominated nodes by pod uid, where the pod's status does not have them yet.
    promised: Mapping[str, str] = field(default_factory=dict)
    #: Recent preemptions.
    eviction_history: Sequence[PastEviction] = ()
    #: Phases of PodGroups, by key, that were decided and are not written yet.
    phases: Mapping[str, str] = field(default_factory=dict)
    #: Capacity reserved for waiting jobs, by job key.
    reservations: Mapping[str, Reservation] = field(default_factory=dict)
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
    #: By uid, the volumes that were chosen for pods that are being bound.
    volumes: Mapping[str, tuple[VolumeChoice, ...]] = field(default_factory=dict)
    #: By uid, the devices that were chosen for their claims.
    devices: Mapping[str, tuple[ClaimChoice, ...]] = field(default_factory=dict)


def contents_of(cluster: Cluster) -> Contents:
    """Objects are replaced and never edited, so the result does not change while the cluster is updated."""
    phases = {key: cluster.phase(key) for key in cluster.groups}
    return Contents(
        objects=cluster.objects(),
        assumed=dict(cluster.assumed),
        leaving=sorted(cluster.leaving),
        processors=dict(cluster.decisions.processors),
        given=dict(cluster.decisions.given),
        resting=sorted(cluster.decisions.resting),
        avoided={uid: sorted(nodes) for uid, nodes in cluster.decisions.avoided.items()},
        promised=dict(cluster.decisions.promised),
        eviction_history=cluster.eviction_history.all(),
        phases={key: phase for key, phase in phases.items() if phase != cluster.groups[key].status.phase},
        reservations=cluster.decisions.reservations,
        scheduler_names=sorted(cluster.scheduler_names),
        seed=cluster.seed,
        resources=list(cluster.axis.names),
        default_queue=cluster.default_queue,
        node_selector={label: sorted(values) for label, values in cluster.node_selector.items()},
        shard=cluster.shards.choice,
        granted=None if cluster.shards.granted is None else sorted(cluster.shards.granted),
        usage=dict(cluster.usage.figures),
        volumes=cluster.volumes.choices,
        devices=cluster.claims.choices,
    )


def cluster_with(
    contents: Contents,
    labels: Sequence[str] = (),
    annotations: Sequence[str] = (),
    terms: Sequence[Counted] = (),
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
        cluster.reading.terms.number(term)
    for entry in contents.objects:
        cluster.apply(entry)
    for uid, node in contents.assumed.items():
        volumes, devices = contents.volumes.get(uid, ()), contents.devices.get(uid, ())
        cluster.assume(uid, node, contents.processors.get(uid, ""), contents.given.get(uid), volumes, devices)
    for uid in contents.leaving:
        cluster.assume_evicted(uid)
    for uid in contents.resting:
        cluster.start_backoff(uid)
    for uid, nodes in contents.avoided.items():
        cluster.avoid(uid, *nodes)
    cluster.promise(contents.promised)
    cluster.eviction_history.note(contents.eviction_history)
    for key, phase in contents.phases.items():
        cluster.set_phase(key, phase, hold=True)
    cluster.usage.report(contents.usage)
    cluster.reserve(contents.reservations)
    return cluster
