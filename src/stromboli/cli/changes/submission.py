"""Submission of a job to a cluster, and waiting for its start."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from stromboli.cli.changes.new_job import NewJob
from stromboli.cli.output import Failure
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import POD_GROUPS, PODS, QUEUES
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.volcano import PodGroup
from stromboli.kube.objects.volcano_jobs import VolcanoJob
from stromboli.kube.objects.workloads import BatchJob
from stromboli.planner.overview.job_list import UNREPORTED, reported_reason

_POLL_SECONDS = 1.0
_STARTED = ("Running", "Completed")
#: A log without a new line for this long is asked for again.
_SILENT_LOG_SECONDS = 3600.0
#: Phases of a Volcano Job that did not succeed.
_FAILED_PHASES = ("Failed", "Aborted", "Terminated")


async def submit(client: Client, job: NewJob) -> None:
    """Create the workload and, owned by it, its PodGroup, if no controller makes that; both or none. Raises
    RequestFailed.
    """
    await _check_queue(client, job.queue)
    created = await client.create(job.resource, job.workload(), namespace=job.namespace)
    uid = created.metadata.uid
    group = job.pod_group(uid)
    if group is None:
        return
    try:
        await client.create(POD_GROUPS, group, namespace=job.namespace)
    except BaseException:
        await client.delete(job.resource, job.name, namespace=job.namespace, uid=uid, propagation="Background")
        raise


async def _check_queue(client: Client, name: str) -> None:
    """Reject a queue that does not exist. A user who may not read queues submits without this check."""
    if not name:
        return
    try:
        await client.get(QUEUES, name)
    except ApiError as error:
        if error.is_missing and error.reason == "NotFound" and (known := await _queues(client)):
            raise Failure(f"queue {name} does not exist; there are {', '.join(known)}") from error
        if not (error.is_denied or error.is_missing):
            raise


async def _queues(client: Client) -> list[str]:
    return sorted(queue.metadata.name for queue in (await client.list(QUEUES)).items)


async def wait_for_start(client: Client, job: NewJob, report: Callable[[str], None]) -> None:
    """Wait until the job has started, and report every new reason why it waits. One that fails ends the command."""
    last = ""
    while True:
        group = await _group(client, job)
        if group is not None and group.status.phase in _STARTED:
            return
        reason = reported_reason(group) if group is not None else ""
        if reason not in ("", UNREPORTED, last):
            report(reason)
            last = reason
        failure = failure_of(await client.get(job.resource, job.name, namespace=job.namespace))
        if failure:
            raise Failure(f"job {job.name} failed: {failure}")
        await asyncio.sleep(_POLL_SECONDS)


async def _group(client: Client, job: NewJob) -> PodGroup | None:
    """Return the PodGroup of the job; None until a controller has made it."""
    if job.pod_group() is not None:
        return await client.get(POD_GROUPS, job.name, namespace=job.namespace)
    groups = (await client.list(POD_GROUPS, namespace=job.namespace)).items
    return next((group for group in groups if _is_owned(group, job)), None)


def _is_owned(group: PodGroup, job: NewJob) -> bool:
    owners = group.metadata.owner_references or ()
    return any((each.api_version, each.name) == (job.resource.api_version, job.name) for each in owners)


def failure_of(job: BatchJob | VolcanoJob) -> str:
    """Return why a job failed; empty if it has not."""
    if isinstance(job, VolcanoJob):
        state = job.status.state
        reason = state.message or state.reason or state.phase or ""
        return reason if state.phase in _FAILED_PHASES else ""
    conditions = job.status.conditions or ()
    found = next((each for each in conditions if each.type == "Failed" and each.status == "True"), None)
    return "" if found is None else found.message or found.reason or "unknown reason"


async def first_log(client: Client, job: NewJob) -> AsyncIterator[bytes]:
    """Yield the lines of the log of the first pod, until it ends."""
    pod = await _first_pod(client, job)
    path = PODS.path(namespace=job.namespace, name=pod, subresource="log")
    async with client.stream(path, {"follow": "true"}, idle_seconds=_SILENT_LOG_SECONDS) as lines:
        async for line in lines:
            yield line


async def _first_pod(client: Client, job: NewJob) -> str:
    """Return the pod with the lowest number, once it has a container."""
    selector = f"{job.name_label}={job.name}"
    while True:
        listing = await client.list(PODS, namespace=job.namespace, label_selector=selector)
        running = [pod for pod in listing.items if pod.status.phase not in (None, "Pending")]
        if running:
            return min(running, key=lambda pod: _number(pod, job.number_label)).metadata.name
        await asyncio.sleep(_POLL_SECONDS)


def _number(pod: Pod, key: str) -> int:
    """Return the number of a pod, which is a label or, of older controllers, an annotation only."""
    return int((pod.metadata.labels or {}).get(key) or (pod.metadata.annotations or {}).get(key) or 0)
