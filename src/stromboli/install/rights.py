"""Rights of the processes, with the reason for each: the tables that the roles are built from.

A right is granted only because a call needs it. The names of kinds come from the catalogue that the calls use, so that
every watched kind may be watched.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from stromboli.cluster.ingest.kinds import WATCHED_OPTIONAL, WATCHED_REQUIRED
from stromboli.kube.fields.template_kinds import TEMPLATE_KINDS
from stromboli.kube.objects.catalogue import (
    BIND_REQUESTS,
    CLAIMS,
    CONFIG_MAPS,
    DEPLOYMENTS,
    DEVICE_CLASSES,
    EVENTS,
    LEASES,
    NAMESPACES,
    NATIVE_POD_GROUPS,
    NODE_METRICS,
    NODE_SHARDS,
    NODES,
    POD_GROUPS,
    PODS,
    PRIORITY_CLASSES,
    QUEUES,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    VOLUMES,
)
from stromboli.kube.objects.resources import Resource
from stromboli.visibility.questions import CYCLES, GROUP, RESOURCES

FOLLOWED = ("list", "watch")


@dataclass(frozen=True, slots=True)
class Right:
    """Verbs on one resource or subresource such as `pods/status`. With names, only on objects of these names."""

    group: str
    resource: str
    verbs: tuple[str, ...]
    why: str
    names: tuple[str, ...] = ()


def followed(resources: Iterable[Resource[Any]], why: str) -> tuple[Right, ...]:
    """A resource in several versions is one right."""
    return tuple(dict.fromkeys(Right(each.group, each.plural, FOLLOWED, why) for each in resources))


_ALWAYS = "input of every scheduling decision"
_WHERE_SERVED = "optional kinds: quotas, volumes, devices, network topology, native groups"
_MEASURED = "node usage, if the configuration names this source"

_CLAIM_WRITES = (
    Right(RESOURCE_CLAIMS.group, "resourceclaims", ("get", "patch"), "protect allocated claims from deletion"),
    Right(RESOURCE_CLAIMS.group, "resourceclaims", ("create", "delete"), "claims for extended resources of devices"),
    Right(RESOURCE_CLAIMS.group, "resourceclaims/status", ("patch",), "allocate devices to claims"),
    Right(RESOURCE_CLAIMS.group, "resourceclaims/binding", ("patch",), "the same, required since Kubernetes 1.36"),
)

REVIEWS = (
    Right("authentication.k8s.io", "tokenreviews", ("create",), "authenticate clients that read metrics"),
    Right("authorization.k8s.io", "subjectaccessreviews", ("create",), "authorise clients that read metrics"),
)
"""Rights of processes with metrics."""

_SCHEDULER = (
    *followed(WATCHED_REQUIRED, _ALWAYS),
    *followed(WATCHED_OPTIONAL, _WHERE_SERVED),
    Right(PODS.group, "pods", ("get",), "read a pod after a write with unknown outcome"),
    Right(PODS.group, "pods/binding", ("create",), "bind pods to nodes"),
    Right(PODS.group, "pods/status", ("patch",), "report why pods are pending"),
    Right(BIND_REQUESTS.group, "bindrequests", ("delete",), "remove finished bind requests"),
    Right(
        POD_GROUPS.group,
        "podgroups",
        ("get", "patch"),
        "report the status of PodGroups, which have no status subresource",
    ),
    Right(NATIVE_POD_GROUPS.group, "podgroups", ("get",), "read a native group after a write conflict"),
    Right(NATIVE_POD_GROUPS.group, "podgroups/status", ("patch",), "report the status of native groups"),
    Right(QUEUES.group, "queues", ("get",), "read a queue after a write conflict"),
    Right(QUEUES.group, "queues", ("create",), "create the queues `root` and `default` if they do not exist"),
    Right(QUEUES.group, "queues/status", ("patch",), "report the allocated resources of queues"),
    Right(CLAIMS.group, CLAIMS.plural, ("get", "patch"), "select the node for volumes that are provisioned"),
    Right(VOLUMES.group, VOLUMES.plural, ("get", "patch"), "reserve volumes for the claims of bound pods"),
    *_CLAIM_WRITES,
    Right(EVENTS.group, "events", ("create", "patch"), "report events of pods and groups"),
    Right(NODE_METRICS.group, "nodes", ("list",), _MEASURED),
    Right("custom.metrics.k8s.io", "nodes/node_cpu_usage_avg", ("get",), _MEASURED),
    Right("custom.metrics.k8s.io", "nodes/node_memory_usage_avg", ("get",), _MEASURED),
    *REVIEWS,
)

WRITES_REQUESTS = Right(
    BIND_REQUESTS.group,
    "bindrequests",
    ("create", "get"),
    "write bind requests for the binder, with `--bind-mode request`",
)
#: Rights of the process that binds pods.
_OF_BINDERS = frozenset(
    (
        *("pods/binding", CLAIMS.plural, VOLUMES.plural),
        *("resourceclaims", "resourceclaims/status", "resourceclaims/binding"),
    )
)

EVICTS = Right(PODS.group, "pods/eviction", ("create",), "evict victims, and members of partially bound gangs")
EVICTS_BY_DELETE = Right(
    PODS.group, "pods", ("delete",), "delete victims past disruption budgets, with `--evict-by-delete`"
)

_ADMISSION = (
    *followed((QUEUES, POD_GROUPS, NATIVE_POD_GROUPS), "validate the queue of groups and pods"),
    *followed((NAMESPACES, PRIORITY_CLASSES), "read the queue of a namespace and the default priority class"),
    Right(QUEUES.group, "queues", ("get",), "read a queue again before a request is rejected because of it"),
    Right(POD_GROUPS.group, "podgroups", ("get",), "read a group again before a pod is rejected because it is missing"),
    Right("flow.volcano.sh", "jobtemplates", ("list",), "read the queues of the jobs of a JobFlow that is reviewed"),
    Right("", "pods", ("list",), "review the priority classes of pods whose group is created again"),
    Right("authorization.k8s.io", "subjectaccessreviews", ("create",), "review access to queues"),
    *REVIEWS,
)

_BINDER = (
    *followed((BIND_REQUESTS, PODS, NODES), "verify decisions against the current state"),
    *followed((CLAIMS, VOLUMES), "bind pods after their volumes are ready"),
    *followed((RESOURCE_CLAIMS, DEVICE_CLASSES), "bind pods after their claims are allocated"),
    Right(PODS.group, "pods", ("get",), "read a pod after a write with unknown outcome"),
    Right(NODES.group, "nodes", ("get",), "read a node that the watch does not show yet"),
    Right(BIND_REQUESTS.group, "bindrequests", ("get",), "read a bind request after a write conflict"),
    Right(BIND_REQUESTS.group, "bindrequests/status", ("patch",), "report the progress of bind requests"),
    Right(PODS.group, "pods/binding", ("create",), "bind pods to nodes"),
    Right(PODS.group, "pods/status", ("patch",), "report binding failures of pods"),
    Right(PODS.group, "pods/eviction", ("create",), "evict members of gangs that cannot be completed"),
    Right(CLAIMS.group, CLAIMS.plural, ("get", "patch"), "select the node for volumes that are provisioned"),
    Right(VOLUMES.group, VOLUMES.plural, ("get", "patch"), "reserve volumes for the claims of bound pods"),
    *_CLAIM_WRITES,
    Right(EVENTS.group, "events", ("create", "patch"), "report events of pods and groups"),
    *REVIEWS,
)


def scheduler_rights(*, evict_by_delete: bool = False, requests: bool = False) -> tuple[Right, ...]:
    """Rights of a scheduler that binds pods itself, or writes `requests` for a binder."""
    evicts = EVICTS_BY_DELETE if evict_by_delete else EVICTS
    if not requests:
        return (*_SCHEDULER, evicts)
    own = (right for right in _SCHEDULER if right.resource not in _OF_BINDERS or right.verbs == FOLLOWED)
    return (*own, WRITES_REQUESTS, evicts)


def admission_rights() -> tuple[Right, ...]:
    """Rights of the webhook: read-only."""
    return _ADMISSION


def binder_rights() -> tuple[Right, ...]:
    """Rights of the binder."""
    return _BINDER


def console_rights() -> tuple[Right, ...]:
    """Rights of the web console: read-only."""
    return _CONSOLE


def lease_rights(lease: str) -> tuple[Right, ...]:
    """Rights in the namespace of the lease. A rule for creation cannot be restricted to a name."""
    return (
        Right(LEASES.group, "leases", ("create",), "create the lease"),
        Right(LEASES.group, "leases", ("get", "patch"), "acquire, renew and release the lease", (lease,)),
    )


_READS = ("get", "list", "watch")
_WRITES = ("create", "delete", "deletecollection", "patch", "update")

#: The objects of the scheduler that name its policy and options.
_DEPLOYMENT, _CONFIG_MAP = "stromboli-scheduler", "stromboli-scheduler-configmap"

POLICY_RIGHTS = (
    Right(DEPLOYMENTS.group, DEPLOYMENTS.plural, ("get",), "read the options of the scheduler", (_DEPLOYMENT,)),
    Right(CONFIG_MAPS.group, CONFIG_MAPS.plural, ("get",), "read the policy of the scheduler", (_CONFIG_MAP,)),
)
"""Rights in the namespace of the scheduler."""

_CONSOLE = (
    *followed(WATCHED_REQUIRED, "show the state of the cluster"),
    *followed(WATCHED_OPTIONAL, _WHERE_SERVED),
    Right("authentication.k8s.io", "tokenreviews", ("create",), "authenticate people"),
    Right("authorization.k8s.io", "subjectaccessreviews", ("create",), "authorise every answer"),
    Right(GROUP, CYCLES.name, CYCLES.verbs, "ask the scheduler what its cycles decided"),
)

_LISTED = "plan and explain in a cluster: the objects that decisions depend on"
#: Rights of people who read all that decisions depend on, with `stromboli plan` and the other commands.
_VIEWER = (
    *(
        Right(group, resource, ("list",), _LISTED)
        for group, resource in dict.fromkeys(
            (each.group, each.plural)
            for each in (*WATCHED_REQUIRED, *WATCHED_OPTIONAL, NODE_SHARDS, RESOURCE_CLAIM_TEMPLATES)
        )
    ),
    *POLICY_RIGHTS,
    *(
        Right(group, each.plural, ("get",), "read templates that workloads of files name")
        for (group, _), each in TEMPLATE_KINDS.items()
    ),
)

_ASKS = "ask the scheduler about the jobs of the namespace, with numbers for those of others"
#: Rights of people of a namespace: every resource of the aggregated API.
_USER = tuple(Right(GROUP, resource.name, resource.verbs, _ASKS) for resource in RESOURCES)

#: Rights by user role.
USER_RIGHTS = {
    "view": (
        Right(POD_GROUPS.group, "podgroups", _READS, "view groups and why they are pending"),
        Right(QUEUES.group, "queues", _READS, "view queues and their usage"),
        Right(BIND_REQUESTS.group, "bindrequests", _READS, "view bind requests and their progress"),
    ),
    "edit": (Right(POD_GROUPS.group, "podgroups", _WRITES, "create and change groups"),),
    "queues": (
        Right(QUEUES.group, "queues", _WRITES, "create and change queues"),
        Right(QUEUES.group, "queues/status", ("patch", "update"), "close and open queues"),
    ),
    "user": _USER,
    "viewer": _VIEWER,
}
