"""Comparison of the cache with a fresh list of all objects: one by one, and by the resulting state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice

import msgspec

from stromboli.cluster.audit.differences import MAX_DIFFERENCES, differences
from stromboli.cluster.audit.summary import summary_of
from stromboli.cluster.dump.contents import cluster_with, contents_of
from stromboli.cluster.ingest.kinds import WATCHED_REQUIRED
from stromboli.cluster.snapshot import current_view
from stromboli.cluster.state.cluster import Cluster
from stromboli.kube.objects.meta import TopLevel

Identity = tuple[str, str]

#: Optional kinds may not be served, or not be readable: they are taken from the cache.
_COMPARED = tuple(resource.type for resource in WATCHED_REQUIRED)


def compare(cluster: Cluster, fresh: Iterable[TopLevel]) -> list[str]:
    """Differences between the cache and a fresh list of the objects."""
    return CacheComparison(cluster).with_objects(fresh)


class CacheComparison:
    """The state of the cache at one moment, to be compared with the objects of the cluster. The comparison may run in
    another thread, as it does not access the cache.

    Both change all the time, so an object that was written in between is reported as well: a difference that persists
    in a second comparison is an error, one that does not was a delay.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._contents = contents_of(cluster)
        self._summary = summary_of(current_view(cluster))
        classifier = cluster.decoder.classifier
        self._read = tuple(classifier.labels), tuple(classifier.annotations), tuple(cluster.decoder.terms.counted)

    def with_objects(self, fresh: Iterable[TopLevel]) -> list[str]:
        others = (entry for entry in self._contents.objects if not isinstance(entry, _COMPARED))
        twin = cluster_with(replace(self._contents, objects=[*fresh, *others]), *self._read)
        objects = _objects(_by_name(self._contents.objects), _by_name(twin.objects()))
        state = (
            f"accounting: {difference}" for difference in differences(summary_of(current_view(twin)), self._summary)
        )
        return list(islice(chain(objects, state), MAX_DIFFERENCES))


def _by_name(entries: Iterable[TopLevel]) -> dict[Identity, TopLevel]:
    return {(type(entry).kind_name, entry.key): entry for entry in entries if isinstance(entry, _COMPARED)}


def _objects(known: dict[Identity, TopLevel], found: dict[Identity, TopLevel]) -> Iterator[str]:
    for identity in sorted({*known, *found}):
        name = " ".join(identity)
        one, other = known.get(identity), found.get(identity)
        if one is None:
            yield f"{name}: exists in the cluster and not in the cache"
        elif other is None:
            yield f"{name}: exists in the cache and not in the cluster"
        elif one.metadata.uid != other.metadata.uid:
            yield f"{name}: the cache has uid {one.metadata.uid}, the cluster has uid {other.metadata.uid}"
        elif one.metadata.resource_version != other.metadata.resource_version:
            versions = one.metadata.resource_version, other.metadata.resource_version
            yield f"{name}: the cache has version {versions[0]}, the cluster {versions[1]}"
        elif one != msgspec.structs.replace(other, api_version=one.api_version, kind=one.kind):  # a list has neither
            yield f"{name}: both have version {one.metadata.resource_version} and differ in content"
