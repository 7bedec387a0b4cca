"""Probes of a JobFlow: conditions on the running pods of the Jobs that another one depends on.

A condition holds when it does for the minimum of pods of each task that it applies to. A Job that has completed passes
requests and connections, since nothing listens any more, and its pods count as having been Running.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING, NamedTuple

import aiohttp
from yarl import URL

from stromboli.controllers.jobs.phases import COMPLETED
from stromboli.controllers.jobs.specification import document_of
from stromboli.kube.objects.catalogue import PODS
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.volcano_jobs import VolcanoJob
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.tasks import JOB_NAME, VolcanoTask, tasks_of
from stromboli.workloads.pod_documents import TASK_SPEC

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

PROBE_TIMEOUT_SECONDS = 1.0
"""The longest time of a request or connection."""
MAX_SECONDS = 10.0
"""The longest time of all conditions of a probe."""
MAX_CONCURRENT = 8
"""The largest number of pods of one probe that are asked at a time."""
MAX_BUFFERED_BYTES = 4096
"""How much of a body is received, unread, before the connection is closed."""
METADATA = frozenset({ip_address("fd00:ec2::254"), ip_address("100.100.100.200"), ip_address("168.63.129.16")})
"""Metadata services of clouds that are not on the local link."""
_RUNNING, _SUCCEEDED = "Running", "Succeeded"
_MAX_PORT = 65535


class HttpProbe(NamedTuple):
    """A request that pods must answer with a status from 200 to 399."""

    task: str
    port: int
    path: str
    header: tuple[str, str] | None = None


class TcpProbe(NamedTuple):
    """A port that pods must listen on."""

    task: str
    port: int


class TaskStatusProbe(NamedTuple):
    """A phase that pods must be in."""

    task: str
    phase: str


class FlowProbe(NamedTuple):
    """All conditions must hold. A condition without a task applies to all tasks."""

    http: Sequence[HttpProbe]
    tcp: Sequence[TcpProbe]
    statuses: Sequence[TaskStatusProbe]

    @property
    def uses_network(self) -> bool:
        """Report whether it must be repeated: no event reports that a pod answers."""
        return bool(self.http or self.tcp)


def probe_at(flow: WorkloadDocument, path: str) -> FlowProbe | None:
    """Return the probe at a field; None if it has no condition. Raises ObjectError."""
    probe = FlowProbe(
        [_http(flow, f"{path}.httpGetList[{each}]") for each in range(flow.length(f"{path}.httpGetList"))],
        [
            TcpProbe(flow.text(f"{at}.taskName"), _port(flow, at))
            for each in range(flow.length(f"{path}.tcpSocketList"))
            for at in (f"{path}.tcpSocketList[{each}]",)
        ],
        [
            TaskStatusProbe(flow.text(f"{at}.taskName"), flow.text(f"{at}.phase"))
            for each in range(flow.length(f"{path}.taskStatusList"))
            for at in (f"{path}.taskStatusList[{each}]",)
        ],
    )
    return probe if any(probe) else None


def _http(flow: WorkloadDocument, at: str) -> HttpProbe:
    name = flow.text(f"{at}.httpHeader.name")
    header = (name, flow.text(f"{at}.httpHeader.value")) if name else None
    return HttpProbe(flow.text(f"{at}.taskName"), _port(flow, at), flow.text(f"{at}.path") or "/", header)


def _port(flow: WorkloadDocument, at: str) -> int:
    port = flow.count(f"{at}.port", 0)
    if not 1 <= port <= _MAX_PORT:
        raise flow.error(f"{at}.port", f"must be from 1 to {_MAX_PORT}, got {port}", "write the port of the pods")
    return port


class ProbeRunner:
    """Checks the conditions of probes over the network.

    Requests go to the addresses of pods that the Jobs control, and to no others: no redirection is followed, no
    environment names a proxy, and no more of an answer is read than its status.
    """

    def __init__(
        self,
        client: Client,
        timeout: float = PROBE_TIMEOUT_SECONDS,
        max_seconds: float = MAX_SECONDS,
        allows: Callable[[str], bool] | None = None,
    ) -> None:
        self._client, self._timeout, self._max_seconds = client, timeout, max_seconds
        self._allows = allows or may_be_probed

    async def passes(self, probe: FlowProbe, targets: Sequence[VolcanoJob]) -> bool:
        """Report whether all conditions over the network hold for these Jobs."""
        try:
            async with asyncio.timeout(self._max_seconds):
                return await self._all_hold(probe, targets)
        except TimeoutError:
            return False

    async def _all_hold(self, probe: FlowProbe, targets: Sequence[VolcanoJob]) -> bool:
        for tcp in probe.tcp:
            if not await self._answer(tcp.task, targets, partial(self._connects, tcp)):
                return False
        for http in probe.http:
            if not await self._answer(http.task, targets, partial(self._responds, http)):
                return False
        return True

    async def _answer(self, task: str, targets: Sequence[VolcanoJob], check: Callable[[str], Awaitable[bool]]) -> bool:
        """Report whether enough pods of each task with this name pass a check."""
        affected = list(_affected(task, targets))
        for job, each in affected:
            if job.status.state.phase == COMPLETED:
                continue
            addresses = await self._addresses(job, each)
            if len(addresses) < each.minimum or await self._passing(addresses, check) < each.minimum:
                return False
        return bool(affected)

    async def _addresses(self, job: VolcanoJob, task: VolcanoTask) -> list[str]:
        selector = f"{JOB_NAME}={job.metadata.name},{TASK_SPEC}={task.name}"
        pods = await self._client.list(PODS, namespace=job.metadata.namespace, label_selector=selector)
        return [
            address
            for pod in pods.items
            if pod.status.phase == _RUNNING and _is_controlled(pod, job)
            for address in (pod.status.pod_ip,)
            if address and self._allows(address)
        ]

    async def _passing(self, addresses: Iterable[str], check: Callable[[str], Awaitable[bool]]) -> int:
        limit = asyncio.Semaphore(MAX_CONCURRENT)

        async def limited(address: str) -> bool:
            async with limit:
                return await check(address)

        return sum(await asyncio.gather(*(limited(address) for address in addresses)))

    async def _connects(self, probe: TcpProbe, address: str) -> bool:
        try:
            async with asyncio.timeout(self._timeout):
                _, writer = await asyncio.open_connection(address, probe.port)
        except (OSError, TimeoutError):
            return False
        writer.close()
        return True

    async def _responds(self, probe: HttpProbe, address: str) -> bool:
        path, _, query = probe.path.partition("?")
        try:
            url = URL.build(
                scheme="http", host=address, port=probe.port, path=f"/{path.lstrip('/')}", query_string=query
            )
            headers = dict([probe.header]) if probe.header else {}
            timeout = aiohttp.ClientTimeout(total=self._timeout)
            async with (
                aiohttp.ClientSession(timeout=timeout, read_bufsize=MAX_BUFFERED_BYTES) as session,
                session.get(url, headers=headers, allow_redirects=False) as response,
            ):
                return 200 <= response.status < 400
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError):
            return False


def statuses_hold(probe: FlowProbe, targets: Sequence[VolcanoJob]) -> bool:
    """Report whether the conditions on phases of pods hold for these Jobs."""
    return all(_has_phase(each, targets) for each in probe.statuses)


def may_be_probed(address: str) -> bool:
    """Report whether pods can have an address: no name, and none of the machine, the link or metadata."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    found = getattr(parsed, "ipv4_mapped", None) or parsed
    is_local = found.is_loopback or found.is_link_local or found.is_unspecified
    return not (is_local or found.is_multicast or found in METADATA)


def _has_phase(probe: TaskStatusProbe, targets: Sequence[VolcanoJob]) -> bool:
    affected = list(_affected(probe.task, targets))
    return bool(affected) and all(_count(job, task, probe.phase) >= task.minimum for job, task in affected)


def _is_controlled(pod: Pod, job: VolcanoJob) -> bool:
    """Labels alone do not make a pod one of a Job: their authors choose them."""
    return any(owner.controller and owner.uid == job.metadata.uid for owner in pod.metadata.owner_references or ())


def _count(job: VolcanoJob, task: VolcanoTask, phase: str) -> int:
    state = (job.status.task_status_count or {}).get(task.name)
    counts = (state.phase if state else None) or {}
    return counts.get(phase, 0) + (counts.get(_SUCCEEDED, 0) if phase == _RUNNING else 0)


def _affected(task: str, targets: Sequence[VolcanoJob]) -> Iterable[tuple[VolcanoJob, VolcanoTask]]:
    """Yield the tasks of this name, or all of them, with their Jobs."""
    for job in targets:
        for each in tasks_of(document_of(job)):
            if task in ("", each.name):
                yield job, each
