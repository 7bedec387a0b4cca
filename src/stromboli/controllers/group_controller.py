"""Gives a group to every pod that is ours to schedule and names none.

The unit of work is the group, not the pod: a thousand pods of one owner need one group. The group is made first and
the pods name it afterwards, so that a pod never names a group that was not there. A group that somebody deletes while
its pods live is made again: without it they would wait forever.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from stromboli.cluster.objects.pod_groups.pod_groups import GROUP_NAME
from stromboli.controllers.owners import owner_annotations
from stromboli.controllers.podgroups import group_for, group_name, is_plain, with_group
from stromboli.kube.client.api_errors import ApiError, RequestFailed
from stromboli.kube.objects.catalogue import POD_GROUPS, PODS
from stromboli.kube.objects.meta import OwnerReference
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.resources import Resource
from stromboli.kube.objects.volcano import PodGroup
from stromboli.kube.watch.informer import Informer
from stromboli.kube.watch.reflector import Reflector
from stromboli.kube.work.work_queue import WorkQueue

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

AT_ONCE = 16
"""How many pods of a group are patched at the same time."""

_log = logging.getLogger(__name__)


class GroupController:
    """Keeps the pods that its groups are for, by group, and nothing of all the other pods."""

    def __init__(
        self, client: Client, groups: Informer[PodGroup], scheduler_names: Sequence[str], default_queue: str
    ) -> None:
        self._client = client
        self._groups = groups
        self._scheduler_names = scheduler_names
        self._default_queue = default_queue
        self._pods: dict[str, dict[str, Pod]] = {}
        self._reflector = Reflector(client, PODS, self)
        self.work: WorkQueue[str] = WorkQueue(self._look, name="pod groups")
        #: What was written so far.
        self.groups_created = 0
        self.pods_annotated = 0
        groups.listen(self._group_changed)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._reflector.run())
            await self._reflector.synced.wait()
            await self._groups.synced.wait()
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
        """Whoever reports such objects to people is elsewhere; a pod that cannot be read gets no group."""
        _log.debug("unreadable object", extra={"resource": resource.name, "key": key, "problem": problem})

    def _is_ours(self, pod: Pod) -> bool:
        """Whether the pod needs a group of ours, or has one."""
        if pod.metadata.deletion_timestamp is not None or pod.status.phase in ("Succeeded", "Failed"):
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
        if new is None and old is not None and old.key in self._pods:
            self.work.add(old.key)

    async def _look(self, key: str) -> None:
        pods = self._pods.get(key)
        if not pods:
            return
        if key not in self._groups.objects:
            await self._create(min(pods.values(), key=lambda pod: (pod.metadata.creation_timestamp or "", pod.key)))
        waiting = [pod for pod in pods.values() if _names_no_group(pod)]
        for start in range(0, len(waiting), AT_ONCE):
            answers = await asyncio.gather(
                *(self._annotate(key, pod) for pod in waiting[start : start + AT_ONCE]), return_exceptions=True
            )
            if failure := next((answer for answer in answers if isinstance(answer, BaseException)), None):
                raise failure

    async def _create(self, pod: Pod) -> None:
        group = group_for(pod, await owner_annotations(self._client, pod))
        metadata, spec = group.metadata, group.spec
        spec.queue = spec.queue or self._default_queue
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
        else:
            self.groups_created += 1

    async def _annotate(self, key: str, pod: Pod) -> None:
        """The version makes it this very pod: one of the same name that came after it has a group of its own."""
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
    """A group does not hold up the deletion of its owner: saying so takes the right to change the owner."""
    reference: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(owner, block_owner_deletion=None))
    return reference


def _group_key(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{group_name(pod)}"


def _names_no_group(pod: Pod) -> bool:
    return not (pod.metadata.annotations or {}).get(GROUP_NAME)
