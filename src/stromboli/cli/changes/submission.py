"""Submission of a job to a cluster, and waiting for its start."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from stromboli.cli.changes.new_job import NewJob
from stromboli.cli.output import Failure
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import JOBS, POD_GROUPS, PODS, QUEUES
from stromboli.kube.objects.workloads import BatchJob
from stromboli.planner.overview.job_list import UNREPORTED, reported_reason

_POLL_SECONDS = 1.0
_STARTED = ("Running", "Completed")
#: A log without a new line for this long is asked for again.
_SILENT_LOG_SECONDS = 3600.0
_INDEX = "batch.kubernetes.io/job-completion-index"


async def submit(client: Client, job: NewJob) -> None:
    """Create the Job and, owned by it, its PodGroup; both or none. Raises RequestFailed."""
    await _check_queue(client, job.queue)
    created = await client.create(JOBS, job.job(), namespace=job.namespace)
    try:
        await client.create(POD_GROUPS, job.pod_group(created.metadata.uid), namespace=job.namespace)
    except BaseException:
        uid = created.metadata.uid
        await client.delete(JOBS, job.name, namespace=job.namespace, uid=uid, propagation="Background")
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
        group = await client.get(POD_GROUPS, job.name, namespace=job.namespace)
        if group.status.phase in _STARTED:
            return
        reason = reported_reason(group)
        if reason not in ("", UNREPORTED, last):
            report(reason)
            last = reason
        failure = _failure(await client.get(JOBS, job.name, namespace=job.namespace))
        if failure:
            raise Failure(f"job {job.name} failed: {failure}")
        await asyncio.sleep(_POLL_SECONDS)


def _failure(job: BatchJob) -> str:
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
    """Return the pod with the lowest index, once it has a container."""
    while True:
        listing = await client.list(PODS, namespace=job.namespace, label_selector=f"job-name={job.name}")
        running = [pod for pod in listing.items if pod.status.phase not in (None, "Pending")]
        if running:
            return min(running, key=lambda pod: int((pod.metadata.annotations or {}).get(_INDEX, 0))).metadata.name
        await asyncio.sleep(_POLL_SECONDS)
