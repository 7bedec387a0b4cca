"""The group of a pod: the one that it names, or the one that is created for its owner or for itself."""

from __future__ import annotations

from collections.abc import Sequence
from sys import intern

from stromboli import kube
from stromboli.kube.objects import native
from stromboli.kube.objects.meta import OwnerReference

GROUP_NAME = "scheduling.k8s.io/group-name"
SUSPENDED = "stromboli.dev/suspended"
"""The annotation of a group that is deleted because its workload is suspended."""
#: Names of groups that are created for plain pods begin with this.
_GENERATED = "podgroup-"


def job_key_of(pod: kube.Pod) -> str | None:
    """The group of a pod, always in the pod's namespace: the annotated one, or a native group. All members share one
    string: it is compared very often.
    """
    namespace = pod.metadata.namespace
    if name := (pod.metadata.annotations or {}).get(GROUP_NAME):
        return intern(f"{namespace}/{name}")
    group = pod.spec.scheduling_group
    return native_key(namespace, group.pod_group_name) if group is not None and group.pod_group_name else None


def native_key(namespace: str, name: str) -> str:
    """The key of a native group. Object names contain no colon, so no other group has such a key."""
    return intern(f"{namespace}/{native.GROUP}:{name}")


def is_native(key: str) -> bool:
    return key.partition("/")[2].startswith(f"{native.GROUP}:")


def unqualified_name(named: str) -> str:
    """The name of a group, from the part of its key after the namespace."""
    return named.removeprefix(f"{native.GROUP}:")


def is_plain(pod: kube.Pod, scheduler_names: Sequence[str]) -> bool:
    """Report whether a pod has one of these scheduler names and no group, neither by annotation nor a native one."""
    return pod.spec.scheduler_name in scheduler_names and job_key_of(pod) is None


def controlling_owner(pod: kube.Pod) -> OwnerReference | None:
    """Return the controller of the pod."""
    owners = pod.metadata.owner_references or ()
    return next((owner for owner in owners if owner.controller and owner.uid), None)


def group_name(pod: kube.Pod) -> str:
    """Name the group for the uid of the owner or the pod; for the pod's name if a manifest has no uid."""
    owner = controlling_owner(pod)
    own = pod.metadata.name if "/" in pod.metadata.uid else pod.metadata.uid
    return owner_group(owner.uid or "" if owner else own)


def owner_group(uid: str) -> str:
    """Return the name of the group of an owner's pods."""
    return f"{_GENERATED}{uid}"


def title_of(group: kube.PodGroup) -> str:
    """Return the name that a user looks for: that of the owner where the name of the group is generated."""
    name = group.metadata.name
    for owner in group.metadata.owner_references or ():
        if owner.name and (name.startswith(_GENERATED) or name == f"{owner.name}-{owner.uid}"):
            return owner.name
    return name
