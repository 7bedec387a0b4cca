"""PodGroups for pods without one, named and filled as Volcano's controller does.

All pods of one owner (a ReplicaSet, a Job) share a group; a pod without an owner has its own. Its minimum is one pod,
unless the pod or its owner sets another. The group follows changes of its owner.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from stromboli import kube
from stromboli.core.model.resources.resources import PODS, ResourceAxis
from stromboli.kube.objects.meta import ObjectMeta, OwnerReference, Resources
from stromboli.kube.objects.volcano import KubeNetworkTopology, PodGroupSpec
from stromboli.workloads.groups import GROUP_NAME, controlling_owner, group_name
from stromboli.workloads.queues import QUEUE_NAMES, queue_of_pod
from stromboli.workloads.requests import pod_request
from stromboli.workloads.users import USER

MIN_MEMBER = "scheduling.volcano.sh/group-min-member"
TOPOLOGY_MODE = "volcano.sh/network-topology-mode"
TOPOLOGY_TIER = "volcano.sh/network-topology-highest-tier"
#: KAI's topology annotations.
TOPOLOGY = "kai.scheduler/topology"
REQUIRED = "kai.scheduler/topology-required-placement"
PREFERRED = "kai.scheduler/topology-preferred-placement"
_LEVELS = (TOPOLOGY, REQUIRED, PREFERRED)
#: Annotations that the group loses with its owner; others may be its own.
_SPEC_KEYS = (MIN_MEMBER, *QUEUE_NAMES, TOPOLOGY_MODE, TOPOLOGY_TIER, *_LEVELS)


def group_for(pod: kube.Pod, inherited: Mapping[str, str] | None = None) -> kube.PodGroup:
    """Return the group of a plain pod; `inherited` are its owner's annotations, which its own override."""
    annotations = scheduling_entries(inherited or {}) | scheduling_entries(pod.metadata.annotations or {})
    labels = scheduling_entries(pod.metadata.labels or {})
    queue = _state_queue(queue_of_pod(pod, inherited or {}).name, annotations, labels)
    stated = _count(annotations.get(MIN_MEMBER))
    minimum = 1 if stated is None else stated
    return kube.PodGroup(
        metadata=ObjectMeta(
            name=group_name(pod),
            namespace=pod.metadata.namespace,
            uid=group_name(pod),
            creation_timestamp=pod.metadata.creation_timestamp,
            annotations=annotations,
            labels=labels or None,
            owner_references=_owners(pod),
        ),
        spec=PodGroupSpec(
            min_member=minimum,
            queue=queue,
            priority_class_name=pod.spec.priority_class_name,
            min_resources=_requests(pod, minimum),
            network_topology=_topology(annotations),
        ),
    )


def _state_queue(queue: str, annotations: dict[str, str], labels: dict[str, str]) -> str:
    """Keep one spelling of the queue, so that no other overrides `spec.queue`, whose default counts as none."""
    for key in QUEUE_NAMES:
        annotations.pop(key, None)
        labels.pop(key, None)
    if queue:
        annotations[QUEUE_NAMES[0]] = queue
    return queue


def owner_changes(group: kube.PodGroup, desired: kube.PodGroup) -> dict[str, Any] | None:
    """Return the merge patch of a group whose owner has changed; None if its annotations are those of the owner. Fields
    that do not follow from a changed annotation may have been set by others, and stay.
    """
    before, after = group.metadata.annotations or {}, desired.metadata.annotations or {}
    keys = (*after, *(key for key in _SPEC_KEYS if key in before))
    changed = {key: after.get(key) for key in keys if before.get(key) != after.get(key)}
    if not changed:
        return None
    metadata = {"resourceVersion": group.metadata.resource_version, "annotations": changed}
    return {"metadata": metadata, "spec": _spec_changes(group.spec, desired.spec, changed)}


def _spec_changes(before: PodGroupSpec, after: PodGroupSpec, changed: Iterable[str]) -> dict[str, Any]:
    spec: dict[str, Any] = {}
    keys = frozenset(changed)
    if MIN_MEMBER in keys:
        gone = dict.fromkeys(before.min_resources or ())
        spec |= {"minMember": after.min_member, "minResources": {**gone, **(after.min_resources or {})}}
    if keys & frozenset(QUEUE_NAMES):
        spec["queue"] = after.queue
    if keys & {TOPOLOGY_MODE, TOPOLOGY_TIER}:
        spec["networkTopology"] = _as_patch(after.network_topology)
    return spec


def _as_patch(topology: KubeNetworkTopology | None) -> dict[str, Any] | None:
    if topology is None:
        return None
    return {"mode": topology.mode, "highestTierAllowed": topology.highest_tier_allowed}


def scheduling_entries(entries: Mapping[str, str]) -> dict[str, str]:
    """Return the annotations or labels for the scheduler; not the name of the group."""
    volcano_keys = (key for key in entries if key.partition("/")[0].endswith("volcano.sh") and "/" in key)
    return {key: entries[key] for key in (*volcano_keys, *_LEVELS, USER) if key in entries}


def _owners(pod: kube.Pod) -> list[OwnerReference]:
    """Return the group's owners: the pod's owners, or else the pod."""
    if controlling_owner(pod) is not None:
        return list(pod.metadata.owner_references or ())
    return [
        OwnerReference(
            api_version="v1", kind="Pod", name=pod.metadata.name, uid=pod.metadata.uid or None, controller=True
        )
    ]


def _count(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 9 else None


def _topology(annotations: Mapping[str, str]) -> KubeNetworkTopology | None:
    mode, tier = annotations.get(TOPOLOGY_MODE), _count(annotations.get(TOPOLOGY_TIER))
    if mode not in ("hard", "soft") and tier is None:
        return None
    return KubeNetworkTopology(mode=mode if mode in ("hard", "soft") else "hard", highest_tier_allowed=tier)


def _requests(pod: kube.Pod, count: int) -> Resources | None:
    """Return the requests of this many such pods; None if they are invalid, which is reported on the pod."""
    axis = ResourceAxis()
    try:
        request = pod_request(pod, axis)
    except ValueError:
        return None
    amounts = [(place, amount * count) for place, amount in request if place != PODS and count]
    return {axis.names[place]: axis.format(place, amount) for place, amount in amounts} or None


def with_group(pod: kube.Pod, group: str) -> kube.Pod:
    """Return the pod with its group annotation."""
    annotations = {**(pod.metadata.annotations or {}), GROUP_NAME: group}
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, annotations=annotations))
