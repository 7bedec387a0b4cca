"""The controller of Jobs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.catalogue import JOBS
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.workloads import BatchJob
from stromboli.kube.watch.informer import Informer
from stromboli.kube.work.work_queue import WorkQueue
from stromboli.local.fakes.workloads.job_records import JobRecord
from stromboli.local.fakes.workloads.job_rules import (
    COMPLETION_INDEX,
    Counts,
    JobEnding,
    deadline,
    ending,
    expires_at,
    finished,
    ignores_failure,
    plan,
    status_changes,
)
from stromboli.local.fakes.workloads.owned_pods import COUNT_DELAY, OwnedPods
from stromboli.local.fakes.workloads.pod_states import is_active
from stromboli.local.fakes.workloads.pod_templates import controller_reference, free_names, pod_document
from stromboli.local.fakes.workloads.writes import PodWrites, write_status

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client


MIN_RETRY_SECONDS, MAX_RETRY_SECONDS = 1.0, 600.0
"""Backoff in seconds before a failed pod is replaced, doubled with every further failure."""

_OURS = (None, "", "kubernetes.io/job-controller")


class JobController:
    def __init__(
        self,
        client: Client,
        pods: OwnedPods,
        *,
        first_retry: float = MIN_RETRY_SECONDS,
    ) -> None:
        self._client = client
        self._pods = pods
        self._writes = PodWrites(client)
        self._first_retry = first_retry
        self._jobs: Informer[BatchJob] = Informer(client, JOBS)
        self._records: dict[str, JobRecord] = {}
        self.work: WorkQueue[str] = WorkQueue(self._reconcile, name="jobs", workers=4)
        self._jobs.listen(self._job_changed)
        pods.listen(JOBS, self._pod_changed)

    async def run(self) -> None:
        """Run until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._jobs.run())
            await self._pods.informer.synced.wait()
            await self._jobs.synced.wait()
            tasks.create_task(self.work.run())

    def _job_changed(self, old: BatchJob | None, new: BatchJob | None) -> None:
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._records.pop(old.metadata.uid, None)
            self.work.forget(old.key)
        if new is not None:
            self.work.add(new.key)

    def _pod_changed(self, owner: str, uid: str, pod: Pod, is_gone: bool) -> None:
        job = self._jobs.objects.get(owner)
        if job is not None and ignores_failure(job, pod):
            self._record(uid).dismiss(pod.metadata.uid)
        self._record(uid).note(pod, is_gone, time.time())
        self.work.add_after(owner, COUNT_DELAY)

    def _record(self, uid: str) -> JobRecord:
        return self._records.setdefault(uid, JobRecord())

    async def _reconcile(self, key: str) -> float | None:
        job = self._jobs.objects.get(key)
        if job is None or job.metadata.deletion_timestamp is not None or job.spec.managed_by not in _OURS:
            return None
        if finished(job) is not None:
            return await self._expire(job)
        pods = list(self._pods.of(job.metadata.uid))
        counts = self._record(job.metadata.uid).counts(job, pods)
        end = ending(job, counts, time.time())
        if changes := status_changes(job, counts, end, time.time()):
            await write_status(self._client, JOBS, job, changes)
        return await self._proceed(job, list(filter(is_active, pods)), counts, end)

    async def _proceed(self, job: BatchJob, active: list[Pod], counts: Counts, end: JobEnding | None) -> float | None:
        """Delete and create pods; return when to check again. Active pods and counts are of the same moment: a pod that
        finished in between would be missing from both and be created again.
        """
        record, now = self._record(job.metadata.uid), time.time()
        step = plan(job, active, counts, is_ending=end is not None)
        for pod in step.delete:
            record.dismiss(pod.metadata.uid)
        await self._writes.delete(step.delete)
        waits = [at - now for at in (deadline(job),) if at is not None and end is None]
        if step.create and (pause := record.retry_at(self._first_retry, MAX_RETRY_SECONDS) - now) > 0:
            waits.append(pause)
        elif step.create and not await self._writes.create(job.metadata.namespace, self._documents(job, step.create)):
            waits.append(1.0)
        return max(0.0, min(waits)) if waits else None

    def _documents(self, job: BatchJob, indexes: tuple[int | None, ...]) -> Iterator[dict[str, Any]]:
        """Pods without index share a sequence of names; each index has its own."""
        name, uid = job.metadata.name, job.metadata.uid
        is_taken = self._pods.is_taken(job.metadata.namespace)
        names = free_names(name, uid, is_taken)
        owner, template = controller_reference(JOBS, job), job.spec.template or {}
        for index in indexes:
            if index is None:
                yield pod_document(template, next(names), name, owner)
            else:
                prefix = f"{name}-{index}"
                own_name = next(free_names(prefix, uid, is_taken))
                yield indexed(pod_document(template, own_name, prefix, owner), name, index)

    async def _expire(self, job: BatchJob) -> float | None:
        at = expires_at(job)
        if at is None or at > (now := time.time()):
            return None if at is None else at - now
        metadata = job.metadata
        try:
            await self._client.delete(
                JOBS, metadata.name, namespace=metadata.namespace, uid=metadata.uid, propagation="Background"
            )
        except ApiError as error:
            if not (error.is_missing or error.is_conflict):
                raise
        return None


def indexed(document: dict[str, Any], job: str, index: int) -> dict[str, Any]:
    """Set the index of a pod: annotation, label, host name and environment."""
    metadata, spec, text = document["metadata"], document["spec"], str(index)
    own = {COMPLETION_INDEX: text}
    metadata |= {part: {**metadata.get(part, {}), **own} for part in ("annotations", "labels")}
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{COMPLETION_INDEX}']"}}
    variable = {"name": "JOB_COMPLETION_INDEX", "valueFrom": source}
    for part in ("containers", "initContainers"):
        if spec.get(part):
            spec[part] = [{**each, "env": [*(each.get("env") or ()), variable]} for each in spec[part]]
    return {"metadata": metadata, "spec": {**spec, "hostname": f"{job}-{index}"[:63].rstrip("-.")}}
