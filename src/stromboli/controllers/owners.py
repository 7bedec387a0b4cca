"""Annotations of a pod's owner that apply to the group of its pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from stromboli.controllers.podgroups import controlling_owner
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.meta import OwnerReference, TopLevel
from stromboli.kube.objects.pod import Pod

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

_PLURALS = {
    ("apps/v1", "ReplicaSet"): "replicasets",
    ("apps/v1", "StatefulSet"): "statefulsets",
    ("apps/v1", "DaemonSet"): "daemonsets",
    ("batch/v1", "Job"): "jobs",
}
"""Owners that are read: built-in kinds, which every scheduler may read."""


def inherits_annotations(owner: OwnerReference) -> bool:
    """Report whether annotations of such an owner apply to the group."""
    return (owner.api_version or "", owner.kind or "") in _PLURALS


async def owner_annotations(client: Client, pod: Pod) -> Mapping[str, str]:
    """Return the annotations of the pod's owner; empty if it is gone or forbidden."""
    owner = controlling_owner(pod)
    plural = _PLURALS.get((owner.api_version or "", owner.kind or "")) if owner else None
    if owner is None or plural is None:
        return {}
    namespace, name = quote(pod.metadata.namespace, safe=""), quote(owner.name or "", safe="")
    try:
        answer = await client.request("GET", f"/apis/{owner.api_version}/namespaces/{namespace}/{plural}/{name}")
    except ApiError as error:
        if error.is_missing or error.is_denied:
            return {}
        raise
    found = msgspec.json.decode(answer, type=TopLevel).metadata
    return (found.annotations or {}) if found.uid == owner.uid else {}
