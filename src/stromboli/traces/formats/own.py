"""Stromboli's own records: the history of a cluster, and the dump of a scheduler.

A job of a history has the sum of the requests of its pods, which is divided equally. A job of a dump has the requests
of its first pod, and its declared run time as the actual one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from stromboli import kube
from stromboli.cluster.dump.dump import DumpError, read_dump
from stromboli.cluster.objects.pods.run_times import limit_of, run_time_of
from stromboli.cluster.objects.timestamps import seconds_of
from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.history.databases.database import HistoryError
from stromboli.history.databases.opening import open_for_reading
from stromboli.history.query import HistoryFilter, JobHistory, query
from stromboli.traces.rejects import RejectedRows, RowProblem
from stromboli.traces.trace import (
    COMPLETED,
    FAILED,
    PENDING,
    RUNNING,
    UNKNOWN,
    Trace,
    TraceError,
    TraceHeader,
    TraceJob,
    TraceNode,
    sorted_jobs,
)
from stromboli.workloads.groups import job_key_of
from stromboli.workloads.queues import DEFAULT_QUEUE

HISTORY = "history"
DUMP = "dump"
_GPU = "nvidia.com/gpu"
_STATUSES = {
    "Succeeded": COMPLETED, "Failed": FAILED, "Pending": PENDING, "Running": RUNNING, "Evicted": FAILED,
    "Cancelled": "cancelled",
}  # fmt: skip


def read_history(address: str) -> Trace:
    try:
        database = open_for_reading(address)
        try:
            page = query(database, HistoryFilter())
        finally:
            database.close()
    except HistoryError as error:
        raise TraceError(str(error)) from error
    rejected = RejectedRows()
    jobs = sorted_jobs(_recorded(page.jobs, rejected))
    return _trace(address, HISTORY, jobs, rejected)


def _recorded(jobs: Iterable[JobHistory], rejected: RejectedRows) -> Iterator[TraceJob]:
    for job in jobs:
        try:
            yield _of_history(job)
        except RowProblem as problem:
            rejected.add(problem.rule, job.key, problem.detail)


def _of_history(job: JobHistory) -> TraceJob:
    if job.started is None:
        raise RowProblem("did not run", f"state {job.state}")
    if job.ended is None:
        raise RowProblem("has not ended", f"state {job.state}")
    useful = job.pods - job.evictions - job.failures
    pods = max(useful if useful > 0 else min(job.pods, job.min_member), 1)
    gpu = round(job.requests.get(_GPU, 0.0) * 1000 / pods)
    return TraceJob(
        name=job.key, submitted=job.submitted, run_time=job.ended - job.started, pods=pods,
        cpu=round(job.requests.get("cpu", 0.0) * 1000 / pods), memory=round(job.requests.get("memory", 0.0) / pods),
        gpu=gpu, waited=job.started - job.submitted, user=job.user, group=job.namespace, queue=job.queue,
        status=_STATUSES.get(job.state, UNKNOWN),
    )  # fmt: skip


def read_dumped(path: str) -> Trace:
    try:
        dump = read_dump(path)
    except DumpError as error:
        raise TraceError(str(error)) from error
    groups: dict[str, list[kube.Pod]] = {}
    nodes, queues = [], {}
    for entry in dump.contents.objects:
        if isinstance(entry, kube.Pod):
            groups.setdefault(job_key_of(entry) or entry.key, []).append(entry)
        elif isinstance(entry, kube.PodGroup):
            queues[entry.key] = entry.spec.queue or DEFAULT_QUEUE
        elif isinstance(entry, kube.KubeNode):
            nodes.append(_node(entry))
    jobs = [_of_pods(key, pods, queues.get(key, DEFAULT_QUEUE)) for key, pods in groups.items()]
    trace = _trace(path, DUMP, sorted_jobs(iter(jobs)), RejectedRows())
    trace.nodes = nodes
    return trace


def _of_pods(key: str, pods: list[kube.Pod], queue: str) -> TraceJob:
    amounts = _requests(pods[0])
    run_time, limit = run_time_of(pods[0]), limit_of(pods[0])
    created = min(seconds_of(pod.metadata.creation_timestamp) for pod in pods)
    is_running = any(pod.spec.node_name for pod in pods)
    return TraceJob(
        name=key, submitted=created, run_time=None if run_time == float("inf") else run_time, pods=len(pods),
        cpu=amounts["cpu"], memory=amounts["memory"] // 1000, gpu=amounts[_GPU],
        requested=None if limit == float("inf") else limit, group=pods[0].metadata.namespace, queue=queue,
        status=RUNNING if is_running else PENDING,
    )  # fmt: skip


def _requests(pod: kube.Pod) -> dict[str, int]:
    """Return what the containers request, in thousandths."""
    sums = {"cpu": 0, "memory": 0, _GPU: 0}
    for container in pod.spec.containers or ():
        sums = {name: amount + _milli(_requested(container), name) for name, amount in sums.items()}
    return sums


def _requested(container: kube.Container) -> Mapping[str, str | int | float]:
    resources = container.resources
    return {} if resources is None else {**(resources.limits or {}), **(resources.requests or {})}


def _milli(amounts: Mapping[str, str | int | float], name: str) -> int:
    try:
        return parse_quantity(amounts.get(name, 0), milli=True)
    except ValueError:
        return 0


def _node(entry: kube.KubeNode) -> TraceNode:
    offered = entry.status.allocatable or {}
    return TraceNode(
        entry.metadata.name, _milli(offered, "cpu"), _milli(offered, "memory") // 1000, _milli(offered, _GPU)
    )


def _trace(source: str, form: str, jobs: list[TraceJob], rejected: RejectedRows) -> Trace:
    start = jobs[0].submitted if jobs else None
    shifted = [msgspec.structs.replace(job, submitted=job.submitted - (start or 0.0)) for job in jobs]
    return Trace(source, form, lambda: iter(shifted), TraceHeader(start=start), rejected=rejected)
