"""The pods of all Jobs: by Job, with those that this controller deleted and those that others evicted."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from stromboli.controllers.jobs.objects import JobBlocked
from stromboli.controllers.jobs.plugins.plugin import JobPlugin
from stromboli.controllers.jobs.pods import TASK_PODS, JobPod, TaskPod, facts_of, job_key_of, owner_uid
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.watch.informer import GatedInformer
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.changes import JobChanges
from stromboli.workloads.families.volcano.tasks import VolcanoTask

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

AT_ONCE = 32
"""The number of pods of a Job that are written at a time."""
MAX_CREATIONS = 64
"""The number of pods of all Jobs that are created at a time: more would not be created sooner."""


class JobPods:
    """Keeps, creates and deletes pods. `changed` is called with the key of the Job whose pods have changed."""

    def __init__(self, client: Client, pods: GatedInformer[TaskPod], changed: Callable[[str], None]) -> None:
        self._client, self._pods, self._changed = client, pods, changed
        #: By key of the Job, then by name, with the uid of the owner.
        self._members: dict[str, dict[str, tuple[str, JobPod]]] = {}
        #: By key of the Job, then by uid, with the uid of the owner.
        self._evicted: dict[str, dict[str, tuple[str, JobPod]]] = {}
        #: Uids of pods that this process deletes.
        self._deleted: set[str] = set()
        self._slots = asyncio.Semaphore(MAX_CREATIONS)
        #: Whether a change of a pod is the answer to its creation, after which the caller continues.
        self._is_answer = False
        pods.listen(self._pod_changed)

    @property
    def is_busy(self) -> bool:
        """Report whether pods wait for their creation."""
        return self._slots.locked()

    def of(self, key: str, uid: str) -> list[JobPod]:
        """Return the pods that a Job owns."""
        owned = (pod for owner, pod in self._members.get(key, {}).values() if owner == uid)
        return [pod._replace(is_terminating=True) if pod.uid in self._deleted else pod for pod in owned]

    def taken_names(self, key: str, uid: str) -> frozenset[str]:
        """Return the names of pods that name the Job but belong to another one."""
        return frozenset(name for name, (owner, _) in self._members.get(key, {}).items() if owner != uid)

    def evicted(self, key: str, uid: str) -> list[JobPod]:
        """Return the pods of a Job that others deleted before they had finished."""
        return [pod for owner, pod in self._evicted.get(key, {}).values() if owner == uid]

    def forget_evicted(self, key: str, uids: Iterable[str] | None = None) -> None:
        """Forget these evictions of a Job; all by default."""
        evicted = self._evicted.get(key, {})
        for uid in [*evicted] if uids is None else uids:
            evicted.pop(uid, None)
        if not evicted:
            self._evicted.pop(key, None)

    async def create(
        self, job: WorkloadDocument, plugins: Sequence[JobPlugin], slots: Sequence[tuple[VolcanoTask, int]]
    ) -> bool:
        """Create pods; report whether a name is taken by a pod that is not known yet. Raises JobBlocked."""
        conflicts = False
        changes = JobChanges([plugin.edit_pod for plugin in plugins])
        for task, chosen in itertools.groupby(slots, key=lambda slot: slot[0]):
            indices = [index for _, index in chosen]
            for start in range(0, len(indices), AT_ONCE):
                pods = changes.pods_of(job, task, indices[start : start + AT_ONCE])
                answers = await asyncio.gather(*(self._create(job, pod) for pod in pods), return_exceptions=True)
                for answer in answers:
                    if isinstance(answer, BaseException):
                        raise answer
                conflicts = conflicts or not all(answers)
        return conflicts

    async def delete(self, namespace: str, pods: Sequence[JobPod]) -> None:
        for start in range(0, len(pods), AT_ONCE):
            batch = [self._delete(namespace, pod) for pod in pods[start : start + AT_ONCE]]
            answers = await asyncio.gather(*batch, return_exceptions=True)
            for answer in answers:
                if isinstance(answer, BaseException):
                    raise answer

    async def _create(self, job: WorkloadDocument, pod: dict[str, Any]) -> bool:
        try:
            async with self._slots:
                answer = await self._client.create(TASK_PODS, pod, namespace=job.namespace)
        except ApiError as error:
            if error.reason == "AlreadyExists":
                return False
            if error.is_invalid or error.is_denied:
                message = f"creating pod {pod['metadata']['name']} failed: {error.message}"
                raise JobBlocked("FailedCreate", message) from error
            raise
        self._is_answer = True
        try:
            self._pods.apply(answer)
        finally:
            self._is_answer = False
        return True

    async def _delete(self, namespace: str, pod: JobPod) -> None:
        self._deleted.add(pod.uid)
        try:
            await self._client.delete(TASK_PODS, pod.name, namespace=namespace, uid=pod.uid)
        except BaseException as error:
            if isinstance(error, ApiError) and error.is_missing:
                return
            self._deleted.discard(pod.uid)
            raise

    def _pod_changed(self, old: TaskPod | None, new: TaskPod | None) -> None:
        pod = new or old
        if pod is None:
            return
        key = job_key_of(pod)
        self._note_eviction(key, old, new)
        if new is not None:
            self._members.setdefault(key, {})[pod.metadata.name] = owner_uid(new), facts_of(new)
        else:
            self._deleted.discard(pod.metadata.uid)
            members = self._members.get(key, {})
            members.pop(pod.metadata.name, None)
            if not members:
                self._members.pop(key, None)
        if not self._is_answer:
            self._changed(key)

    def _note_eviction(self, key: str, old: TaskPod | None, new: TaskPod | None) -> None:
        """Note a pod that begins to be deleted, or is gone, and had not finished when it was last seen."""
        pod = old or new
        if pod is None or pod.metadata.uid in self._deleted:
            return
        is_ending = new is None or new.metadata.deletion_timestamp is not None
        was_present = old is None or old.metadata.deletion_timestamp is None
        if is_ending and was_present and not (member := facts_of(pod)).is_finished:
            self._evicted.setdefault(key, {})[member.uid] = owner_uid(pod), member._replace(is_terminating=True)
