"""What each process calls on the API server, and why: the tables that its roles are made of.

A right is granted because there is a call that needs it, and for no other reason. The names of kinds come from the
catalogue that the calls are made with, so that a kind that is watched is a kind that may be watched.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from stromboli.kube.objects.catalogue import (
    BIND_REQUESTS,
    CLAIMS,
    EVENTS,
    HYPER_NODES,
    JOBS,
    LEASES,
    NAMESPACES,
    NATIVE_POD_GROUPS,
    NODE_METRICS,
    NODES,
    POD_GROUPS,
    PODS,
    PRIORITY_CLASSES,
    QUEUES,
    REPLICA_SETS,
    RESOURCE_CLAIMS,
    STATEFUL_SETS,
    VOLUMES,
    WATCHED_OPTIONAL,
    WATCHED_REQUIRED,
)
from stromboli.kube.objects.resources import Resource

FOLLOWED = ("list", "watch")


@dataclass(frozen=True, slots=True)
class Right:
    """Verbs on one resource, or on a part of it such as `pods/status`. With names, only on objects of these names."""

    group: str
    resource: str
    verbs: tuple[str, ...]
    why: str
    names: tuple[str, ...] = ()


def _followed(resources: Iterable[Resource[Any]], why: str) -> tuple[Right, ...]:
    """A resource in several versions is one right."""
    return tuple(dict.fromkeys(Right(each.group, each.plural, FOLLOWED, why) for each in resources))


_ALWAYS = "what every decision rests upon"
_WHERE_SERVED = "where the cluster has it: quotas, volumes, devices, the shape of the network, native groups"
_OWNERS = "the owner of a pod may say how large its group is"

_MEASURED = "what nodes really use, where the configuration names such a source"

_CLAIM_WRITES = (
    Right(RESOURCE_CLAIMS.group, "resourceclaims", ("get", "patch"), "claims that have devices must not just go"),
    Right(RESOURCE_CLAIMS.group, "resourceclaims/status", ("patch",), "claims say which devices they have, for whom"),
    Right(RESOURCE_CLAIMS.group, "resourceclaims/binding", ("patch",), "the same, asked for since Kubernetes 1.36"),
)

_SCHEDULER = (
    *_followed(WATCHED_REQUIRED, _ALWAYS),
    *_followed(WATCHED_OPTIONAL, _WHERE_SERVED),
    Right(PODS.group, "pods", ("get",), "a pod is read again when nobody knows what became of a write"),
    Right(PODS.group, "pods/binding", ("create",), "pods are bound to nodes"),
    Right(PODS.group, "pods/status", ("patch",), "pods that wait are told why"),
    Right(BIND_REQUESTS.group, "bindrequests", ("delete",), "bind requests that have come to an end are removed"),
    Right(
        POD_GROUPS.group, "podgroups", ("get", "patch"), "groups say how far they have come; they have no status part"
    ),
    Right(NATIVE_POD_GROUPS.group, "podgroups", ("get",), "a native group is read again when somebody else wrote it"),
    Right(NATIVE_POD_GROUPS.group, "podgroups/status", ("patch",), "native groups say whether they were scheduled"),
    Right(QUEUES.group, "queues", ("get",), "a queue is read again when somebody else wrote to it"),
    Right(QUEUES.group, "queues/status", ("patch",), "queues say what they hold"),
    Right(CLAIMS.group, CLAIMS.plural, ("get", "patch"), "claims are told for which node their volume is to be made"),
    Right(VOLUMES.group, VOLUMES.plural, ("get", "patch"), "volumes are promised to claims of pods that get a node"),
    *_CLAIM_WRITES,
    Right(EVENTS.group, "events", ("create", "patch"), "what happens to pods and groups is told, and counted"),
    Right(NODE_METRICS.group, "nodes", ("list",), _MEASURED),
    Right("custom.metrics.k8s.io", "nodes/node_cpu_usage_avg", ("get",), _MEASURED),
    Right("custom.metrics.k8s.io", "nodes/node_memory_usage_avg", ("get",), _MEASURED),
)

WRITES_REQUESTS = Right(
    BIND_REQUESTS.group,
    "bindrequests",
    ("create", "get"),
    "decisions are written down for the binder, with `--bind-mode request`",
)
#: What only those write who bind pods.
_OF_BINDERS = frozenset(
    (
        *("pods/binding", CLAIMS.plural, VOLUMES.plural),
        *("resourceclaims", "resourceclaims/status", "resourceclaims/binding"),
    )
)

EVICTS = Right(PODS.group, "pods/eviction", ("create",), "victims, and members of half-bound gangs, are evicted")
EVICTS_BY_DELETE = Right(PODS.group, "pods", ("delete",), "the same past disruption budgets, with `--evict-by-delete`")

_CONTROLLER = (
    Right(PODS.group, "pods", (*FOLLOWED, "patch"), "pods without a group are found, and told the name of theirs"),
    Right(POD_GROUPS.group, "podgroups", (*FOLLOWED, "create"), "groups for plain pods are made, and groups counted"),
    *_followed((NATIVE_POD_GROUPS,), "native groups are counted, too"),
    Right(
        QUEUES.group,
        "queues",
        (*FOLLOWED, "create", "patch"),
        "the queues that everybody expects are made; queues close with their parent",
    ),
    Right(QUEUES.group, "queues/status", ("patch",), "queues say whether they take work, and what waits in them"),
    *_followed((HYPER_NODES, NODES), "it is known which nodes are in which HyperNode"),
    Right(
        HYPER_NODES.group, "hypernodes/status", ("patch",), "HyperNodes say how many nodes they have, and what is wrong"
    ),
    Right(EVENTS.group, "events", ("create", "patch"), "what is wrong with HyperNodes is told, and counted"),
    Right(REPLICA_SETS.group, "replicasets", ("get",), _OWNERS),
    Right(STATEFUL_SETS.group, "statefulsets", ("get",), _OWNERS),
    Right(STATEFUL_SETS.group, "daemonsets", ("get",), _OWNERS),
    Right(JOBS.group, "jobs", ("get",), _OWNERS),
)

DISCOVERS = Right(
    HYPER_NODES.group,
    "hypernodes",
    ("create", "patch", "delete"),
    "HyperNodes follow the labels of nodes, with `--discover-hypernodes`",
)

_ADMISSION = (
    *_followed((QUEUES, POD_GROUPS, NATIVE_POD_GROUPS), "groups and pods are told whether their queue takes them"),
    *_followed((NAMESPACES, PRIORITY_CLASSES), "the queue of a namespace, and the default priority class, are known"),
    Right(QUEUES.group, "queues", ("get",), "a queue is read again before anything is refused because of it"),
    Right("authorization.k8s.io", "subjectaccessreviews", ("create",), "it is asked who may use a queue"),
)

_BINDER = (
    *_followed((BIND_REQUESTS, PODS, NODES), "decisions are checked again by what is there now"),
    *_followed((CLAIMS, VOLUMES), "pods are bound when their volumes are ready"),
    *_followed((RESOURCE_CLAIMS,), "pods are bound when their claims have devices"),
    Right(PODS.group, "pods", ("get",), "a pod is read again when nobody knows what became of a write"),
    Right(NODES.group, "nodes", ("get",), "a node that the watch does not show may be there all the same"),
    Right(BIND_REQUESTS.group, "bindrequests", ("get",), "a request is read again when somebody else wrote to it"),
    Right(BIND_REQUESTS.group, "bindrequests/status", ("patch",), "requests say how far they have come"),
    Right(PODS.group, "pods/binding", ("create",), "pods are bound to nodes"),
    Right(PODS.group, "pods/status", ("patch",), "pods say whether they are bound, and if not, why"),
    Right(PODS.group, "pods/eviction", ("create",), "members of gangs that cannot be completed are evicted"),
    Right(CLAIMS.group, CLAIMS.plural, ("get", "patch"), "claims are told for which node their volume is to be made"),
    Right(VOLUMES.group, VOLUMES.plural, ("get", "patch"), "volumes are promised to claims of pods that get a node"),
    *_CLAIM_WRITES,
    Right(EVENTS.group, "events", ("create", "patch"), "what becomes of binds is told on pods and groups, and counted"),
)


def scheduler_rights(*, evict_by_delete: bool = False, requests: bool = False) -> tuple[Right, ...]:
    """Of a scheduler that binds pods itself, or one that writes `requests` for a binder."""
    evicts = EVICTS_BY_DELETE if evict_by_delete else EVICTS
    if not requests:
        return (*_SCHEDULER, evicts)
    own = (right for right in _SCHEDULER if right.resource not in _OF_BINDERS or right.verbs == FOLLOWED)
    return (*own, WRITES_REQUESTS, evicts)


def controller_rights(*, discover: bool = False) -> tuple[Right, ...]:
    return (*_CONTROLLER, DISCOVERS) if discover else _CONTROLLER


def admission_rights() -> tuple[Right, ...]:
    """It answers; it writes nothing."""
    return _ADMISSION


def binder_rights() -> tuple[Right, ...]:
    """It acts, and chooses nothing."""
    return _BINDER


def lease_rights(lease: str) -> tuple[Right, ...]:
    """In the namespace of the lease. What does not exist yet has no name that a rule could hold on to."""
    return (
        Right(LEASES.group, "leases", ("create",), "the lease is made by whoever comes first"),
        Right(LEASES.group, "leases", ("get", "patch"), "the lease is taken, renewed and given back", (lease,)),
    )


_READS = ("get", "list", "watch")
_WRITES = ("create", "delete", "deletecollection", "patch", "update")

#: By user role, what it allows.
USER_RIGHTS = {
    "view": (
        Right(POD_GROUPS.group, "podgroups", _READS, "see groups and why they wait"),
        Right(QUEUES.group, "queues", _READS, "see queues and what they hold"),
        Right(BIND_REQUESTS.group, "bindrequests", _READS, "see bind requests and how far they have come"),
    ),
    "edit": (Right(POD_GROUPS.group, "podgroups", _WRITES, "make and change groups"),),
    "queues": (
        Right(QUEUES.group, "queues", _WRITES, "make and change queues"),
        Right(QUEUES.group, "queues/status", ("patch", "update"), "close and open queues"),
    ),
}
