"""What a cluster consists of: the objects it was told of, and what was decided but is not true yet.

Everything else is derived. A cluster made anew from its contents says the same as the one they were taken from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stromboli.cache.cluster import SCHEDULER_NAMES, Cluster
from stromboli.kube.meta import TopLevel


@dataclass(frozen=True, slots=True)
class Contents:
    objects: Sequence[TopLevel]
    #: By uid, the nodes of pods that are being bound; and the uids of those that are being evicted.
    assumed: Mapping[str, str] = field(default_factory=dict)
    leaving: Sequence[str] = ()
    #: By key, phases of PodGroups that were decided and not written yet.
    phases: Mapping[str, str] = field(default_factory=dict)
    scheduler_names: Sequence[str] = SCHEDULER_NAMES
    seed: int = 0
    #: Names of resources in the order in which they became known.
    resources: Sequence[str] = ()


def contents_of(cluster: Cluster) -> Contents:
    """Objects are replaced and never edited, so the answer stays as it is while the cluster moves on."""
    phases = {key: cluster.phase(key) for key in cluster.groups}
    return Contents(
        objects=cluster.objects(),
        assumed=dict(cluster.assumed),
        leaving=sorted(cluster.leaving),
        phases={key: phase for key, phase in phases.items() if phase != cluster.groups[key].status.phase},
        scheduler_names=sorted(cluster.scheduler_names),
        seed=cluster.seed,
        resources=tuple(cluster.axis.names),
    )


def cluster_with(contents: Contents, labels: Sequence[str] = (), annotations: Sequence[str] = ()) -> Cluster:
    """A cluster of these contents. `labels` and `annotations` of pods are those that some plugin reads."""
    cluster = Cluster(contents.scheduler_names, labels, annotations, seed=contents.seed)
    for name in contents.resources:
        cluster.axis.dimension(name)
    for entry in contents.objects:
        cluster.apply(entry)
    for uid, node in contents.assumed.items():
        cluster.assume(uid, node)
    for uid in contents.leaving:
        cluster.expect_leaving(uid)
    for key, phase in contents.phases.items():
        cluster.set_phase(key, phase, hold=True)
    return cluster
