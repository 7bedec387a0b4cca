"""PodGroups for pods that come without one, named and filled as Volcano's controller does.

All pods of one owner (a ReplicaSet, a Job) share a group; a pod without an owner has its own. Such a group does
not hold its pods together: one of them is enough.
"""

from collections.abc import Sequence

import msgspec

from stromboli import kube
from stromboli.cache.jobs import GROUP_NAME
from stromboli.kube.meta import ObjectMeta, Resources
from stromboli.kube.volcano import PodGroupSpec
from stromboli.model.quantity import parse_quantity

QUEUE_NAME = "scheduling.volcano.sh/queue-name"
MIN_MEMBER = "scheduling.volcano.sh/group-min-member"


def is_plain(pod: kube.Pod, scheduler_names: Sequence[str]) -> bool:
    """Whether a pod is ours to schedule and names no group."""
    annotations = pod.metadata.annotations or {}
    return pod.spec.scheduler_name in scheduler_names and not annotations.get(GROUP_NAME)


def group_name(pod: kube.Pod) -> str:
    """Named for the uid of the owner or the pod; a pod from a manifest that has no uid yet, for its name."""
    owners = pod.metadata.owner_references or ()
    owner = next((owner.uid for owner in owners if owner.controller and owner.uid), None)
    own = pod.metadata.name if "/" in pod.metadata.uid else pod.metadata.uid
    return f"podgroup-{owner or own}"


def group_for(pod: kube.Pod) -> kube.PodGroup:
    """The group of a plain pod."""
    annotations, labels = pod.metadata.annotations or {}, pod.metadata.labels or {}
    minimum = annotations.get(MIN_MEMBER, "")
    return kube.PodGroup(
        metadata=ObjectMeta(
            name=group_name(pod),
            namespace=pod.metadata.namespace,
            uid=group_name(pod),
            creation_timestamp=pod.metadata.creation_timestamp,
            annotations=annotations,
        ),
        spec=PodGroupSpec(
            min_member=int(minimum) if minimum.isdecimal() and len(minimum) < 9 else 1,
            queue=annotations.get(QUEUE_NAME) or labels.get("volcano.sh/queue-name") or "",
            priority_class_name=pod.spec.priority_class_name,
            min_resources=_requests(pod),
        ),
    )


def _requests(pod: kube.Pod) -> Resources | None:
    """What one pod asks for, when its containers say so in one place."""
    containers = pod.spec.containers or ()
    if len(containers) != 1 or containers[0].resources is None:
        return None
    requests = containers[0].resources.requests
    return requests if requests and all(_is_quantity(amount) for amount in requests.values()) else None


def _is_quantity(amount: str | int | float) -> bool:
    """What makes no sense is the pod's fault and reported there."""
    try:
        parse_quantity(amount, milli=True)
    except ValueError:
        return False
    return True


def with_group(pod: kube.Pod, group: str) -> kube.Pod:
    """The pod as it is once it names its group."""
    annotations = {**(pod.metadata.annotations or {}), GROUP_NAME: group}
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, annotations=annotations))
