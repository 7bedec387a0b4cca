"""What a cluster consists of: the objects it was told of, and what was decided but is not true yet.

Everything else is derived. A cluster made anew from its contents says the same as the one they were taken from.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from stromboli.cluster.objects.pod_groups.pod_groups import DEFAULT_QUEUE
from stromboli.cluster.state.cluster import SCHEDULER_NAMES, Cluster
from stromboli.core.model.devices.claims import ClaimChoice
from stromboli.core.model.jobs.eviction_history import PastEviction
from stromboli.core.model.jobs.reservation import Reservation
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
    #: The uids of pods that are left alone for a while.
    resting: Sequence[str] = ()
    #: By uid, the nodes that refused pods lately.
    avoided: Mapping[str, Collection[str]] = field(default_factory=dict)
    #: By uid, the nodes on which pods were promised a room, where that is not written on them yet.
    promised: Mapping[str, str] = field(default_factory=dict)
    #: Who had to make room for whom lately.
    eviction_history: Sequence[PastEviction] = ()
    #: By key, phases of PodGroups that were decided and not written yet.
    phases: Mapping[str, str] = field(default_factory=dict)
    #: By key, the room that was promised to jobs that wait.
    reservations: Mapping[str, Reservation] = field(default_factory=dict)
    scheduler_names: Sequence[str] = SCHEDULER_NAMES
    seed: int = 0
    #: Names of resources in the order in which they became known.
    resources: Sequence[str] = ()
    default_queue: str = DEFAULT_QUEUE
    #: By label, the values of the nodes that are ours; all nodes are when nothing is said.
    node_selector: Mapping[str, Collection[str]] = field(default_factory=dict)
    #: The shard that is served, and the nodes that are surely in it, where that is known better than by the objects.
    shard: ShardChoice | None = None
    granted: Collection[str] | None = None
    #: By node, what it was measured to use.
    usage: Mapping[str, Usage] = field(default_factory=dict)
    #: By uid, the volumes that were chosen for pods that are being bound.
    volumes: Mapping[str, tuple[VolumeChoice, ...]] = field(default_factory=dict)
    #: By uid, the devices that were chosen for their claims.
    devices: Mapping[str, tuple[ClaimChoice, ...]] = field(default_factory=dict)


def contents_of(cluster: Cluster) -> Contents:
    """Objects are replaced and never edited, so the answer stays as it is while the cluster moves on."""
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
    """A cluster of these contents. `labels` and `annotations` of pods are those that some plugin reads, and `terms` are
    counted even if nobody asks about them any more.
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
