"""Histories: sequences of events that lead to the present cluster."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

import msgspec

from stromboli import kube
from stromboli.cluster.standard_queues import standard_queues
from stromboli.cluster.state.cluster import Cluster
from stromboli.kube import KubeObject
from stromboli.kube.objects.meta import TopLevel
from tests.testing.random_clusters.worlds import SmallWorld


@dataclass(frozen=True)
class Event:
    """An event for the cache. `pauses` requests a snapshot right after it."""

    entry: KubeObject
    is_gone: bool = False
    pauses: bool = False


def cluster_of(entries: Iterable[KubeObject]) -> Cluster:
    """Return a cluster that received these objects once, in this order."""
    cluster = Cluster()
    deliver(cluster, [Event(entry) for entry in entries])
    return cluster


def deliver(cluster: Cluster, events: Iterable[Event]) -> None:
    for queue in standard_queues():
        cluster.apply(queue)
    carry_on(cluster, events)


def carry_on(cluster: Cluster, events: Iterable[Event]) -> None:
    for event in events:
        (cluster.remove if event.is_gone else cluster.apply)(event.entry)
        if event.pauses:
            cluster.snapshot()


def identity(entry: TopLevel) -> tuple[str, str]:
    return type(entry).__name__, entry.key


def history(past: SmallWorld, present: SmallWorld, random: Random) -> list[Event]:
    """Return events in random order, with repetitions and detours, that lead to the present cluster."""

    def event(entry: KubeObject, *, is_gone: bool = False) -> Event:
        return Event(entry, is_gone, random.random() < 0.1)

    here = {identity(entry) for entry in present.objects}
    detours = [event(entry, is_gone=random.random() < 0.3) for entry in past.objects]
    detours += [event(entry, is_gone=random.random() < 0.3) for entry in present.objects if random.random() < 0.5]
    last = [event(entry) for entry in present.objects for _ in range(random.choice((1, 1, 2)))]
    last += [event(entry, is_gone=True) for entry in past.objects if identity(entry) not in here]
    random.shuffle(detours)
    random.shuffle(last)
    return detours + last


def started(pod: kube.Pod, node: str) -> kube.Pod:
    """Return the pod as it is once it runs on a node."""
    spec = msgspec.structs.replace(pod.spec, node_name=node)
    return msgspec.structs.replace(pod, spec=spec, status=kube.PodStatus(phase="Running"))
