"""Creates a PodGroup for every plain pod of its scheduler names.

The queue's key is the group, not the pod: a thousand pods of one owner need one group. The group is created before the
pods are annotated, so that a pod never names a missing group. A group that is deleted while its pods exist is created
again: without it they would wait indefinitely. A group whose owner changes is updated.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from stromboli.controllers.owners import OwnerWatches, owner_annotations
from stromboli.kube.client.api_errors import ApiError, RequestFailed
from stromboli.kube.objects.catalogue import POD_GROUPS, PODS
from stromboli.kube.objects.meta import OwnerReference
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.resources import Resource
from stromboli.kube.objects.volcano import PodGroup
from stromboli.kube.watch.informer import Informer
from stromboli.kube.watch.reflector import Reflector
from stromboli.kube.work.work_queue import WorkQueue, namespace_of
from stromboli.workloads.groups import GROUP_NAME, group_name, is_plain, owner_group
from stromboli.workloads.plain_groups import group_for, owner_changes, with_group

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

AT_ONCE = 16
"""The number of pods of a group that are patched at a time."""

_log = logging.getLogger(__name__)


class GroupController:
    """Keeps the pods of its groups, by group, and no other pods."""

    def __init__(
        self, client: Client, groups: Informer[PodGroup], scheduler_names: Sequence[str], default_queue: str
    ) -> None:
        self._client = client
        self._groups = groups
        self._scheduler_names = scheduler_names
        self._default_queue = default_queue
        self._pods: dict[str, dict[str, Pod]] = {}
        #: Groups whose owner has changed.
        self._outdated: set[str] = set()
        self._reflector = Reflector(client, PODS, self)
        self._owners = OwnerWatches(client, self._owner_changed)
        self.work: WorkQueue[str] = WorkQueue(self._reconcile, name="pod groups", group=namespace_of)
        #: Numbers of writes.
        self.groups_created = 0
        self.groups_updated = 0
        self.pods_annotated = 0
        groups.listen(self._group_changed)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._reflector.run())
            await self._reflector.synced.wait()
            await self._groups.synced.wait()
            tasks.create_task(self._owners.run())
            tasks.create_task(self.work.run())

    def apply(self, pod: Pod) -> None:
        if not self._is_ours(pod):
            self._drop(pod)
            return
        key = _group_key(pod)
        self._pods.setdefault(key, {})[pod.key] = pod
        if key not in self._groups.objects or _names_no_group(pod):
            self.work.add(key)

    def remove(self, pod: Pod) -> None:
        self._drop(pod)

    def unreadable(self, resource: Resource[Any], key: str, uid: str, problem: str) -> None:
        """Skip the pod: unreadable objects are reported elsewhere."""
        _log.debug("unreadable object", extra={"resource": resource.name, "key": key, "problem": problem})

    def _is_ours(self, pod: Pod) -> bool:
        """Report whether the pod needs a group of this controller, or has one."""
        if pod.metadata.deletion_timestamp is not None or pod.status.is_finished:
            return False
        if is_plain(pod, self._scheduler_names):
            return True
        named = (pod.metadata.annotations or {}).get(GROUP_NAME)
        return pod.spec.scheduler_name in self._scheduler_names and named == group_name(pod)

    def _drop(self, pod: Pod) -> None:
        key = _group_key(pod)
        if (pods := self._pods.get(key)) is not None:
            pods.pop(pod.key, None)
            if not pods:
                del self._pods[key]

    def _group_changed(self, old: PodGroup | None, new: PodGroup | None) -> None:
        group = new or old
        if group is not None and group.key in (self._pods if new is None else self._outdated):
            self.work.add(group.key)

    def _owner_changed(self, namespace: str, uid: str) -> None:
        key = f"{namespace}/{owner_group(uid)}"
        if key in self._pods:
            self._outdated.add(key)
            self.work.add(key)

    async def _reconcile(self, key: str) -> None:
        pods, group = self._pods.get(key), self._groups.objects.get(key)
        if not pods:
            self._outdated.discard(key)
            return
        if group is None or key in self._outdated:
            oldest = min(pods.values(), key=lambda pod: (pod.metadata.creation_timestamp or "", pod.key))
            await self._create_or_update(key, group, oldest)
        waiting = [pod for pod in pods.values() if _names_no_group(pod)]
        for start in range(0, len(waiting), AT_ONCE):
            answers = await asyncio.gather(
                *(self._annotate(key, pod) for pod in waiting[start : start + AT_ONCE]), return_exceptions=True
            )
            if failure := next((answer for answer in answers if isinstance(answer, BaseException)), None):
                raise failure

    async def _create_or_update(self, key: str, group: PodGroup | None, pod: Pod) -> None:
        self._outdated.discard(key)
        try:
            desired = group_for(pod, await owner_annotations(self._client, pod))
            desired.spec.queue = desired.spec.queue or self._default_queue
            if group is None:
                await self._create(desired)
            elif (patch := owner_changes(group, desired)) is not None:
                await self._client.patch(POD_GROUPS, group.metadata.name, patch, namespace=group.metadata.namespace)
                self.groups_updated += 1
        except RequestFailed:
            self._outdated.add(key)
            raise

    async def _create(self, group: PodGroup) -> None:
        metadata, spec = group.metadata, group.spec
        body = {
            "metadata": {
                "name": metadata.name,
                "annotations": metadata.annotations or {},
                "labels": metadata.labels or {},
                "ownerReferences": [_without_owner_deletion_block(owner) for owner in metadata.owner_references or ()],
            },
            "spec": msgspec.to_builtins(spec),
        }
        try:
            await self._client.create(POD_GROUPS, body, namespace=metadata.namespace)
        except ApiError as error:
            if not error.is_conflict:
                raise
            self._outdated.add(group.key)
        else:
            self.groups_created += 1

    async def _annotate(self, key: str, pod: Pod) -> None:
        """Annotate exactly this pod: the version excludes a later pod of the same name."""
        metadata, name = pod.metadata, group_name(pod)
        patch = {"metadata": {"resourceVersion": metadata.resource_version, "annotations": {GROUP_NAME: name}}}
        try:
            await self._client.patch(PODS, metadata.name, patch, namespace=metadata.namespace)
        except RequestFailed as error:
            if isinstance(error, ApiError) and error.is_missing:
                return
            raise
        self.pods_annotated += 1
        if self._pods.get(key, {}).get(pod.key) is pod:
            self._pods[key][pod.key] = with_group(pod, name)


def _without_owner_deletion_block(owner: OwnerReference) -> dict[str, Any]:
    """Return the owner reference without blockOwnerDeletion, which would need permission to change the owner."""
    reference: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(owner, block_owner_deletion=None))
    return reference


def _group_key(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{group_name(pod)}"


def _names_no_group(pod: Pod) -> bool:
    return not (pod.metadata.annotations or {}).get(GROUP_NAME)
