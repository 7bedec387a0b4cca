"""The PodGroup of a Job on the server: created, adapted when the Job changes, and deleted with its pods."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from stromboli.controllers.jobs.objects import JobBlocked
from stromboli.controllers.jobs.specification import JobSpecification
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.catalogue import POD_GROUPS
from stromboli.kube.objects.cluster import PriorityClass
from stromboli.kube.objects.volcano import PodGroup
from stromboli.kube.objects.volcano_jobs import BATCH_GROUP
from stromboli.kube.watch.informer import Informer
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.groups import group_of
from stromboli.workloads.families.volcano.tasks import group_name_of
from stromboli.workloads.groups import SUSPENDED

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

#: Fields that follow the Job. The queue of a PodGroup cannot be changed.
_FOLLOWING = ("minMember", "minTaskMember", "minResources", "priorityClassName", "subGroupPolicy")


class JobGroups:
    """The PodGroups, as the watch reports them; deleted ones are absent at once."""

    def __init__(
        self,
        client: Client,
        groups: Informer[PodGroup],
        priorities: Informer[PriorityClass],
        changed: Callable[[str], None],
    ) -> None:
        self._client, self._groups, self._priorities, self._changed = client, groups, priorities, changed
        self._deleted: set[str] = set()
        #: Uids of groups that this process created, until the watch reports them.
        self._created: set[str] = set()
        #: By key of the Job: a specification, and the spec of the group for it.
        self._desired: dict[str, tuple[JobSpecification, dict[str, Any]]] = {}
        groups.listen(self._group_changed)
        priorities.listen(lambda old, new: self._desired.clear())

    def of(self, job: WorkloadDocument) -> PodGroup | None:
        group = self._groups.objects.get(f"{job.namespace}/{group_name_of(job)}")
        return None if group is None or group.metadata.uid in self._deleted else group

    async def create_or_update(self, job: WorkloadDocument, spec: JobSpecification) -> None:
        """Raises JobBlocked if the server rejects the group."""
        present = self.of(job)
        try:
            if present is None:
                await self._create(job, spec)
            elif patch := _changes(present, self._desired_spec(job, spec)):
                body = {"metadata": {"resourceVersion": present.metadata.resource_version}, "spec": patch}
                await self._client.patch(POD_GROUPS, present.metadata.name, body, namespace=job.namespace)
        except ApiError as error:
            if error.reason == "AlreadyExists":
                return
            if error.is_invalid or error.is_denied:
                raise JobBlocked("PodGroupError", f"PodGroup {group_name_of(job)}: {error.message}") from error
            raise

    async def _create(self, job: WorkloadDocument, spec: JobSpecification) -> None:
        group = group_of(job, self._priority_of, spec.tasks)
        self._desired[job.key] = spec, group["spec"]
        created = await self._client.create(POD_GROUPS, group, namespace=job.namespace)
        if self.of(job) is None:
            self._created.add(created.metadata.uid)

    def _desired_spec(self, job: WorkloadDocument, spec: JobSpecification) -> dict[str, Any]:
        """Return the spec of the group; it is made once per specification, as it adds up the requests of the pods."""
        known = self._desired.get(job.key)
        if known is None or known[0] is not spec:
            known = self._desired[job.key] = spec, group_of(job, self._priority_of, spec.tasks)["spec"]
        return known[1]

    def _priority_of(self, name: str) -> int:
        found = self._priorities.objects.get(name)
        return (found.value or 0) if found else 0

    def forget(self, key: str) -> None:
        """Forget a Job that does not exist any more."""
        self._desired.pop(key, None)

    async def delete(self, job: WorkloadDocument, *, suspended: bool = False) -> None:
        """Delete the group. That of a suspended Job is marked before: its deletion is not the end of the Job."""
        present = self.of(job)
        if present is None:
            return
        name, uid = present.metadata.name, present.metadata.uid
        try:
            if suspended:
                mark = {"metadata": {"uid": uid, "annotations": {SUSPENDED: "true"}}}
                await self._client.patch(POD_GROUPS, name, mark, namespace=job.namespace)
            await self._client.delete(POD_GROUPS, name, namespace=job.namespace, uid=uid, propagation="Background")
        except ApiError as error:
            if not error.is_missing:
                raise
        if self.of(job) is present:
            self._deleted.add(uid)

    def _group_changed(self, old: PodGroup | None, new: PodGroup | None) -> None:
        group = new or old
        if group is None:
            return
        if new is None:
            self._deleted.discard(group.metadata.uid)
        if group.metadata.uid in self._created:
            self._created.discard(group.metadata.uid)
            if new is not None and not new.status.phase:
                return  # The Job waits until the scheduler changes the group.
        for owner in group.metadata.owner_references or ():
            if owner.kind == "Job" and (owner.api_version or "").startswith(f"{BATCH_GROUP}/"):
                self._changed(f"{group.metadata.namespace}/{owner.name}")


def _changes(present: PodGroup, spec: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of the spec that differ from the Job's."""
    before = msgspec.to_builtins(present.spec)
    return {
        name: _replacement(before.get(name), spec.get(name))
        for name in _FOLLOWING
        if not _agrees(before.get(name), spec.get(name))
    }


def _agrees(present: Any, desired: Any) -> bool:
    """Report whether a field is as desired; what the server added by default within a list does not count."""
    if isinstance(desired, list) and isinstance(present, list):
        return len(desired) == len(present) and all(map(_contains, present, desired))
    return present == desired or not (present or desired)


def _contains(present: Any, desired: Any) -> bool:
    if isinstance(desired, dict) and isinstance(present, dict):
        return all(_contains(present.get(key), value) for key, value in desired.items())
    return bool(present == desired)


def _replacement(present: Any, desired: Any) -> Any:
    """Return the merge patch of a field: entries of a map that are gone become null."""
    if isinstance(present, dict) and isinstance(desired, dict):
        return {**dict.fromkeys(present), **desired}
    return desired
