"""Annotations of a pod's owner that apply to the group of its pods."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.pod_owners import POD_OWNERS
from stromboli.kube.objects.resources import Resource
from stromboli.kube.watch.reflector import Reflector
from stromboli.workloads.groups import controlling_owner
from stromboli.workloads.plain_groups import scheduling_entries

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

_log = logging.getLogger(__name__)

_BY_KIND = {(resource.api_version, resource.kind): resource for resource in POD_OWNERS}


async def owner_annotations(client: Client, pod: Pod) -> Mapping[str, str]:
    """Return the annotations of the pod's owner; empty if it is gone or forbidden."""
    owner = controlling_owner(pod)
    resource = _BY_KIND.get((owner.api_version or "", owner.kind or "")) if owner else None
    if owner is None or resource is None:
        return {}
    try:
        found = (await client.get(resource, owner.name or "", namespace=pod.metadata.namespace)).metadata
    except ApiError as error:
        if error.is_missing or error.is_denied:
            return {}
        raise
    return (found.annotations or {}) if found.uid == owner.uid else {}


class OwnerWatches:
    """Calls `changed` with the namespace and uid of an owner whose annotations for the scheduler have changed."""

    def __init__(self, client: Client, changed: Callable[[str, str], None]) -> None:
        self._changed = changed
        self._reflectors = [Reflector(client, resource, self, optional=True) for resource in POD_OWNERS]
        #: By uid; most owners have none, which is not stored.
        self._entries: dict[str, dict[str, str]] = {}

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for reflector in self._reflectors:
                tasks.create_task(reflector.run())

    def apply(self, owner: TopLevel) -> None:
        metadata = owner.metadata
        entries = scheduling_entries(metadata.annotations or {})
        if entries == self._entries.get(metadata.uid, {}):
            return
        if entries:
            self._entries[metadata.uid] = entries
        else:
            del self._entries[metadata.uid]
        self._changed(metadata.namespace, metadata.uid)

    def remove(self, owner: TopLevel) -> None:
        self._entries.pop(owner.metadata.uid, None)

    def unreadable(self, resource: Resource[Any], key: str, uid: str, problem: str) -> None:
        """Skip the owner: its annotations are read when its group is created."""
        _log.debug("unreadable object", extra={"resource": resource.name, "key": key, "problem": problem})
