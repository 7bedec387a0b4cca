"""The table of kinds: one row per kind of object that the cache holds.

A row names the resource, the part of the cluster that handles it, the fields that decisions read, and how it is
watched. Watches, dispatch, relevance, dumps and the roles of the scheduler are derived from this table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol

from stromboli.cluster.objects import (
    bind_requests,
    disruption_budgets,
    node_metrics,
    node_shards,
    nodes,
    priority_classes,
    queues,
    resource_quotas,
)
from stromboli.cluster.objects.claims import resource_claims
from stromboli.cluster.objects.pod_groups import pod_groups
from stromboli.cluster.objects.pods import pods
from stromboli.cluster.objects.storage import volumes
from stromboli.kube.objects import catalogue
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.resources import Resource

if TYPE_CHECKING:
    from stromboli.cluster.state.cluster import Cluster


@dataclass(frozen=True, slots=True)
class Handler:
    """The part of a cluster that objects of a kind are passed to."""

    apply: Callable[[Any], object]
    remove: Callable[[Any], object]
    #: All objects of the kind, as received.
    objects: Callable[[], Iterable[TopLevel]]


class Watch(Enum):
    """The settings with which a scheduler watches a kind."""

    #: No decision is made before all objects are known.
    REQUIRED = "required"
    #: The API server may not serve the kind; decisions then assume that there are none.
    OPTIONAL = "optional"
    #: Watched by name, by another component, or polled.
    SEPARATE = "separate"


@dataclass(frozen=True, slots=True)
class Kind:
    resource: Resource[Any]
    handler: Callable[[Cluster], Handler]
    #: The fields that decisions read: a change of any other field starts no cycle.
    reads: Callable[[Any], object]
    watch: Watch = Watch.OPTIONAL


class _Store(Protocol):
    def apply(self, entry: Any, /) -> object: ...

    def remove(self, entry: Any, /) -> object: ...

    def objects(self) -> Iterable[TopLevel]: ...


def _store(store: _Store) -> Handler:
    """The handler of a kind with a part of its own."""
    return Handler(store.apply, store.remove, store.objects)


def _put(put: Callable[..., None], objects: Callable[[], Iterable[TopLevel]]) -> Handler:
    """The handler of a kind that shares a part with others."""
    return Handler(partial(put, present=True), partial(put, present=False), objects)


_spec = attrgetter("spec")

#: `c` is the cluster.
KINDS = (
    Kind(
        catalogue.PODS,
        lambda c: Handler(c.pod_events.apply, c.pod_events.remove, c.pods.all),
        pods.relevant_fields,
        Watch.REQUIRED,
    ),
    Kind(catalogue.NODES, lambda c: _store(c.nodes), nodes.relevant_fields, Watch.REQUIRED),
    Kind(catalogue.NAMESPACES, lambda c: _store(c.namespaces), attrgetter("metadata.labels"), Watch.REQUIRED),
    Kind(
        catalogue.PRIORITY_CLASSES,
        lambda c: _store(c.priority_classes),
        priority_classes.relevant_fields,
        Watch.REQUIRED,
    ),
    Kind(catalogue.POD_GROUPS, lambda c: _store(c.groups), pod_groups.relevant_fields, Watch.REQUIRED),
    Kind(catalogue.QUEUES, lambda c: _store(c.queues), queues.relevant_fields, Watch.REQUIRED),
    Kind(catalogue.DISRUPTION_BUDGETS, lambda c: _store(c.budgets), disruption_budgets.relevant_fields, Watch.REQUIRED),
    Kind(catalogue.RESOURCE_QUOTAS, lambda c: _store(c.quotas), resource_quotas.relevant_fields),
    Kind(
        catalogue.BIND_REQUESTS,
        lambda c: Handler(c.pod_events.apply_request, c.pod_events.remove_request, c.requests.objects),
        bind_requests.relevant_fields,
    ),
    Kind(catalogue.HYPER_NODES, lambda c: _store(c.hyper_nodes), _spec),
    Kind(catalogue.TOPOLOGIES, lambda c: _store(c.topologies), _spec),
    Kind(
        catalogue.NUMA_TOPOLOGIES,
        lambda c: Handler(c.apply_numa_topology, c.remove_numa_topology, c.numa.objects),
        _spec,
    ),
    Kind(catalogue.CLAIMS, lambda c: _put(c.volumes.put_claim, c.volumes.storage.claims.values), volumes.claim_fields),
    Kind(
        catalogue.VOLUMES, lambda c: _put(c.volumes.put_volume, c.volumes.storage.volumes.values), volumes.volume_fields
    ),
    Kind(
        catalogue.STORAGE_CLASSES,
        lambda c: _put(c.volumes.put_class, c.volumes.storage.classes.values),
        volumes.class_fields,
    ),
    Kind(catalogue.CSI_NODES, lambda c: _put(c.volumes.put_csi_node, c.volumes.csi_nodes.values), _spec),
    Kind(catalogue.CSI_DRIVERS, lambda c: _put(c.volumes.put_driver, c.volumes.storage.drivers.values), _spec),
    Kind(
        catalogue.CSI_CAPACITIES,
        lambda c: _put(c.volumes.put_capacity, c.volumes.capacities.objects.values),
        volumes.capacity_fields,
    ),
    Kind(
        catalogue.RESOURCE_CLAIMS,
        lambda c: _put(c.claims.put_claim, c.claims.known.claims.values),
        resource_claims.relevant_fields,
    ),
    Kind(catalogue.RESOURCE_SLICES, lambda c: _put(c.claims.put_slice, c.claims.pools.objects), _spec),
    Kind(catalogue.DEVICE_CLASSES, lambda c: _put(c.claims.put_class, c.claims.known.classes.values), _spec),
    Kind(
        catalogue.NATIVE_POD_GROUPS,
        lambda c: Handler(c.groups.apply_native, c.groups.remove_native, c.groups.native_objects),
        pod_groups.native_relevant_fields,
    ),
    Kind(catalogue.NODE_SHARDS, lambda c: _store(c.shards), node_shards.relevant_fields, Watch.SEPARATE),
    Kind(catalogue.CONFIG_MAPS, lambda c: _store(c.config_maps), attrgetter("data"), Watch.SEPARATE),
    Kind(
        catalogue.NODE_METRICS,
        lambda c: Handler(c.usage.apply, c.usage.remove, tuple),
        node_metrics.relevant_fields,
        Watch.SEPARATE,
    ),
)

#: Kinds by the type of their objects.
BY_TYPE: dict[type[TopLevel], Kind] = {kind.resource.type: kind for kind in KINDS}


def _watched(watch: Watch) -> tuple[Resource[Any], ...]:
    """The resources to watch; a kind that may be served in an earlier version as well is watched in both."""
    resources = [kind.resource for kind in KINDS if kind.watch is watch]
    earlier = [each for each in (catalogue.EARLY_NATIVE_POD_GROUPS,) if any(each.type is one.type for one in resources)]
    return (*resources, *earlier)


WATCHED_REQUIRED = _watched(Watch.REQUIRED)
WATCHED_OPTIONAL = _watched(Watch.OPTIONAL)


def is_relevant(entry: TopLevel, before: TopLevel | None) -> bool:
    """Report whether a change of an object may change decisions; a removed object is passed as its own `before`."""
    if before is None or entry is before or entry.metadata.uid != before.metadata.uid:
        return True
    reads = BY_TYPE[type(entry)].reads
    return reads(before) != reads(entry)
